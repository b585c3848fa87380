// Clusters of several blocks: launches, occupancy, shared memory of other blocks.
#include "check.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Each cluster writes the sum of the ranks of its blocks, weighted by their own values.
__global__ void sum(const int *values, int *out) {
    __shared__ int own;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) own = values[blockIdx.x];
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        int total = 0;
        for (unsigned rank = 0; rank < cluster.num_blocks(); rank++)
            total += (rank + 1) * *cluster.map_shared_rank(&own, rank);
        out[blockIdx.x / cluster.num_blocks()] = total;
    }
    cluster.sync();
}

static cudaLaunchConfig_t config(cudaLaunchAttribute *attribute, unsigned grid, unsigned size) {
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = size;
    attribute->val.clusterDim.y = 1;
    attribute->val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(32);
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

int main() {
    const int blocks = 32;
    int *values, *out, host[blocks], got[blocks];
    OK(cudaMalloc(&values, sizeof host));
    OK(cudaMalloc(&out, sizeof host));
    for (int i = 0; i < blocks; i++) host[i] = 3 * i + 1;
    OK(cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice));
    cudaLaunchAttribute attribute;
    for (unsigned size = 2; size <= 8; size *= 2) {
        cudaLaunchConfig_t launch = config(&attribute, blocks, size);
        int active = 0;
        OK(cudaOccupancyMaxActiveClusters(&active, sum, &launch));
        CHECK(active > 0);
        OK(cudaLaunchKernelEx(&launch, sum, (const int *)values, out));
        OK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
        for (unsigned cluster = 0; cluster < blocks / size; cluster++) {
            int total = 0;
            for (unsigned rank = 0; rank < size; rank++) total += (rank + 1) * host[cluster * size + rank];
            CHECK(got[cluster] == total);
        }
    }

    // Clusters of more than eight blocks need the program's consent.
    cudaLaunchConfig_t large = config(&attribute, blocks, 16);
    int most = 0;
    OK(cudaOccupancyMaxPotentialClusterSize(&most, sum, &large));
    CHECK(most == 8);
    GIVES(cudaErrorInvalidClusterSize, cudaLaunchKernelEx(&large, sum, (const int *)values, out));
    GIVES(cudaErrorInvalidClusterSize, cudaGetLastError());
    OK(cudaFuncSetAttribute((const void *)sum, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    OK(cudaOccupancyMaxPotentialClusterSize(&most, sum, &large));
    CHECK(most == 16);
    OK(cudaLaunchKernelEx(&large, sum, (const int *)values, out));
    OK(cudaDeviceSynchronize());

    // A grid consists of whole clusters.
    cudaLaunchConfig_t odd = config(&attribute, blocks - 1, 2);
    CHECK(cudaLaunchKernelEx(&odd, sum, (const int *)values, out) != cudaSuccess);
    (void)cudaGetLastError();
    return end();
}
