// Two matrix products in a row: c = a b, e = c d. Sums stay in global memory, because nothing says
// that the matrices do not alias.

extern "C" __global__ void mm2_kernel1(int ni, int nj, int nk, float *a, float *b, float *c)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < ni && j < nj) {
        for (int k = 0; k < nk; ++k) {
            c[i * nj + j] += a[i * nk + k] * b[k * nj + j];
        }
    }
}

extern "C" __global__ void mm2_kernel2(int ni, int nj, int nl, float *c, float *d, float *e)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < ni && j < nl) {
        for (int k = 0; k < nj; ++k) {
            e[i * nl + j] += c[i * nj + k] * d[k * nl + j];
        }
    }
}
