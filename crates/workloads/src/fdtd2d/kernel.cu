// A time step of the two-dimensional finite-difference time-domain method: the two components of
// the electric field, then the magnetic field, one thread a cell.

extern "C" __global__ void fdtd_step1(int nx, int ny, const float *source, float *ey,
                                      const float *hz, int t)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < nx && j < ny) {
        if (i == 0) {
            ey[i * ny + j] = source[t];
        } else {
            ey[i * ny + j] = ey[i * ny + j] - 0.5f * (hz[i * ny + j] - hz[(i - 1) * ny + j]);
        }
    }
}

extern "C" __global__ void fdtd_step2(int nx, int ny, float *ex, const float *hz)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < nx && j < ny && j > 0) {
        ex[i * ny + j] = ex[i * ny + j] - 0.5f * (hz[i * ny + j] - hz[i * ny + (j - 1)]);
    }
}

extern "C" __global__ void fdtd_step3(int nx, int ny, const float *ex, const float *ey, float *hz)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < nx - 1 && j < ny - 1) {
        hz[i * ny + j] = hz[i * ny + j] - 0.7f * (ex[i * ny + (j + 1)] - ex[i * ny + j] +
                                                  ey[(i + 1) * ny + j] - ey[i * ny + j]);
    }
}
