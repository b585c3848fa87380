// DXT1 compression: a block of 64 threads compresses 4 x 4 pixels. Sixteen threads sort the colours
// along their principal axis; then all threads try the ways to cut the sorted row into four or
// three clusters (992 and 160 of them), fit the two end colours of each by least squares, round
// them to 16 bits, and keep the best; a tree finds the best of all.

#define THREADS 64
#define FOURS 992
#define THREES 160
#define LANES 0xffffu
#define MOST 3.402823466e+38f

__constant__ float weights4[4] = {9.0f, 0.0f, 6.0f, 3.0f};
__constant__ float weights3[4] = {4.0f, 0.0f, 2.0f, 2.0f};
// Sums of squares and products of the weights, a byte each.
__constant__ int products4[4] = {0x090000, 0x000900, 0x040102, 0x010402};
__constant__ int products3[4] = {0x040000, 0x000400, 0x010101, 0x010101};

struct Ends {
    unsigned short start;
    unsigned short end;
};

__device__ __forceinline__ float3 operator+(float3 a, float3 b)
{
    return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}

__device__ __forceinline__ float3 operator-(float3 a, float3 b)
{
    return make_float3(a.x - b.x, a.y - b.y, a.z - b.z);
}

__device__ __forceinline__ float3 operator*(float3 a, float s)
{
    return make_float3(a.x * s, a.y * s, a.z * s);
}

__device__ __forceinline__ float3 operator*(float3 a, float3 b)
{
    return make_float3(a.x * b.x, a.y * b.y, a.z * b.z);
}

__device__ __forceinline__ void sum_colours(const float3 *colours, float3 *sums)
{
    const int lane = threadIdx.x;
    sums[lane] = colours[lane];
    __syncwarp(LANES);
#pragma unroll
    for (int distance = 8; distance > 0; distance /= 2) {
        const float3 other = sums[lane ^ distance];
        __syncwarp(LANES);
        sums[lane] = sums[lane] + other;
        __syncwarp(LANES);
    }
}

// First eigenvector of the colours' covariance, by eight steps of the power method.
__device__ __forceinline__ float3 principal_axis(const float3 *colours, float3 sum)
{
    __shared__ float covariance[16 * 6];
    const int lane = threadIdx.x;
    const float3 d = colours[lane] - sum * (1.0f / 16.0f);
    covariance[6 * lane + 0] = d.x * d.x;
    covariance[6 * lane + 1] = d.x * d.y;
    covariance[6 * lane + 2] = d.x * d.z;
    covariance[6 * lane + 3] = d.y * d.y;
    covariance[6 * lane + 4] = d.y * d.z;
    covariance[6 * lane + 5] = d.z * d.z;
    __syncwarp(LANES);
    for (int distance = 8; distance > 0; distance >>= 1) {
        if (lane < distance) {
#pragma unroll
            for (int i = 0; i < 6; ++i) {
                covariance[6 * lane + i] += covariance[6 * (lane + distance) + i];
            }
        }
        __syncwarp(LANES);
    }
    float3 v = make_float3(1.0f, 1.0f, 1.0f);
    for (int i = 0; i < 8; ++i) {
        const float x = v.x * covariance[0] + v.y * covariance[1] + v.z * covariance[2];
        const float y = v.x * covariance[1] + v.y * covariance[3] + v.z * covariance[4];
        const float z = v.x * covariance[2] + v.y * covariance[4] + v.z * covariance[5];
        const float inverse = 1.0f / fmaxf(fmaxf(x, y), z);
        v = make_float3(x * inverse, y * inverse, z * inverse);
    }
    return v;
}

// Rank of each colour along the axis; equal ones in order of their number.
__device__ __forceinline__ void rank(const float *values, int *ranks)
{
    const int lane = threadIdx.x;
    int rank = 0;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        rank += values[i] < values[lane];
    }
    ranks[lane] = rank;
    __syncwarp(LANES);
    for (int i = 0; i < 15; ++i) {
        if (lane > i && ranks[lane] == ranks[i]) {
            ++ranks[lane];
        }
        __syncwarp(LANES);
    }
}

__device__ __forceinline__ void load_colours(const unsigned int *image, float3 *colours,
                                             float3 *sums, int *ranks, int block)
{
    __shared__ float along[16];
    const int lane = threadIdx.x;
    if (lane < 16) {
        const unsigned int c = image[16 * block + lane];
        colours[lane].x = (c & 255) * (1.0f / 255.0f);
        colours[lane].y = (c >> 8 & 255) * (1.0f / 255.0f);
        colours[lane].z = (c >> 16 & 255) * (1.0f / 255.0f);
        __syncwarp(LANES);
        sum_colours(colours, sums);
        const float3 axis = principal_axis(colours, sums[0]);
        const float3 c3 = colours[lane];
        along[lane] = c3.x * axis.x + c3.y * axis.y + c3.z * axis.z;
        __syncwarp(LANES);
        rank(along, ranks);
        colours[ranks[lane]] = c3;
    }
}

