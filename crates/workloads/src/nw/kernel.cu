// Global alignment of two sequences (Needleman and Wunsch) by dynamic programming over tiles of 16 x 16.
// A launch takes the tiles of one anti-diagonal: the first kernel those up to the longest, the second
// those after it. Inside a tile 16 threads go along its anti-diagonals.

#define TILE 16

__device__ __forceinline__ int best(int a, int b, int c)
{
    const int ab = a <= b ? b : a;
    return ab <= c ? c : ab;
}

__device__ __forceinline__ int cell(const int (*scores)[TILE + 1], const int (*match)[TILE], int y,
                                    int x, int penalty)
{
    return best(scores[y - 1][x - 1] + match[y - 1][x - 1], scores[y][x - 1] - penalty,
                scores[y - 1][x] - penalty);
}

__device__ __forceinline__ void align_tile(const int *reference, int *matrix, int columns,
                                           int penalty, int tile_x, int tile_y)
{
    __shared__ int scores[TILE + 1][TILE + 1];
    __shared__ int match[TILE][TILE];
    const int thread = threadIdx.x;
    const int north_west = columns * TILE * tile_y + TILE * tile_x;
    const int first = north_west + columns + 1 + thread;

    if (thread == 0) {
        scores[0][0] = matrix[north_west];
    }
    for (int y = 0; y < TILE; ++y) {
        match[y][thread] = reference[first + columns * y];
    }
    __syncthreads();
    scores[thread + 1][0] = matrix[north_west + columns + columns * thread];
    __syncthreads();
    scores[0][thread + 1] = matrix[north_west + 1 + thread];
    __syncthreads();

    for (int diagonal = 0; diagonal < TILE; ++diagonal) {
        if (thread <= diagonal) {
            const int x = thread + 1;
            const int y = diagonal - thread + 1;
            scores[y][x] = cell(scores, match, y, x, penalty);
        }
        __syncthreads();
    }
    for (int diagonal = TILE - 2; diagonal >= 0; --diagonal) {
        if (thread <= diagonal) {
            const int x = thread + TILE - diagonal;
            const int y = TILE - thread;
            scores[y][x] = cell(scores, match, y, x, penalty);
        }
        __syncthreads();
    }

    for (int y = 0; y < TILE; ++y) {
        matrix[first + columns * y] = scores[y + 1][thread + 1];
    }
}

// `tiles` tiles lie on the anti-diagonal; it is as far from the matrix's upper left corner.
extern "C" __global__ void needle_1(const int *reference, int *matrix, int columns, int penalty,
                                    int tiles)
{
    align_tile(reference, matrix, columns, penalty, blockIdx.x, tiles - 1 - blockIdx.x);
}

// The same at the lower right corner of a matrix of `side` x `side` tiles.
extern "C" __global__ void needle_2(const int *reference, int *matrix, int columns, int penalty,
                                    int tiles, int side)
{
    align_tile(reference, matrix, columns, penalty, blockIdx.x + side - tiles,
               side - 1 - blockIdx.x);
}
