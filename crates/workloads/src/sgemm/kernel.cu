// c = alpha a b^T + beta c, column major. A block of 16 x 8 threads computes a tile of 128 x 16: a
// thread holds 16 sums of one row of c in registers; a tile of b lies in shared memory, a is read
// straight from global memory.

#define TILE_N 16
#define TILE_K 8
#define TILE_M (TILE_N * TILE_K)

extern "C" __global__ void sgemm_nt(const float *a, int lda, const float *b, int ldb, float *c,
                                    int ldc, int k, float alpha, float beta)
{
    __shared__ float tile[TILE_K][TILE_N];
    float sums[TILE_N];
#pragma unroll
    for (int i = 0; i < TILE_N; ++i) {
        sums[i] = 0.0f;
    }
    const int row = blockIdx.x * TILE_M + threadIdx.y * TILE_N + threadIdx.x;
    const int column = blockIdx.y * TILE_N + threadIdx.x;
    for (int first = 0; first < k; first += TILE_K) {
        tile[threadIdx.y][threadIdx.x] = b[column + (first + threadIdx.y) * ldb];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < TILE_K; ++j) {
            const float value = a[row + (first + j) * lda];
#pragma unroll
            for (int i = 0; i < TILE_N; ++i) {
                sums[i] += value * tile[j][i];
            }
        }
        __syncthreads();
    }
    const int at = ldc * blockIdx.y * TILE_N + row;
#pragma unroll
    for (int i = 0; i < TILE_N; ++i) {
        c[at + i * ldc] = c[at + i * ldc] * beta + alpha * sums[i];
    }
}
