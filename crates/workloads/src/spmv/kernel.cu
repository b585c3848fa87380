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
