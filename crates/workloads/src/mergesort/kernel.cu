// Merge sort of keys with values: tiles in shared memory, then pairs of sorted segments, twice as
// long from stage to stage. Every SAMPLE-th key of a segment is ranked in its partner; the ranks cut
// both segments into intervals of at most SAMPLE keys, and one block merges each pair of them.
// Equal keys keep their order.

typedef unsigned int uint;

#define TILE 1024
#define SAMPLE 128

// How many of `count` sorted keys come before `key`: those below it, or with `OR_EQUAL` up to it.
// `step` is the greatest power of two not above `count`, or 0.
template <bool OR_EQUAL>
__device__ uint rank_in(uint key, const uint *keys, uint count, uint step)
{
    uint rank = 0;
    for (; step > 0; step >>= 1) {
        const uint next = rank + step;
        if (next <= count) {
            const uint other = keys[next - 1];
            if (OR_EQUAL ? other <= key : other < key) {
                rank = next;
            }
        }
    }
    return rank;
}

__device__ uint power_of_two_up_to(uint count)
{
    return count == 0 ? 0 : 0x80000000u >> __clz(count);
}

extern "C" __global__ void sort_tiles(
    uint *dst_keys, uint *dst_values, const uint *src_keys, const uint *src_values)
{
    __shared__ uint s_keys[TILE];
    __shared__ uint s_values[TILE];
    const uint at = blockIdx.x * TILE + threadIdx.x;
    s_keys[threadIdx.x] = src_keys[at];
    s_values[threadIdx.x] = src_values[at];
    s_keys[threadIdx.x + TILE / 2] = src_keys[at + TILE / 2];
    s_values[threadIdx.x + TILE / 2] = src_values[at + TILE / 2];
    for (uint stride = 1; stride < TILE; stride *= 2) {
        const uint place = threadIdx.x & (stride - 1);
        uint *keys = s_keys + 2 * (threadIdx.x - place);
        uint *values = s_values + 2 * (threadIdx.x - place);
        __syncthreads();
        const uint key_a = keys[place], value_a = values[place];
        const uint key_b = keys[place + stride], value_b = values[place + stride];
        const uint to_a = rank_in<false>(key_a, keys + stride, stride, stride) + place;
        const uint to_b = rank_in<true>(key_b, keys, stride, stride) + place;
        __syncthreads();
        keys[to_a] = key_a;
        values[to_a] = value_a;
        keys[to_b] = key_b;
        values[to_b] = value_b;
    }
    __syncthreads();
    dst_keys[at] = s_keys[threadIdx.x];
    dst_values[at] = s_values[threadIdx.x];
    dst_keys[at + TILE / 2] = s_keys[threadIdx.x + TILE / 2];
    dst_values[at + TILE / 2] = s_values[threadIdx.x + TILE / 2];
}

// Where every sample of a pair of segments cuts the first (ranks_a) and the second (ranks_b):
// first the cuts by the samples of the first segment, then those by the second's.
extern "C" __global__ void rank_samples(
    uint *ranks_a, uint *ranks_b, const uint *keys, uint stride, uint threads)
{
    const uint thread = blockDim.x * blockIdx.x + threadIdx.x;
    if (thread >= threads) {
        return;
    }
    const uint samples = stride / SAMPLE;
    const uint i = thread & (samples - 1);
    const uint first = (thread - i) * 2;
    const uint *a = keys + first * SAMPLE;
    const uint *b = a + stride;
    ranks_a[first + i] = i * SAMPLE;
    ranks_b[first + i] = rank_in<false>(a[i * SAMPLE], b, stride, stride);
    ranks_b[first + samples + i] = i * SAMPLE;
    ranks_a[first + samples + i] = rank_in<true>(b[i * SAMPLE], a, stride, stride);
}

// Merges both lists of cuts of a pair of segments into one: each is sorted.
extern "C" __global__ void merge_ranks(uint *limits, const uint *ranks, uint stride, uint threads)
{
    const uint thread = blockDim.x * blockIdx.x + threadIdx.x;
    if (thread >= threads) {
        return;
    }
    const uint samples = stride / SAMPLE;
    const uint i = thread & (samples - 1);
    const uint *a = ranks + (thread - i) * 2;
    const uint *b = a + samples;
    limits += (thread - i) * 2;
    const uint cut_a = a[i], cut_b = b[i];
    limits[i + rank_in<false>(cut_a, b, samples, samples)] = cut_a;
    limits[i + rank_in<true>(cut_b, a, samples, samples)] = cut_b;
}

extern "C" __global__ void merge_intervals(
    uint *dst_keys, uint *dst_values, const uint *src_keys, const uint *src_values,
    const uint *limits_a, const uint *limits_b, uint stride)
{
    __shared__ uint s_keys[2 * SAMPLE];
    __shared__ uint s_values[2 * SAMPLE];
    __shared__ uint start_a, start_b, count_a, count_b;
    const uint intervals = 2 * stride / SAMPLE;
    const uint interval = blockIdx.x & (intervals - 1);
    const uint base = (blockIdx.x - interval) * SAMPLE;
    if (threadIdx.x == 0) {
        const bool last = interval + 1 == intervals;
        start_a = limits_a[blockIdx.x];
        start_b = limits_b[blockIdx.x];
        count_a = (last ? stride : limits_a[blockIdx.x + 1]) - start_a;
        count_b = (last ? stride : limits_b[blockIdx.x + 1]) - start_b;
    }
    __syncthreads();
    const uint t = threadIdx.x;
    const uint from_a = base + start_a + t, from_b = base + stride + start_b + t;
    if (t < count_a) {
        s_keys[t] = src_keys[from_a];
        s_values[t] = src_values[from_a];
    }
    if (t < count_b) {
        s_keys[SAMPLE + t] = src_keys[from_b];
        s_values[SAMPLE + t] = src_values[from_b];
    }
    __syncthreads();
    uint key_a, value_a, to_a, key_b, value_b, to_b;
    if (t < count_a) {
        key_a = s_keys[t];
        value_a = s_values[t];
        to_a = t + rank_in<false>(key_a, s_keys + SAMPLE, count_b, power_of_two_up_to(count_b));
    }
    if (t < count_b) {
        key_b = s_keys[SAMPLE + t];
        value_b = s_values[SAMPLE + t];
        to_b = t + rank_in<true>(key_b, s_keys, count_a, power_of_two_up_to(count_a));
    }
    __syncthreads();
    if (t < count_a) {
        s_keys[to_a] = key_a;
        s_values[to_a] = value_a;
    }
    if (t < count_b) {
        s_keys[to_b] = key_b;
        s_values[to_b] = value_b;
    }
    __syncthreads();
    const uint to = base + start_a + start_b + t;
    if (t < count_a) {
        dst_keys[to] = s_keys[t];
        dst_values[to] = s_values[t];
    }
    if (t < count_b) {
        dst_keys[to + count_a] = s_keys[count_a + t];
        dst_values[to + count_a] = s_values[count_a + t];
    }
}