__device__ __forceinline__ float3 to_565(float3 v, unsigned short &packed)
{
    v.x = rintf(__saturatef(v.x) * 31.0f);
    v.y = rintf(__saturatef(v.y) * 63.0f);
    v.z = rintf(__saturatef(v.z) * 31.0f);
    packed = (unsigned short)v.x << 11 | (unsigned short)v.y << 5 | (unsigned short)v.z;
    // As the bits are repeated when colours are expanded.
    v.x *= 0.03227752766457f;
    v.y *= 0.01583151765563f;
    v.z *= 0.03227752766457f;
    return v;
}

// Fits the end colours of one clustering; `total` is the highest weight.
__device__ __forceinline__ float fit(const float3 *colours, unsigned int clusters, Ends &ends,
                                     float3 sum, const float *weights, const int *products,
                                     float total, float scale)
{
    float3 alphax = make_float3(0.0f, 0.0f, 0.0f);
    int packed = 0;
    for (int i = 0; i < 16; ++i) {
        const unsigned int cluster = clusters >> (2 * i) & 3;
        alphax = alphax + colours[i] * weights[cluster];
        packed += products[cluster];
    }
    const float alpha2 = (float)(packed >> 16);
    const float beta2 = (float)(packed >> 8 & 255);
    const float alphabeta = (float)(packed & 255);
    const float3 betax = sum * total - alphax;
    const float factor = 1.0f / (alpha2 * beta2 - alphabeta * alphabeta);
    float3 a = (alphax * beta2 - betax * alphabeta) * factor;
    float3 b = (betax * alpha2 - alphax * alphabeta) * factor;
    a = to_565(a, ends.start);
    b = to_565(b, ends.end);
    const float3 mixed = a * b * alphabeta - a * alphax - b * betax;
    const float3 e = a * a * alpha2 + b * b * beta2 + mixed * 2.0f;
    return scale * (e.x + e.y + e.z);
}

__device__ __forceinline__ void swap(Ends &ends)
{
    const unsigned short start = ends.start;
    ends.start = ends.end;
    ends.end = start;
}

__device__ __forceinline__ void try_all(const float3 *colours, const unsigned int *clusterings,
                                        Ends &best, unsigned int &best_clusters, float *errors,
                                        float3 sum)
{
    __shared__ unsigned int threes[THREES];
    const int thread = threadIdx.x;
    float best_error = MOST;
    for (int i = 0; i < 16; ++i) {
        const int number = thread + THREADS * i;
        if (number >= FOURS) {
            break;
        }
        Ends ends;
        const unsigned int clusters = clusterings[number];
        if (number < THREES) {
            threes[number] = clusters;
        }
        const float error =
            fit(colours, clusters, ends, sum, weights4, products4, 9.0f, 0.111111111111f);
        if (error < best_error) {
            best_error = error;
            best_clusters = clusters;
            best = ends;
        }
    }
    if (best.start < best.end) {
        swap(best);
        best_clusters ^= 0x55555555;
    }
    __syncthreads();
    for (int i = 0; i < 3; ++i) {
        const int number = thread + THREADS * i;
        if (number >= THREES) {
            break;
        }
        Ends ends;
        const unsigned int clusters = threes[number];
        const float error = fit(colours, clusters, ends, sum, weights3, products3, 4.0f, 0.25f);
        if (error < best_error) {
            best_error = error;
            best_clusters = clusters;
            best = ends;
            if (best.start > best.end) {
                swap(best);
                best_clusters ^= (~best_clusters >> 1) & 0x55555555;
            }
        }
    }
    errors[thread] = best_error;
}

__device__ __forceinline__ int least_error(float *errors)
{
    __shared__ int numbers[THREADS];
    const int thread = threadIdx.x;
    numbers[thread] = thread;
    __syncthreads();
    for (int distance = THREADS / 2; distance > 0; distance >>= 1) {
        const bool other = thread + distance < THREADS;
        const float mine = errors[thread];
        const float error = other ? errors[thread + distance] : MOST;
        const int number = other ? numbers[thread + distance] : 0;
        __syncthreads();
        if (error < mine) {
            errors[thread] = error;
            numbers[thread] = number;
        }
        __syncthreads();
    }
    return numbers[0];
}

extern "C" __global__ void compress(const unsigned int *clusterings, const unsigned int *image,
                                    uint2 *result, int first_block)
{
    __shared__ float3 colours[16];
    __shared__ float3 sums[16];
    __shared__ int ranks[16];
    __shared__ float errors[THREADS];
    const int block = blockIdx.x + first_block;

    load_colours(image, colours, sums, ranks, block);
    __syncthreads();
    Ends best = {0, 0};
    unsigned int clusters = 0;
    try_all(colours, clusterings, best, clusters, errors, sums[0]);
    const int winner = least_error(errors);
    __syncthreads();
    if (threadIdx.x == winner) {
        if (best.start == best.end) {
            clusters = 0;
        }
        unsigned int indices = 0;
        for (int i = 0; i < 16; ++i) {
            indices |= (clusters >> (2 * ranks[i]) & 3) << (2 * i);
        }
        result[block].x = (unsigned int)best.end << 16 | best.start;
        result[block].y = indices;
    }
}
