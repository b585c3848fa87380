// Prices of European options after Black and Scholes: a fixed grid strides through the options.

// Cumulative normal distribution, Abramowitz and Stegun 26.2.17.
__device__ float cumulative_normal(float d)
{
    const float a1 = 0.319381530f, a2 = -0.356563782f, a3 = 1.781477937f;
    const float a4 = -1.821255978f, a5 = 1.330274429f;
    const float inverse_root_of_two_pi = 0.39894228f;
    const float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    const float upper = inverse_root_of_two_pi * __expf(-0.5f * d * d)
        * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    return d > 0.0f ? 1.0f - upper : upper;
}

extern "C" __global__ void black_scholes(
    float *calls, float *puts, const float *prices, const float *strikes, const float *years,
    float rate, float volatility, int count)
{
    const int threads = gridDim.x * blockDim.x;
    for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < count; i += threads) {
        const float price = prices[i], strike = strikes[i], time = years[i];
        const float deviation = volatility * sqrtf(time);
        const float d1 = __fdividef(
            __logf(__fdividef(price, strike)) + (rate + 0.5f * volatility * volatility) * time,
            deviation);
        const float d2 = d1 - deviation;
        const float n1 = cumulative_normal(d1), n2 = cumulative_normal(d2);
        const float discounted = strike * __expf(-rate * time);
        calls[i] = price * n1 - discounted * n2;
        puts[i] = discounted * (1.0f - n2) - price * (1.0f - n1);
    }
}
