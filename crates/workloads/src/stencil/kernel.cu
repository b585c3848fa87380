// A seven-point stencil over a volume. A block owns a column of the volume, 2 x blockDim.x by
// blockDim.y cells wide, and walks along z: the plane it is in lies in shared memory, the planes
// below and above in registers; every thread computes two cells. Cells beyond the block's tile come
// from global memory.

extern __shared__ float plane[];

extern "C" __global__ void block2d(float c0, float c1, const float *from, float *to, int nx, int ny,
                                   int nz)
{
    const int width = 2 * blockDim.x;
    const int i = blockIdx.x * width + threadIdx.x;
    const int i2 = i + blockDim.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    const int at = threadIdx.x + threadIdx.y * width;
    const int at2 = at + blockDim.x;
    plane[at] = 0.0f;
    plane[at2] = 0.0f;
    __syncthreads();

    const bool reads = i < nx && j < ny;
    const bool reads2 = i2 < nx && j < ny;
    const bool writes = i > 0 && j > 0 && i < nx - 1 && j < ny - 1;
    const bool writes2 = j > 0 && i2 < nx - 1 && j < ny - 1;
    const bool first_x = threadIdx.x == 0;
    const bool last_x = threadIdx.x + blockDim.x == width - 1;
    const bool first_y = threadIdx.y == 0;
    const bool last_y = threadIdx.y == blockDim.y - 1;
    const int layer = nx * ny;
    const int cell = i + nx * j;
    const int cell2 = i2 + nx * j;

    float below = 0.0f, below2 = 0.0f, above = 0.0f, above2 = 0.0f;
    if (reads) {
        below = from[cell];
        plane[at] = from[cell + layer];
    }
    if (reads2) {
        below2 = from[cell2];
        plane[at2] = from[cell2 + layer];
    }
    __syncthreads();

    for (int k = 1; k < nz - 1; ++k) {
        if (reads) {
            above = from[cell + layer * (k + 1)];
        }
        if (writes) {
            const float south = last_y ? from[cell + nx + layer * k] : plane[at + width];
            const float north = first_y ? from[cell - nx + layer * k] : plane[at - width];
            const float west = first_x ? from[cell - 1 + layer * k] : plane[at - 1];
            to[cell + layer * k] =
                (above + below + south + north + plane[at + 1] + west) * c1 - plane[at] * c0;
        }
        if (reads2) {
            above2 = from[cell2 + layer * (k + 1)];
        }
        if (writes2) {
            const float south = last_y ? from[cell2 + nx + layer * k] : plane[at2 + width];
            const float north = first_y ? from[cell2 - nx + layer * k] : plane[at2 - width];
            const float east = last_x ? from[cell2 + 1 + layer * k] : plane[at2 + 1];
            to[cell2 + layer * k] =
                (above2 + below2 + south + north + east + plane[at2 - 1]) * c1 - plane[at2] * c0;
        }
        __syncthreads();
        below = plane[at];
        plane[at] = above;
        below2 = plane[at2];
        plane[at2] = above2;
        __syncthreads();
    }
}
