// A step of a three-dimensional finite-difference scheme, radius 4 along each axis. A block owns a
// column of 32 x 16 cells and walks along z: nine planes pass through registers, the current one
// lies in shared memory with its halo.

#define RADIUS 4
#define BLOCK_X 32
#define BLOCK_Y 16

__constant__ float stencil[RADIUS + 1];

extern "C" __global__ void finite_differences(float *output, const float *input, int dimx, int dimy,
                                              int dimz)
{
    __shared__ float tile[BLOCK_Y + 2 * RADIUS][BLOCK_X + 2 * RADIUS];
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int tx = threadIdx.x + RADIUS;
    const int ty = threadIdx.y + RADIUS;
    const int row = dimx + 2 * RADIUS;
    const int plane = row * (dimy + 2 * RADIUS);
    const bool reads = x < dimx + RADIUS && y < dimy + RADIUS;
    const bool writes = x < dimx && y < dimy;

    float front[RADIUS], behind[RADIUS], current = 0.0f;
    int in = (y + RADIUS) * row + x + RADIUS;
#pragma unroll
    for (int i = 0; i < RADIUS; ++i) {
        front[i] = 0.0f;
        behind[i] = 0.0f;
    }
#pragma unroll
    for (int i = RADIUS - 2; i >= 0; --i) {
        if (reads) {
            behind[i] = input[in];
        }
        in += plane;
    }
    if (reads) {
        current = input[in];
    }
    int out = in;
    in += plane;
#pragma unroll
    for (int i = 0; i < RADIUS; ++i) {
        if (reads) {
            front[i] = input[in];
        }
        in += plane;
    }

#pragma unroll 9
    for (int z = 0; z < dimz; ++z) {
#pragma unroll
        for (int i = RADIUS - 1; i > 0; --i) {
            behind[i] = behind[i - 1];
        }
        behind[0] = current;
        current = front[0];
#pragma unroll
        for (int i = 0; i < RADIUS - 1; ++i) {
            front[i] = front[i + 1];
        }
        if (reads) {
            front[RADIUS - 1] = input[in];
        }
        in += plane;
        out += plane;
        __syncthreads();

        // Halos of blocks at the volume's end reach into the next row or plane: there is one.
        if (threadIdx.y < RADIUS) {
            tile[threadIdx.y][tx] = input[out - RADIUS * row];
            tile[threadIdx.y + BLOCK_Y + RADIUS][tx] = input[out + BLOCK_Y * row];
        }
        if (threadIdx.x < RADIUS) {
            tile[ty][threadIdx.x] = input[out - RADIUS];
            tile[ty][threadIdx.x + BLOCK_X + RADIUS] = input[out + BLOCK_X];
        }
        tile[ty][tx] = current;
        __syncthreads();

        float value = stencil[0] * current;
#pragma unroll
        for (int i = 1; i <= RADIUS; ++i) {
            value += stencil[i] * (front[i - 1] + behind[i - 1] + tile[ty - i][tx] +
                                   tile[ty + i][tx] + tile[ty][tx - i] + tile[ty][tx + i]);
        }
        if (writes) {
            output[out] = value;
        }
    }
}
