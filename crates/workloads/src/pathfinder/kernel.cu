// The cheapest way through a grid, row by row: each cell adds its own cost to the least of the three
// above it. A block takes several rows at once in shared memory; with each row its valid part becomes one
// cell narrower on both sides.

#define BLOCK 256

extern "C" __global__ void dynproc(int rows, const int *wall, const int *source, int *result,
                                   int columns, int first_row, int border)
{
    __shared__ int above[BLOCK];
    __shared__ int costs[BLOCK];
    const int thread = threadIdx.x;

    // The block's first column lies outside the grid at its edge.
    const int advance = BLOCK - rows * 2;
    const int left = advance * (int)blockIdx.x - border;
    const int last = left + BLOCK - 1;
    const int column = left + thread;
    const int first_valid = left < 0 ? -left : 0;
    const int last_valid = last > columns - 1 ? BLOCK - 1 - (last - columns + 1) : BLOCK - 1;
    const int west = thread - 1 < first_valid ? first_valid : thread - 1;
    const int east = thread + 1 > last_valid ? last_valid : thread + 1;
    const bool valid = thread >= first_valid && thread <= last_valid;

    if (column >= 0 && column <= columns - 1) {
        above[thread] = source[column];
    }
    __syncthreads();

    bool computed = false;
    for (int i = 0; i < rows; ++i) {
        computed = false;
        if (thread >= i + 1 && thread <= BLOCK - i - 2 && valid) {
            computed = true;
            int least = above[west] <= above[thread] ? above[west] : above[thread];
            least = least <= above[east] ? least : above[east];
            costs[thread] = least + wall[columns * (first_row + i) + column];
        }
        __syncthreads();
        if (i == rows - 1) {
            break;
        }
        if (computed) {
            above[thread] = costs[thread];
        }
        __syncthreads();
    }
    if (computed) {
        result[column] = costs[thread];
    }
}
