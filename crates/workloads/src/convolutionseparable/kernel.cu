// A separable convolution of radius 8: rows, then columns. Tiles with their halos lie in shared
// memory; a thread loads ten values and computes eight.

#define RADIUS 8
#define TAPS (2 * RADIUS + 1)
#define STEPS 8
#define ROWS_X 16
#define ROWS_Y 4
#define COLUMNS_X 16
#define COLUMNS_Y 8

__constant__ float weights[TAPS];

extern "C" __global__ void convolution_rows(float *to, const float *from, int width, int height,
                                            int pitch)
{
    __shared__ float tile[ROWS_Y][(STEPS + 2) * ROWS_X];
    const int x = (blockIdx.x * STEPS - 1) * ROWS_X + threadIdx.x;
    const int y = blockIdx.y * ROWS_Y + threadIdx.y;
    from += y * pitch + x;
    to += y * pitch + x;
#pragma unroll
    for (int i = 1; i <= STEPS; ++i) {
        tile[threadIdx.y][threadIdx.x + i * ROWS_X] = from[i * ROWS_X];
    }
    tile[threadIdx.y][threadIdx.x] = x >= 0 ? from[0] : 0.0f;
    tile[threadIdx.y][threadIdx.x + (STEPS + 1) * ROWS_X] =
        width - x > (STEPS + 1) * ROWS_X ? from[(STEPS + 1) * ROWS_X] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 1; i <= STEPS; ++i) {
        float sum = 0.0f;
#pragma unroll
        for (int j = -RADIUS; j <= RADIUS; ++j) {
            sum += weights[RADIUS - j] * tile[threadIdx.y][threadIdx.x + i * ROWS_X + j];
        }
        to[i * ROWS_X] = sum;
    }
}

extern "C" __global__ void convolution_columns(float *to, const float *from, int width, int height,
                                               int pitch)
{
    // A column of the tile is a row here, with an element more against bank conflicts.
    __shared__ float tile[COLUMNS_X][(STEPS + 2) * COLUMNS_Y + 1];
    const int x = blockIdx.x * COLUMNS_X + threadIdx.x;
    const int y = (blockIdx.y * STEPS - 1) * COLUMNS_Y + threadIdx.y;
    from += y * pitch + x;
    to += y * pitch + x;
#pragma unroll
    for (int i = 1; i <= STEPS; ++i) {
        tile[threadIdx.x][threadIdx.y + i * COLUMNS_Y] = from[i * COLUMNS_Y * pitch];
    }
    tile[threadIdx.x][threadIdx.y] = y >= 0 ? from[0] : 0.0f;
    tile[threadIdx.x][threadIdx.y + (STEPS + 1) * COLUMNS_Y] =
        height - y > (STEPS + 1) * COLUMNS_Y ? from[(STEPS + 1) * COLUMNS_Y * pitch] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 1; i <= STEPS; ++i) {
        float sum = 0.0f;
#pragma unroll
        for (int j = -RADIUS; j <= RADIUS; ++j) {
            sum += weights[RADIUS - j] * tile[threadIdx.x][threadIdx.y + i * COLUMNS_Y + j];
        }
        to[i * COLUMNS_Y * pitch] = sum;
    }
}
