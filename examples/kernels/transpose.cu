// Transposition of a matrix of floats, rows x columns, both multiples of 32, by blocks of 32 x 8
// threads. A tile crosses shared memory, whose rows are one word longer than the tile's, so that
// neither its rows nor its columns meet in one bank.

constexpr int TILE = 32;

extern "C" __global__ void __launch_bounds__(256)
    transpose(const float *from, float *to, int rows, int columns) {
    __shared__ float tile[TILE][TILE + 1];
    const int x = blockIdx.x * TILE, y = blockIdx.y * TILE;
#pragma unroll
    for (int row = threadIdx.y; row < TILE; row += 8) {
        tile[row][threadIdx.x] = from[(size_t)(y + row) * columns + x + threadIdx.x];
    }
    __syncthreads();
#pragma unroll
    for (int row = threadIdx.y; row < TILE; row += 8) {
        to[(size_t)(x + row) * rows + y + threadIdx.x] = tile[threadIdx.x][row];
    }
}
