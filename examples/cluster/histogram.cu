// A histogram whose bins are spread over the shared memory of the blocks of a cluster. With more bins
// than one block's shared memory holds, global atomics would be the other way.
//
// Compiled with: nvcc -ptx -arch=sm_90 histogram.cu

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

/// Bins that each block of the cluster holds.
constexpr int BINS = 1024;

/// Counts values modulo all bins of a cluster, BINS for each of its blocks. `counts` begins with
/// zeros.
extern "C" __global__ void histogram(int n, const unsigned *values, unsigned *counts) {
    __shared__ unsigned bins[BINS];
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        bins[i] = 0;
    // No block may count in bins that another one has not cleared.
    cluster.sync();
    int all = BINS * cluster.num_blocks();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int bin = values[i] % all;
        unsigned *owner = cluster.map_shared_rank(bins, bin / BINS);
        atomicAdd(&owner[bin % BINS], 1);
    }
    // No block may read its bins, or end, while others count.
    cluster.sync();
    unsigned *own = counts + BINS * cluster.block_rank();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        atomicAdd(&own[i], bins[i]);
}
