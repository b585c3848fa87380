// Sums of a long vector: every thread of a small grid strides through it and keeps its own sum,
// which the host adds up.

extern "C" __global__ void reduce(float *sums, const float *input, int count)
{
    const int thread = blockDim.x * blockIdx.x + threadIdx.x;
    const int threads = gridDim.x * blockDim.x;
    float sum = 0.0f;
    for (int i = thread; i < count; i += threads) {
        sum += input[i];
    }
    sums[thread] = sum;
}
