// Histograms of bytes in two stages: blocks count into shared memory and write partial histograms,
// a second kernel adds these up, one block a bin. 64 bins (a byte's upper six bits) fit a private
// histogram of byte counters for every thread; 256 bins fit one for every warp, counted by atomics.

#define BINS_64 64
#define THREADS_64 64
#define BINS_256 256
#define WARP 32
#define WARPS_256 6
#define THREADS_256 (WARPS_256 * WARP)
#define THREADS_MERGE 256

__device__ __forceinline__ void count_64(unsigned char *mine, unsigned int word)
{
    mine[((word >> 2) & 63) * THREADS_64]++;
    mine[((word >> 10) & 63) * THREADS_64]++;
    mine[((word >> 18) & 63) * THREADS_64]++;
    mine[((word >> 26) & 63) * THREADS_64]++;
}

// A thread may count at most 15 vectors of 16 bytes, or its byte counters overflow: the host sizes
// the grid by that.
extern "C" __global__ void histogram64(unsigned int *partial, const uint4 *data, unsigned int count)
{
    __shared__ unsigned int words[BINS_64 * THREADS_64 / 4];
    unsigned char *counters = (unsigned char *)words;
    const unsigned int thread = threadIdx.x;

    for (int i = 0; i < BINS_64 / 4; ++i) {
        words[thread + i * THREADS_64] = 0;
    }
    __syncthreads();

    // Threads that are 16 apart share a word, so that neighbours fall into different banks.
    unsigned char *mine = counters + ((thread & 15) << 2 | thread >> 4);
    const unsigned int stride = blockDim.x * gridDim.x;
    for (unsigned int at = blockIdx.x * blockDim.x + thread; at < count; at += stride) {
        const uint4 vector = data[at];
        count_64(mine, vector.x);
        count_64(mine, vector.y);
        count_64(mine, vector.z);
        count_64(mine, vector.w);
    }
    __syncthreads();

    // One thread a bin; each starts at another word, again for the banks.
    const unsigned char *bin = counters + thread * THREADS_64;
    unsigned int sum = 0;
    unsigned int at = (thread & 15) * 4;
    for (int i = 0; i < THREADS_64 / 4; ++i) {
        sum += bin[at] + bin[at + 1] + bin[at + 2] + bin[at + 3];
        at = (at + 4) & (THREADS_64 - 1);
    }
    partial[blockIdx.x * BINS_64 + thread] = sum;
}

__device__ __forceinline__ void count_256(unsigned int *mine, unsigned int word)
{
    atomicAdd(mine + (word & 255), 1);
    atomicAdd(mine + (word >> 8 & 255), 1);
    atomicAdd(mine + (word >> 16 & 255), 1);
    atomicAdd(mine + (word >> 24 & 255), 1);
}

extern "C" __global__ void histogram256(unsigned int *partial, const unsigned int *data,
                                        unsigned int count)
{
    __shared__ unsigned int counters[WARPS_256 * BINS_256];
    unsigned int *mine = counters + threadIdx.x / WARP * BINS_256;

    for (int i = 0; i < WARPS_256 * BINS_256 / THREADS_256; ++i) {
        counters[threadIdx.x + i * THREADS_256] = 0;
    }
    __syncthreads();

    const unsigned int stride = blockDim.x * gridDim.x;
    for (unsigned int at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        count_256(mine, data[at]);
    }
    __syncthreads();

    for (unsigned int bin = threadIdx.x; bin < BINS_256; bin += THREADS_256) {
        unsigned int sum = 0;
        for (int warp = 0; warp < WARPS_256; ++warp) {
            sum += counters[bin + warp * BINS_256];
        }
        partial[blockIdx.x * BINS_256 + bin] = sum;
    }
}

template <int BINS>
__device__ __forceinline__ void merge(unsigned int *histogram, const unsigned int *partial,
                                      unsigned int count)
{
    __shared__ unsigned int sums[THREADS_MERGE];
    unsigned int sum = 0;
    for (unsigned int i = threadIdx.x; i < count; i += THREADS_MERGE) {
        sum += partial[blockIdx.x + i * BINS];
    }
    sums[threadIdx.x] = sum;
    for (unsigned int half = THREADS_MERGE / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        histogram[blockIdx.x] = sums[0];
    }
}

extern "C" __global__ void merge_histogram64(unsigned int *histogram, const unsigned int *partial,
                                             unsigned int count)
{
    merge<BINS_64>(histogram, partial, count);
}

extern "C" __global__ void merge_histogram256(unsigned int *histogram, const unsigned int *partial,
                                              unsigned int count)
{
    merge<BINS_256>(histogram, partial, count);
}
