// A 3 x 3 convolution with constant weights, one thread an element, straight from global memory.

extern "C" __global__ void convolution2d(int rows, int columns, const float *a, float *b)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    const float c11 = 0.2f, c21 = 0.5f, c31 = -0.8f;
    const float c12 = -0.3f, c22 = 0.6f, c32 = -0.9f;
    const float c13 = 0.4f, c23 = 0.7f, c33 = 0.10f;

    if (i > 0 && i < rows - 1 && j > 0 && j < columns - 1) {
        const float *above = a + (i - 1) * columns + j;
        const float *here = a + i * columns + j;
        const float *below = a + (i + 1) * columns + j;
        b[i * columns + j] = c11 * above[-1] + c21 * above[0] + c31 * above[1] + c12 * here[-1] +
                             c22 * here[0] + c32 * here[1] + c13 * below[-1] + c23 * below[0] +
                             c33 * below[1];
    }
}
