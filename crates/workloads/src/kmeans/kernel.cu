// Clustering by k-means, the part on the device: points are transposed once from records to columns;
// then, in every iteration, each point finds its nearest centre. Centres lie in constant memory,
// features are read through a texture.

#define MOST_CENTRES 32
#define MOST_FEATURES 34

__constant__ float centres[MOST_CENTRES * MOST_FEATURES];

extern "C" __global__ void invert_mapping(const float *records, float *columns, int points,
                                          int features)
{
    const int point = threadIdx.x + blockDim.x * blockIdx.x;
    if (point < points) {
        for (int feature = 0; feature < features; ++feature) {
            columns[point + points * feature] = records[point * features + feature];
        }
    }
}

extern "C" __global__ void kmeansPoint(cudaTextureObject_t columns, int features, int points,
                                       int clusters, int *membership)
{
    const unsigned int block = gridDim.x * blockIdx.y + blockIdx.x;
    const unsigned int point = block * blockDim.x * blockDim.y + threadIdx.x;
    if (point >= points) {
        return;
    }
    int nearest = -1;
    float least = 3.402823466e+38f;
    for (int cluster = 0; cluster < clusters; ++cluster) {
        const int first = cluster * features;
        float distance = 0.0f;
        for (int feature = 0; feature < features; ++feature) {
            const int at = point + feature * points;
            const float difference = tex1Dfetch<float>(columns, at) - centres[first + feature];
            distance = fmaf(difference, difference, distance);
        }
        if (distance < least) {
            least = distance;
            nearest = cluster;
        }
    }
    membership[point] = nearest;
}
