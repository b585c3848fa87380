// Sorting numbers: a histogram tells the host where to cut them into 1,024 buckets of nearly one size; they
// are counted into buckets and moved there; each bucket is sorted by merging, by vectors of four.

#define BINS 1024
#define WARP 32
#define HISTOGRAM_WARPS 3
#define BUCKETS 1024
#define BUCKETS_LOG 10
// A counter's upper bits hold the lane that wrote it last.
#define TAG_SHIFT 27
#define COUNT_MASK 0x07ffffffu

// First vector of each bucket, first number of each in the result, and numbers that fill its first vectors.
__constant__ int bucket_start[BUCKETS + 1];
__constant__ int result_start[BUCKETS + 1];
__constant__ int fillers[BUCKETS];

// Counts without atomics: every lane writes its tag with the count, and those whose tag was overwritten try
// again. Returns the count before.
__device__ __forceinline__ unsigned int count_in(volatile unsigned int *counters, unsigned int at,
                                                 unsigned int tag)
{
    unsigned int count;
    do {
        count = tag | ((counters[at] & COUNT_MASK) + 1);
        counters[at] = count;
    } while (counters[at] != count);
    return (count & COUNT_MASK) - 1;
}

extern "C" __global__ void histogram1024(unsigned int *histogram, const float *numbers,
                                         float minimum, float maximum, int count)
{
    volatile __shared__ unsigned int bins[HISTOGRAM_WARPS * BINS];
    const unsigned int tag = threadIdx.x << TAG_SHIFT;
    volatile unsigned int *mine = bins + (threadIdx.x / WARP) * BINS;
    const int threads = blockDim.x * gridDim.x;

    for (int at = threadIdx.x; at < HISTOGRAM_WARPS * BINS; at += blockDim.x) {
        bins[at] = 0;
    }
    __syncthreads();
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += threads) {
        const unsigned int bin = (numbers[at] - minimum) / (maximum - minimum) * BINS;
        count_in(mine, bin & (BINS - 1), tag);
    }
    __syncthreads();
    for (int at = threadIdx.x; at < BINS; at += blockDim.x) {
        unsigned int sum = 0;
        for (int warp = 0; warp < HISTOGRAM_WARPS; ++warp) {
            sum += bins[warp * BINS + at] & COUNT_MASK;
        }
        atomicAdd(histogram + at, sum);
    }
}

// Bucket of each number, by binary search among the pivots, and its place among the block's in the bucket.
extern "C" __global__ void bucketcount(cudaTextureObject_t pivots, const float *numbers, int *places,
                                       unsigned int *block_counts, int count)
{
    volatile __shared__ unsigned int counters[BUCKETS];
    const unsigned int tag = threadIdx.x << TAG_SHIFT;
    const int threads = blockDim.x * gridDim.x;

    for (int i = threadIdx.x; i < BUCKETS; i += blockDim.x) {
        counters[i] = 0;
    }
    __syncthreads();
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += threads) {
        const float number = numbers[at];
        int bucket = BUCKETS / 2 - 1;
        float pivot = tex1Dfetch<float>(pivots, bucket);
        for (int jump = BUCKETS / 4; jump >= 1; jump /= 2) {
            bucket = number < pivot ? bucket - jump : bucket + jump;
            pivot = tex1Dfetch<float>(pivots, bucket);
        }
        bucket = number < pivot ? bucket : bucket + 1;
        places[at] = (count_in(counters, bucket, tag) << BUCKETS_LOG) + bucket;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < BUCKETS; i += blockDim.x) {
        block_counts[blockIdx.x * BUCKETS + i] = counters[i] & COUNT_MASK;
    }
}

// Sums of the counts of all blocks before each, in place, and of all blocks.
extern "C" __global__ void bucketprefixoffset(unsigned int *block_counts, unsigned int *totals,
                                              int blocks)
{
    const int bucket = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int i = bucket; i < blocks * BUCKETS; i += BUCKETS) {
        const int count = block_counts[i];
        block_counts[i] = sum;
        sum += count;
    }
    totals[bucket] = sum;
}

extern "C" __global__ void bucketsort(const float *numbers, const int *places, float *output,
                                      int count, const unsigned int *block_counts,
                                      const unsigned int *starts)
{
    volatile __shared__ unsigned int offsets[BUCKETS];
    const int threads = blockDim.x * gridDim.x;

    for (int i = threadIdx.x; i < BUCKETS; i += blockDim.x) {
        offsets[i] = starts[i] + block_counts[blockIdx.x * BUCKETS + i];
    }
    __syncthreads();
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += threads) {
        const float number = numbers[at];
        const int place = places[at];
        output[offsets[place & (BUCKETS - 1)] + (place >> BUCKETS_LOG)] = number;
    }
}

__device__ __forceinline__ void order(float &a, float &b)
{
    const float low = b < a ? b : a;
    const float high = b < a ? a : b;
    a = low;
    b = high;
}

__device__ __forceinline__ float4 sorted(float4 v)
{
    order(v.x, v.y);
    order(v.z, v.w);
    order(v.x, v.z);
    order(v.y, v.w);
    order(v.y, v.z);
    return v;
}

extern "C" __global__ void mergeSortFirst(cudaTextureObject_t source, float4 *result, int vectors)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < vectors) {
        result[at] = sorted(tex1Dfetch<float4>(source, at));
    }
}

// Merges two runs of half `run` vectors each.
extern "C" __global__ void mergeSortPass(cudaTextureObject_t source, float4 *result, int run,
                                         int threads_per_bucket)
{
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int bucket = thread / threads_per_bucket;
    if (bucket >= BUCKETS) {
        return;
    }
    const int end = bucket_start[bucket + 1];
    const int first = bucket_start[bucket] + (thread - bucket * threads_per_bucket) * run;
    const int second = first + run / 2;
    if (first >= end) {
        return;
    }
    float4 *out = result + first;
    if (second >= end) {
        for (int i = 0; i < end - first; ++i) {
            out[i] = tex1Dfetch<float4>(source, first + i);
        }
        return;
    }

    int a_at = 0;
    int b_at = 0;
    float4 a = tex1Dfetch<float4>(source, first);
    float4 b = tex1Dfetch<float4>(source, second);
    while (true) {
        const float4 next_a = tex1Dfetch<float4>(source, first + a_at + 1);
        const float4 next_b = tex1Dfetch<float4>(source, second + b_at + 1);
        // The four lowest of the eight, in a, are final; the four highest wait in b.
        order(a.x, b.w);
        order(a.y, b.z);
        order(a.z, b.y);
        order(a.w, b.x);
        *out++ = sorted(a);
        b = sorted(b);
        const bool more_a = a_at + 1 < run / 2;
        const bool more_b = b_at + 1 < run / 2 && second + b_at + 1 < end;
        if (!more_a && !more_b) {
            break;
        }
        if (more_a && (!more_b || next_a.x < next_b.x)) {
            ++a_at;
            a = next_a;
        } else {
            ++b_at;
            a = next_b;
        }
    }
    *out = b;
}

// Leaves the fillers out.
extern "C" __global__ void mergepack(const float *source, float *result)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const int bucket = blockIdx.y;
    if (result_start[bucket] + at < result_start[bucket + 1]) {
        result[result_start[bucket] + at] =
            source[bucket_start[bucket] * 4 + fillers[bucket] + at];
    }
}
