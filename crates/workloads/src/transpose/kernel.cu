// Eight ways to copy or transpose a matrix, from a bare copy (the bandwidth to be reached) over the
// naive transposition to tiles in shared memory. TILE is the side of a block's tile, ROWS the rows
// of it that the block's threads handle at a time.

template <int TILE, int ROWS>
__device__ __forceinline__ void copy(float *out, const float *in, int width, int height)
{
    const int x = blockIdx.x * TILE + threadIdx.x;
    const int y = blockIdx.y * TILE + threadIdx.y;
    const int at = x + width * y;
    for (int i = 0; i < TILE; i += ROWS) {
        out[at + i * width] = in[at + i * width];
    }
}

template <int TILE, int ROWS>
__device__ __forceinline__ void copy_shared(float *out, const float *in, int width, int height)
{
    __shared__ float tile[TILE][TILE];
    const int x = blockIdx.x * TILE + threadIdx.x;
    const int y = blockIdx.y * TILE + threadIdx.y;
    const int at = x + width * y;
    for (int i = 0; i < TILE; i += ROWS) {
        tile[threadIdx.y + i][threadIdx.x] = in[at + i * width];
    }
    __syncthreads();
    for (int i = 0; i < TILE; i += ROWS) {
        out[at + i * width] = tile[threadIdx.y + i][threadIdx.x];
    }
}

// Reads rows, writes columns: every store of a warp touches as many lines as it has lanes.
template <int TILE, int ROWS>
__device__ __forceinline__ void naive(float *out, const float *in, int width, int height)
{
    const int x = blockIdx.x * TILE + threadIdx.x;
    const int y = blockIdx.y * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS) {
        out[y + i + height * x] = in[x + width * (y + i)];
    }
}

// Through a shared tile, so that loads and stores both run along rows. PAD = 0 reads the tile's
// columns out of one bank, PAD = 1 spreads them over all.
template <int TILE, int ROWS, int PAD>
__device__ __forceinline__ void tiled(float *out, const float *in, int width, int height,
                                      int block_x, int block_y)
{
    __shared__ float tile[TILE][TILE + PAD];
    const int from = block_x * TILE + threadIdx.x + width * (block_y * TILE + threadIdx.y);
    const int to = block_y * TILE + threadIdx.x + height * (block_x * TILE + threadIdx.y);
    for (int i = 0; i < TILE; i += ROWS) {
        tile[threadIdx.y + i][threadIdx.x] = in[from + i * width];
    }
    __syncthreads();
    for (int i = 0; i < TILE; i += ROWS) {
        out[to + i * height] = tile[threadIdx.x][threadIdx.y + i];
    }
}

template <int TILE, int ROWS>
__device__ __forceinline__ void coalesced(float *out, const float *in, int width, int height)
{
    tiled<TILE, ROWS, 0>(out, in, width, height, blockIdx.x, blockIdx.y);
}

template <int TILE, int ROWS>
__device__ __forceinline__ void padded(float *out, const float *in, int width, int height)
{
    tiled<TILE, ROWS, 1>(out, in, width, height, blockIdx.x, blockIdx.y);
}

// Blocks that run together take tiles of one diagonal, so that they spread over memory channels.
template <int TILE, int ROWS>
__device__ __forceinline__ void diagonal(float *out, const float *in, int width, int height)
{
    int block_x;
    int block_y;
    if (width == height) {
        block_y = blockIdx.x;
        block_x = (blockIdx.x + blockIdx.y) % gridDim.x;
    } else {
        const int rank = blockIdx.x + gridDim.x * blockIdx.y;
        block_y = rank % gridDim.y;
        block_x = (rank / gridDim.y + block_y) % gridDim.x;
    }
    tiled<TILE, ROWS, 1>(out, in, width, height, block_x, block_y);
}

// Transposes within each tile and leaves the tile where it is.
template <int TILE, int ROWS>
__device__ __forceinline__ void fine_grained(float *out, const float *in, int width, int height)
{
    __shared__ float tile[TILE][TILE + 1];
    const int x = blockIdx.x * TILE + threadIdx.x;
    const int y = blockIdx.y * TILE + threadIdx.y;
    const int at = x + width * y;
    for (int i = 0; i < TILE; i += ROWS) {
        tile[threadIdx.y + i][threadIdx.x] = in[at + i * width];
    }
    __syncthreads();
    for (int i = 0; i < TILE; i += ROWS) {
        out[at + i * width] = tile[threadIdx.x][threadIdx.y + i];
    }
}

// Moves each tile to its transposed place and leaves its inside as it is.
template <int TILE, int ROWS>
__device__ __forceinline__ void coarse_grained(float *out, const float *in, int width, int height)
{
    __shared__ float tile[TILE][TILE + 1];
    const int from = blockIdx.x * TILE + threadIdx.x + width * (blockIdx.y * TILE + threadIdx.y);
    const int to = blockIdx.y * TILE + threadIdx.x + height * (blockIdx.x * TILE + threadIdx.y);
    for (int i = 0; i < TILE; i += ROWS) {
        tile[threadIdx.y + i][threadIdx.x] = in[from + i * width];
    }
    __syncthreads();
    for (int i = 0; i < TILE; i += ROWS) {
        out[to + i * height] = tile[threadIdx.y + i][threadIdx.x];
    }
}

#define ENTRY(name, TILE, ROWS)                                                                    \
    extern "C" __global__ void name##_##TILE##x##ROWS(float *out, const float *in, int width,      \
                                                      int height)                                  \
    {                                                                                              \
        name<TILE, ROWS>(out, in, width, height);                                                  \
    }

#define ENTRIES(TILE, ROWS)                                                                        \
    ENTRY(copy, TILE, ROWS)                                                                        \
    ENTRY(copy_shared, TILE, ROWS)                                                                 \
    ENTRY(naive, TILE, ROWS)                                                                       \
    ENTRY(coalesced, TILE, ROWS)                                                                   \
    ENTRY(padded, TILE, ROWS)                                                                      \
    ENTRY(coarse_grained, TILE, ROWS)                                                              \
    ENTRY(fine_grained, TILE, ROWS)                                                                \
    ENTRY(diagonal, TILE, ROWS)

ENTRIES(32, 8)
ENTRIES(16, 16)
