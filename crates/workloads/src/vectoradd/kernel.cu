// c = a + b: one thread an element, a guarded tail.

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int count)
{
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < count) {
        c[i] = a[i] + b[i];
    }
}
