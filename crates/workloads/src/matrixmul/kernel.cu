// C = A * B, row major. A block computes one square tile of C, a thread one element; the tiles of
// A and B that it needs pass through shared memory. The tile's side is the block's.

template <int TILE>
__device__ __forceinline__ void multiply(float *c, const float *a, const float *b, int a_width,
                                         int b_width)
{
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    for (int base = 0; base < a_width; base += TILE) {
        a_tile[ty][tx] = a[row * a_width + base + tx];
        b_tile[ty][tx] = b[(base + ty) * b_width + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k) {
            sum += a_tile[ty][k] * b_tile[k][tx];
        }
        __syncthreads();
    }
    c[row * b_width + column] = sum;
}

extern "C" __global__ void matrixmul_16(float *c, const float *a, const float *b, int a_width,
                                        int b_width)
{
    multiply<16>(c, a, b, a_width, b_width);
}

extern "C" __global__ void matrixmul_32(float *c, const float *a, const float *b, int a_width,
                                        int b_width)
{
    multiply<32>(c, a, b, a_width, b_width);
}
