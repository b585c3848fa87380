// A bank of Gabor filters: convolutions of an image with waves under a bell, one filter a launch,
// one thread a pixel, straight from global memory; pixels beyond the border repeat it. Beside it
// the energy of an image, by which responses are normalised: one partial sum a block.

#define RADIUS 3
#define SIDE (2 * RADIUS + 1)
#define FILTERS 16
#define SUM_THREADS 256
#define SUM_EACH 56

__constant__ float filters[FILTERS * SIDE * SIDE];

__device__ __forceinline__ int inside(int i, int extent)
{
    return min(max(i, 0), extent - 1);
}

extern "C" __global__ void gabor(const float *image, float *response, int width, int height,
                                 int filter)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    const float *weights = filters + filter * SIDE * SIDE;
    float sum = 0.0f;
    for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
        const float *row = image + inside(y + dy, height) * width;
#pragma unroll
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
            sum += *weights++ * row[inside(x + dx, width)];
        }
    }
    response[y * width + x] = sum;
}

extern "C" __global__ void energy(const float *image, float *partial, int count)
{
    __shared__ float sums[SUM_THREADS];
    const int first = blockIdx.x * SUM_THREADS * SUM_EACH + threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < SUM_EACH; ++i) {
        const int at = first + i * SUM_THREADS;
        if (at < count) {
            sum += image[at] * image[at];
        }
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = SUM_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sums[0];
    }
}
