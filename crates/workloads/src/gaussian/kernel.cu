// One step of Gaussian elimination, two launches: `Fan1` divides the pivot's column by the pivot, `Fan2`
// subtracts multiples of the pivot's row from those below it. Threads next to each other take rows, not
// columns, so that they are a whole row of the matrix apart.

extern "C" __global__ void Fan1(float *multipliers, const float *matrix, int size, int step)
{
    const int below = threadIdx.x + blockIdx.x * blockDim.x;
    if (below >= size - 1 - step) {
        return;
    }
    const int row = below + step + 1;
    multipliers[size * row + step] = matrix[size * row + step] / matrix[size * step + step];
}

extern "C" __global__ void Fan2(const float *multipliers, float *matrix, float *right, int size,
                                int step)
{
    const int below = threadIdx.x + blockIdx.x * blockDim.x;
    const int beside = threadIdx.y + blockIdx.y * blockDim.y;
    if (below >= size - 1 - step || beside >= size - step) {
        return;
    }
    const int row = below + 1 + step;
    const int column = beside + step;
    const int cell = size * row + column;
    matrix[cell] = fmaf(-multipliers[size * row + step], matrix[size * step + column], matrix[cell]);
    if (beside == 0) {
        right[row] = fmaf(-multipliers[size * row + column], right[step], right[row]);
    }
}
