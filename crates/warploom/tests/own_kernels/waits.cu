// Kernels whose warps wait for few lines of L2, for atomics of shared memory, or for each other.
// Compiled by `nvcc -ptx -arch=compute_75`.

extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int n)
{
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        atomicAdd(&bins[in[i]], 1u);
}

extern "C" __global__ void tally(unsigned *out, int rounds)
{
    __shared__ unsigned counts[8];
    if (threadIdx.x < 8)
        counts[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < rounds; k++)
        atomicAdd(&counts[k & 7], threadIdx.x);
    __syncthreads();
    if (threadIdx.x < 8)
        out[blockIdx.x * 8 + threadIdx.x] = counts[threadIdx.x];
}

// In each round one warp works and seven wait.
extern "C" __global__ void uneven(float *out, int rounds)
{
    __shared__ float shared[256];
    float x = threadIdx.x;
    for (int k = 0; k < rounds; k++) {
        if (threadIdx.x / 32 == (k & 7))
            for (int j = 0; j < 64; j++)
                x = x * 1.01f + 1.0f;
        shared[threadIdx.x] = x;
        __syncthreads();
        x += shared[(threadIdx.x + 32) & 255];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// All warps read the same four lines, past L1D.
extern "C" __global__ void few_lines(const float *in, float *out, int rounds)
{
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < rounds; k++)
        sum += __ldcg(in + (threadIdx.x & 31) + 32 * (k & 3));
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
