// Products of a matrix and of its transposition with vectors, one thread a row or a column: the
// first kernel's warps read 32 rows at a time, the second's one row. Sums stay in global memory.

extern "C" __global__ void mvt_kernel1(int n, float *a, float *x1, float *y1)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        for (int j = 0; j < n; ++j) {
            x1[i] += a[i * n + j] * y1[j];
        }
    }
}

extern "C" __global__ void mvt_kernel2(int n, float *a, float *x2, float *y2)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        for (int j = 0; j < n; ++j) {
            x2[i] += a[j * n + i] * y2[j];
        }
    }
}
