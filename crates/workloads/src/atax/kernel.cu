// y = A^T (A x), one thread a row, then one thread a column. Sums stay in global memory.

extern "C" __global__ void atax_kernel1(int nx, int ny, float *a, float *x, float *product)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nx) {
        for (int j = 0; j < ny; ++j) {
            product[i] += a[i * ny + j] * x[j];
        }
    }
}

extern "C" __global__ void atax_kernel2(int nx, int ny, float *a, float *y, float *product)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < ny) {
        for (int i = 0; i < nx; ++i) {
            y[j] += a[i * ny + j] * product[i];
        }
    }
}
