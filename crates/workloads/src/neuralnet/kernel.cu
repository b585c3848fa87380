// A network that reads handwritten digits, 29 x 29 pixels: two convolutions with stride 2, then two
// full layers. Every neuron is a thread; all images are in one grid, an image a row of it.

#define IMAGE 29
#define WINDOW 5
#define MAPS_1 6
#define SIDE_1 13
#define MAPS_2 50
#define SIDE_2 5

__device__ float activate(float sum)
{
    return 1.7159f * tanhf(0.66666667f * sum);
}

// A map's 169 neurons a block; weights of a map: bias, then the window by rows.
extern "C" __global__ void first_layer(float *out, const float *images, const float *weights)
{
    const float *image = images + IMAGE * IMAGE * blockIdx.y;
    const float *mine = weights + (1 + WINDOW * WINDOW) * blockIdx.x;
    const int corner = IMAGE * 2 * threadIdx.y + 2 * threadIdx.x;
    float sum = mine[0];
    for (int i = 0; i < WINDOW * WINDOW; ++i) {
        sum += image[corner + IMAGE * (i / WINDOW) + i % WINDOW] * mine[1 + i];
    }
    out[SIDE_1 * SIDE_1 * (MAPS_1 * blockIdx.y + blockIdx.x) + SIDE_1 * threadIdx.y + threadIdx.x]
        = activate(sum);
}

// A map's 25 neurons a block; weights of a map: bias, then for each place of the window one for
// every map of the first layer.
extern "C" __global__ void second_layer(float *out, const float *in, const float *weights)
{
    const float *maps = in + MAPS_1 * SIDE_1 * SIDE_1 * blockIdx.y;
    const float *mine = weights + (1 + WINDOW * WINDOW * MAPS_1) * blockIdx.x;
    const int corner = SIDE_1 * 2 * threadIdx.y + 2 * threadIdx.x;
    float sum = mine[0];
    for (int i = 0; i < WINDOW * WINDOW; ++i) {
        const float *place = maps + corner + SIDE_1 * (i / WINDOW) + i % WINDOW;
#pragma unroll
        for (int map = 0; map < MAPS_1; ++map) {
            sum += place[SIDE_1 * SIDE_1 * map] * mine[1 + MAPS_1 * i + map];
        }
    }
    out[SIDE_2 * SIDE_2 * (MAPS_2 * blockIdx.y + blockIdx.x) + SIDE_2 * threadIdx.y + threadIdx.x]
        = activate(sum);
}

// One neuron a block of one thread; weights of a neuron: bias, then one for every input.
__device__ void full_layer(float *out, const float *in, const float *weights, int inputs)
{
    const float *mine = weights + (1 + inputs) * blockIdx.x;
    const float *values = in + inputs * blockIdx.y;
    float sum = mine[0];
    for (int i = 0; i < inputs; ++i) {
        sum += values[i] * mine[1 + i];
    }
    out[gridDim.x * blockIdx.y + blockIdx.x] = activate(sum);
}

extern "C" __global__ void third_layer(float *out, const float *in, const float *weights)
{
    full_layer(out, in, weights, MAPS_2 * SIDE_2 * SIDE_2);
}

extern "C" __global__ void fourth_layer(
    float *out, const float *in, const float *weights, int inputs)
{
    full_layer(out, in, weights, inputs);
}
