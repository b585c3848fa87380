// y = A * x with A in jagged diagonals: rows sorted by length, element k of all rows side by side,
// so that the threads of a warp, one a row, read values and columns coalesced and gather from x.

#define GROUP 32
#define CAPACITY 5000

__constant__ int diagonal_start[CAPACITY];
__constant__ int group_length[CAPACITY];

extern "C" __global__ void spmv_jds(float *y, const float *values, const int *columns,
                                    const int *permutation, const float *x, int rows)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        const int length = group_length[row / GROUP];
        for (int k = 0; k < length; ++k) {
            const int at = diagonal_start[k] + row;
            sum += values[at] * x[columns[at]];
        }
        y[permutation[row]] = sum;
    }
}

// The same as the benchmark has it: loads run ahead, so that a warp has three of them under way at
// once. While element k - 2 is added, element k - 1 is gathered and the column of element k is read.
extern "C" __global__ void spmv_jds_ahead(float *y, const float *values,
                                          const int *columns, const int *permutation,
                                          const float *x, int rows)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const int length = group_length[row / GROUP];
    int at = diagonal_start[0] + row;
    float value = values[at];
    float gathered = x[columns[at]];
    float sum = 0.0f;
    if (length > 1) {
        at = diagonal_start[1] + row;
        int column = columns[at];
        for (int k = 2; k < length; ++k) {
            const float next_value = values[at];
            at = diagonal_start[k] + row;
            const int next_column = columns[at];
            const float next_gathered = x[column];
            sum += value * gathered;
            value = next_value;
            gathered = next_gathered;
            column = next_column;
        }
        sum += value * gathered;
        value = values[at];
        gathered = x[column];
    }
    sum += value * gathered;
    y[permutation[row]] = sum;
}
