// Pi by throwing darts. The first kernel gives every thread a generator (XORWOW) that is 2^67 steps
// ahead of its predecessor's: the state is a vector of 160 bits, which is multiplied by precomputed
// powers of the transition's matrix, one for every two bits of the thread's number. The second
// kernel throws the darts and adds up the hits.

#define WORDS 5
#define MATRIX_WORDS (32 * WORDS * WORDS)
#define MATRICES 32

struct Generator {
    unsigned int weyl;
    unsigned int v[WORDS];
    int has_normal;
    int has_normal_double;
    float normal;
    double normal_double;
};

__device__ __forceinline__ void multiply(unsigned int (&vector)[WORDS], const unsigned int *matrix)
{
    unsigned int result[WORDS] = {0, 0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < WORDS; ++i) {
        for (int j = 0; j < 32; ++j) {
            if (vector[i] & (1u << j)) {
#pragma unroll
                for (int k = 0; k < WORDS; ++k) {
                    result[k] ^= matrix[WORDS * (i * 32 + j) + k];
                }
            }
        }
    }
#pragma unroll
    for (int i = 0; i < WORDS; ++i) {
        vector[i] = result[i];
    }
}

extern "C" __global__ void init_rng(Generator *generators, unsigned int seed,
                                    const unsigned int *matrices)
{
    const unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int s0 = seed ^ 0x2c7f967fu;
    const unsigned int s1 = 0xa03697cbu;
    const unsigned int t0 = 1228688033u * s0;
    const unsigned int t1 = 2073658381u * s1;
    unsigned int v[WORDS] = {123456789u + t0, 362436069u ^ t0, 521288629u + t1, 88675123u ^ t1,
                             5783321u + t0};
    unsigned long long ahead = thread;
    for (int power = 0; ahead != 0 && power < MATRICES; ++power) {
        for (unsigned int times = ahead & 3; times > 0; --times) {
            multiply(v, matrices + power * MATRIX_WORDS);
        }
        ahead >>= 2;
    }
    Generator generator;
    generator.weyl = 6615241u + t1 + t0;
#pragma unroll
    for (int i = 0; i < WORDS; ++i) {
        generator.v[i] = v[i];
    }
    generator.has_normal = 0;
    generator.has_normal_double = 0;
    generator.normal = 0.0f;
    generator.normal_double = 0.0;
    generators[thread] = generator;
}

__device__ __forceinline__ float uniform(Generator &generator)
{
    const unsigned int t = generator.v[0] ^ (generator.v[0] >> 2);
    generator.v[0] = generator.v[1];
    generator.v[1] = generator.v[2];
    generator.v[2] = generator.v[3];
    generator.v[3] = generator.v[4];
    generator.v[4] = (generator.v[4] ^ (generator.v[4] << 4)) ^ (t ^ (t << 1));
    generator.weyl += 362437u;
    return (generator.v[4] + generator.weyl) * 2.3283064e-10f + 2.3283064e-10f / 2.0f;
}

extern __shared__ unsigned int sums[];

extern "C" __global__ void compute_value(unsigned int *results, const Generator *generators,
                                         unsigned int darts)
{
    const unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int threads = gridDim.x * blockDim.x;
    Generator generator = generators[thread];
    unsigned int hits = 0;
    for (unsigned int i = thread; i < darts; i += threads) {
        const float x = uniform(generator);
        const float y = uniform(generator);
        if (x * x + y * y < 1.0f) {
            ++hits;
        }
    }
    sums[threadIdx.x] = hits;
    __syncthreads();
    for (unsigned int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        results[blockIdx.x] = sums[0];
    }
}
