// European call options by Monte Carlo: normal samples by the inverse of the cumulative normal
// distribution, then one block an option over all samples.

#define THREADS 256
#define MAX_OPTIONS 2048

struct Option {
    float spot;
    float strike;
    float drift;      // (rate - volatility^2 / 2) x years
    float deviation;  // volatility x sqrt(years)
};

__constant__ Option options[MAX_OPTIONS];

// B. Moro, "The Full Monte", Risk 8(2), 1995: a rational function around the centre, and beyond
// a Chebyshev series in log(-log(tail)).
__device__ float inverse_normal(float probability)
{
    const float a0 = 2.50662823884f, a1 = -18.61500062529f;
    const float a2 = 41.39119773534f, a3 = -25.44106049637f;
    const float b1 = -8.4735109309f, b2 = 23.08336743743f;
    const float b3 = -21.06224101826f, b4 = 3.13082909833f;
    const float c0 = 0.337475482272615f, c1 = 0.976169019091719f, c2 = 0.160797971491821f;
    const float c3 = 2.76438810333863e-2f, c4 = 3.8405729373609e-3f, c5 = 3.951896511919e-4f;
    const float c6 = 3.21767881768e-5f, c7 = 2.888167364e-7f, c8 = 3.960315187e-7f;
    const float y = probability - 0.5f;
    if (fabsf(y) < 0.42f) {
        const float z = y * y;
        return y * (((a3 * z + a2) * z + a1) * z + a0)
            / ((((b4 * z + b3) * z + b2) * z + b1) * z + 1.0f);
    }
    const float tail = y > 0.0f ? 1.0f - probability : probability;
    const float z = __logf(-__logf(tail));
    const float x = c0 + z * (c1 + z * (c2 + z * (c3 + z * (c4 + z * (c5 + z * (c6
        + z * (c7 + z * c8)))))));
    return y > 0.0f ? x : -x;
}

extern "C" __global__ void inverse_normals(float *samples, int count)
{
    const float step = 1.0f / (float)(count + 1);
    const int threads = gridDim.x * blockDim.x;
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < count; i += threads) {
        samples[i] = inverse_normal((float)(i + 1) * step);
    }
}

__device__ float payoff(const Option &option, float sample)
{
    const float price = option.spot * __expf(option.drift + option.deviation * sample);
    const float gain = price - option.strike;
    return gain > 0.0f ? gain : 0.0f;
}

// Sum and sum of squares of an option's payoffs.
extern "C" __global__ void option_per_block(float2 *sums, const float *samples, int count)
{
    __shared__ float s_sum[THREADS];
    __shared__ float s_square[THREADS];
    const Option option = options[blockIdx.x];
    float sum = 0.0f, square = 0.0f;
    for (int i = threadIdx.x; i < count; i += THREADS) {
        const float gain = payoff(option, samples[i]);
        sum += gain;
        square += gain * gain;
    }
    s_sum[threadIdx.x] = sum;
    s_square[threadIdx.x] = square;
    for (int half = THREADS / 2; half > 0; half >>= 1) {
        __syncthreads();
        if (threadIdx.x < half) {
            s_sum[threadIdx.x] += s_sum[threadIdx.x + half];
            s_square[threadIdx.x] += s_square[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = make_float2(s_sum[0], s_square[0]);
    }
}
