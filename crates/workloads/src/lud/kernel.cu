// Decomposition of a matrix into triangular factors, in place and by tiles of 16 x 16. For every tile on
// the diagonal: `lud_diagonal` decomposes it, `lud_perimeter` solves for the tiles to its right and below
// it, `lud_internal` updates the rest.

#define TILE 16

extern "C" __global__ void lud_diagonal(float *matrix, int size, int offset)
{
    __shared__ float tile[TILE][TILE];
    const int thread = threadIdx.x;

    int at = offset * size + offset;
    for (int i = 0; i < TILE; ++i) {
        tile[i][thread] = matrix[at + thread];
        at += size;
    }
    __syncthreads();
    for (int i = 0; i < TILE - 1; ++i) {
        if (thread > i) {
            for (int j = 0; j < i; ++j) {
                tile[thread][i] = fmaf(-tile[thread][j], tile[j][i], tile[thread][i]);
            }
            tile[thread][i] /= tile[i][i];
        }
        __syncthreads();
        if (thread > i) {
            for (int j = 0; j < i + 1; ++j) {
                tile[i + 1][thread] = fmaf(-tile[i + 1][j], tile[j][thread], tile[i + 1][thread]);
            }
        }
        __syncthreads();
    }
    // The first row stays as it was.
    at = (offset + 1) * size + offset;
    for (int i = 1; i < TILE; ++i) {
        matrix[at + thread] = tile[i][thread];
        at += size;
    }
}

// The first half of the block takes a tile to the right, the second one below.
extern "C" __global__ void lud_perimeter(float *matrix, int size, int offset)
{
    __shared__ float diagonal[TILE][TILE];
    __shared__ float right[TILE][TILE];
    __shared__ float below[TILE][TILE];
    const bool first_half = threadIdx.x < TILE;
    const int thread = first_half ? threadIdx.x : threadIdx.x - TILE;
    const int beyond = (blockIdx.x + 1) * TILE;

    if (first_half) {
        int at = offset * size + offset;
        for (int i = 0; i < TILE / 2; ++i) {
            diagonal[i][thread] = matrix[at + thread];
            at += size;
        }
        at = offset * size + offset;
        for (int i = 0; i < TILE; ++i) {
            right[i][thread] = matrix[at + beyond + thread];
            at += size;
        }
    } else {
        int at = (offset + TILE / 2) * size + offset;
        for (int i = TILE / 2; i < TILE; ++i) {
            diagonal[i][thread] = matrix[at + thread];
            at += size;
        }
        at = (offset + beyond) * size + offset;
        for (int i = 0; i < TILE; ++i) {
            below[i][thread] = matrix[at + thread];
            at += size;
        }
    }
    __syncthreads();

    if (first_half) {
        for (int i = 1; i < TILE; ++i) {
            for (int j = 0; j < i; ++j) {
                right[i][thread] = fmaf(-diagonal[i][j], right[j][thread], right[i][thread]);
            }
        }
    } else {
        for (int i = 0; i < TILE; ++i) {
            for (int j = 0; j < i; ++j) {
                below[thread][i] = fmaf(-below[thread][j], diagonal[j][i], below[thread][i]);
            }
            below[thread][i] /= diagonal[i][i];
        }
    }
    __syncthreads();

    if (first_half) {
        int at = (offset + 1) * size + offset;
        for (int i = 1; i < TILE; ++i) {
            matrix[at + beyond + thread] = right[i][thread];
            at += size;
        }
    } else {
        int at = (offset + beyond) * size + offset;
        for (int i = 0; i < TILE; ++i) {
            matrix[at + thread] = below[i][thread];
            at += size;
        }
    }
}

extern "C" __global__ void lud_internal(float *matrix, int size, int offset)
{
    __shared__ float above[TILE][TILE];
    __shared__ float left[TILE][TILE];
    const int row = offset + (blockIdx.y + 1) * TILE + threadIdx.y;
    const int column = offset + (blockIdx.x + 1) * TILE + threadIdx.x;

    above[threadIdx.y][threadIdx.x] = matrix[(offset + threadIdx.y) * size + column];
    left[threadIdx.y][threadIdx.x] = matrix[row * size + offset + threadIdx.x];
    __syncthreads();

    float sum = 0.0f;
    for (int i = 0; i < TILE; ++i) {
        sum = fmaf(left[threadIdx.y][i], above[i][threadIdx.x], sum);
    }
    matrix[row * size + column] -= sum;
}
