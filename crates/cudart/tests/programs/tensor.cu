// Products of matrices by tensor units, each against sums that the host makes.
#include "check.h"
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

// A warp a tile of 16 x 16, over `turns` tiles of both factors.
__global__ void multiply(const half *a, const half *b, float *c, int turns) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    for (int turn = 0; turn < turns; turn++) {
        wmma::load_matrix_sync(left, a + 16 * turn, 16 * turns);
        wmma::load_matrix_sync(right, b + 16 * turn, 16 * turns);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

__global__ void bytes(const signed char *a, const signed char *b, int *c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
    wmma::fill_fragment(sum, -5);
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

int main(int count, char **arguments) {
    const int turns = 3, depth = 16 * turns;
    static half a[16 * depth], b[16 * depth];
    static float c[256];
    static signed char small[2][256];
    static int sums[256];
    void *device[3];
    for (int i = 0; i < 3; i++) OK(cudaMalloc(&device[i], sizeof a));
    for (int i = 0; i < 16 * depth; i++) {
        a[i] = __float2half((float)(i % 13 - 6));
        b[i] = __float2half((float)(i % 7) / 4);
    }
    OK(cudaMemcpy(device[0], a, sizeof a, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(device[1], b, sizeof b, cudaMemcpyHostToDevice));
    multiply<<<1, 32>>>((half *)device[0], (half *)device[1], (float *)device[2], turns);
    if (count > 1 && !strcmp(arguments[1], "none")) {
        // The machine has no tensor units; nothing else is wrong with it.
        GIVES(cudaErrorNoKernelImageForDevice, cudaGetLastError());
        OK(cudaDeviceSynchronize());
        return end();
    }
    OK(cudaMemcpy(c, device[2], sizeof c, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++) {
        float sum = 1;
        for (int k = 0; k < depth; k++)
            sum += __half2float(a[i / 16 * depth + k]) * __half2float(b[i % 16 * depth + k]);
        CHECK(c[i] == sum);
    }
    for (int i = 0; i < 256; i++) {
        small[0][i] = (signed char)(37 * i);
        small[1][i] = (signed char)(91 * i + 5);
    }
    OK(cudaMemcpy(device[0], small[0], 256, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(device[1], small[1], 256, cudaMemcpyHostToDevice));
    bytes<<<1, 32>>>((signed char *)device[0], (signed char *)device[1], (int *)device[2]);
    OK(cudaMemcpy(sums, device[2], sizeof sums, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++) {
        int sum = -5;
        for (int k = 0; k < 16; k++) sum += small[0][i / 16 * 16 + k] * small[1][i % 16 * 16 + k];
        CHECK(sums[i] == sum);
    }
    return end();
}
