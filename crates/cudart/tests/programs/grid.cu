// Cooperative launches: a grid whose blocks wait for each other, twice, and in two streams at once.
#include "check.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void sums(int *words, int *out) {
    cg::grid_group grid = cg::this_grid();
    int rank = grid.thread_rank(), count = grid.num_threads();
    words[rank] = rank;
    grid.sync();
    // What the thread that is farthest away has written.
    int far = words[count - 1 - rank];
    grid.sync();
    words[rank] = far;
    grid.sync();
    if (rank < 64) {
        int all = 0;
        for (int i = rank; i < count; i += 64)
            all += words[i];
        out[rank] = grid.is_valid() ? all : -1;
    }
}

__global__ void alone(int *out) { *out = cg::this_grid().is_valid(); }

int main() {
    const int blocks = 8, threads = 96, n = blocks * threads;
    int *words[2], *out[2], host[64];
    cudaStream_t streams[2];
    for (int s = 0; s < 2; s++) {
        OK(cudaMalloc(&words[s], n * sizeof(int)));
        OK(cudaMalloc(&out[s], sizeof host));
        OK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
    }
    for (int round = 0; round < 2; round++)
        for (int s = 0; s < 2; s++) {
            void *list[] = {&words[s], &out[s]};
            OK(cudaLaunchCooperativeKernel((void *)sums, dim3(blocks), dim3(threads), list, 0,
                                           streams[s]));
        }
    for (int s = 0; s < 2; s++) {
        OK(cudaStreamSynchronize(streams[s]));
        OK(cudaMemcpy(host, out[s], sizeof host, cudaMemcpyDeviceToHost));
        for (int i = 0; i < 64; i++) {
            int wanted = 0;
            for (int k = i; k < n; k += 64)
                wanted += n - 1 - k;
            CHECK(host[i] == wanted);
        }
    }
    alone<<<1, 1>>>(out[0]);
    OK(cudaMemcpy(host, out[0], sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(host[0] == 0);
    return end();
}
