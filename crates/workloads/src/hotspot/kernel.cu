// Explicit heat-transfer steps over a chip's grid. A block loads a tile of temperatures and powers
// with a halo as wide as the number of steps, and takes all the steps in shared memory: each step
// makes the valid part one cell narrower on every side (a pyramid).

#define BLOCK 16

__device__ __forceinline__ bool within(int value, int low, int high)
{
    return value >= low && value <= high;
}

extern "C" __global__ void calculate_temp(int steps, const float *power, const float *source,
                                          float *result, int columns, int rows, float capacity,
                                          float rx, float ry, float rz, float step)
{
    __shared__ float temperature[BLOCK][BLOCK];
    __shared__ float power_tile[BLOCK][BLOCK];
    __shared__ float updated[BLOCK][BLOCK];
    const float ambient = 80.0f;
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;

    const float step_by_capacity = step / capacity;
    const float rx_inverse = 1 / rx;
    const float ry_inverse = 1 / ry;
    const float rz_inverse = 1 / rz;

    // The tile's corner lies outside the grid at the grid's edge.
    const int advance = BLOCK - 2 * steps;
    const int left = advance * (int)blockIdx.x - steps;
    const int top = advance * (int)blockIdx.y - steps;
    const int x = left + tx;
    const int y = top + ty;
    const int cell = columns * y + x;
    if (within(y, 0, rows - 1) && within(x, 0, columns - 1)) {
        temperature[ty][tx] = source[cell];
        power_tile[ty][tx] = power[cell];
    }
    __syncthreads();

    // First and last tile row and column inside the grid; a neighbour beyond is the cell itself.
    const int first_row = top < 0 ? -top : 0;
    const int last_row = top + BLOCK > rows ? rows - 1 - top : BLOCK - 1;
    const int first_column = left < 0 ? -left : 0;
    const int last_column = left + BLOCK > columns ? columns - 1 - left : BLOCK - 1;
    const int north = ty - 1 < first_row ? first_row : ty - 1;
    const int south = ty + 1 > last_row ? last_row : ty + 1;
    const int west = tx - 1 < first_column ? first_column : tx - 1;
    const int east = tx + 1 > last_column ? last_column : tx + 1;

    bool computed = false;
    for (int i = 0; i < steps; ++i) {
        computed = false;
        if (within(tx, i + 1, BLOCK - i - 2) && within(ty, i + 1, BLOCK - i - 2) &&
            within(tx, first_column, last_column) && within(ty, first_row, last_row)) {
            computed = true;
            const float here = temperature[ty][tx];
            // The factor 2.0 is a double, and with it most of the expression.
            updated[ty][tx] =
                here + step_by_capacity *
                           (power_tile[ty][tx] +
                            (temperature[south][tx] + temperature[north][tx] - 2.0 * here) *
                                ry_inverse +
                            (temperature[ty][east] + temperature[ty][west] - 2.0 * here) *
                                rx_inverse +
                            (ambient - here) * rz_inverse);
        }
        __syncthreads();
        if (i == steps - 1) {
            break;
        }
        if (computed) {
            temperature[ty][tx] = updated[ty][tx];
        }
        __syncthreads();
    }
    if (computed) {
        result[cell] = updated[ty][tx];
    }
}
