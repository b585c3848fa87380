// Scale-invariant features. `detect` looks for extrema of the differences between neighbouring
// levels of a Gaussian scale space, one thread a pixel and scale. `describe` has one block a
// keypoint: the dominant orientation of the gradients around it, then histograms of orientations in
// 4 x 4 cells of a window turned by it. Histograms are integers, so that no order of the atomics
// can reach the result.

#define ORIENTATIONS 36
#define CELLS 4
#define DIRECTIONS 8
#define BINS (CELLS * CELLS * DIRECTIONS)
#define WINDOW 16
#define THREADS (WINDOW * WINDOW)
#define FIXED 65536.0f
#define PI 3.14159265f

struct Keypoint {
    int x;
    int y;
    int level;
    int padding;
};

__constant__ float cosines[ORIENTATIONS];
__constant__ float sines[ORIENTATIONS];

// Difference of Gaussians at a pixel; levels lie `layer` apart.
__device__ __forceinline__ float difference(const float *at, int layer)
{
    return at[layer] - at[0];
}

__device__ __forceinline__ bool is_extremum(const float *at, int width, int layer, float value)
{
    bool highest = true, lowest = true;
    for (int scale = -1; scale <= 1; ++scale) {
        for (int dy = -1; dy <= 1; ++dy) {
#pragma unroll
            for (int dx = -1; dx <= 1; ++dx) {
                if (scale == 0 && dy == 0 && dx == 0) {
                    continue;
                }
                const float other = difference(at + scale * layer + dy * width + dx, layer);
                highest = highest && value > other;
                lowest = lowest && value < other;
            }
        }
        if (!highest && !lowest) {
            return false;
        }
    }
    return true;
}

// Edges have one large and one small curvature, and are no features.
__device__ __forceinline__ bool is_edge(const float *at, int width, int layer, float value)
{
    const float left = difference(at - 1, layer), right = difference(at + 1, layer);
    const float above = difference(at - width, layer), below = difference(at + width, layer);
    const float xx = left + right - 2.0f * value;
    const float yy = above + below - 2.0f * value;
    const float *up = at - width, *down = at + width;
    const float xy = 0.25f * (difference(down + 1, layer) - difference(down - 1, layer) -
                              difference(up + 1, layer) + difference(up - 1, layer));
    const float trace = xx + yy;
    const float determinant = xx * yy - xy * xy;
    return determinant <= 0.0f || trace * trace * 10.0f >= 121.0f * determinant;
}

extern "C" __global__ void detect(const float *levels, float *strength, int width, int height,
                                  float threshold)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    const int layer = width * height;
    const int pixel = blockIdx.z * layer + y * width + x;
    float found = 0.0f;
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
        const float *at = levels + layer + pixel;
        const float value = difference(at, layer);
        if (fabsf(value) > threshold && is_extremum(at, width, layer, value) &&
            !is_edge(at, width, layer, value)) {
            found = fabsf(value);
        }
    }
    strength[pixel] = found;
}

// Angle of a vector in [0, 2 pi), by a polynomial.
__device__ __forceinline__ float angle_of(float y, float x)
{
    const float ax = fabsf(x), ay = fabsf(y);
    const float most = fmaxf(ax, ay);
    const float a = most > 0.0f ? fminf(ax, ay) / most : 0.0f;
    const float s = a * a;
    float r = ((-0.0464964749f * s + 0.15931422f) * s - 0.327622764f) * s * a + a;
    r = ay > ax ? 0.5f * PI - r : r;
    r = x < 0.0f ? PI - r : r;
    return y < 0.0f ? 2.0f * PI - r : r;
}

__device__ __forceinline__ int bin_of(float angle, int bins)
{
    return min((int)(angle * ((float)bins / (2.0f * PI))), bins - 1);
}

struct Gradient {
    float magnitude;
    float angle;
};

__device__ __forceinline__ Gradient gradient(const float *level, int width, int height, int x,
                                             int y)
{
    x = min(max(x, 1), width - 2);
    y = min(max(y, 1), height - 2);
    const float *at = level + y * width + x;
    const float dx = at[1] - at[-1];
    const float dy = at[width] - at[-width];
    Gradient gradient;
    gradient.magnitude = sqrtf(dx * dx + dy * dy);
    gradient.angle = angle_of(dy, dx);
    return gradient;
}

extern "C" __global__ void describe(const float *levels, const Keypoint *keypoints,
                                    float *descriptors, int *orientations, int width, int height)
{
    __shared__ int histogram[ORIENTATIONS];
    __shared__ int bins[BINS];
    __shared__ float squares[BINS];
    __shared__ int dominant;
    const int thread = threadIdx.x;
    const Keypoint keypoint = keypoints[blockIdx.x];
    const float *level = levels + keypoint.level * width * height;
    // Offset from the keypoint, half a pixel off so that it lies in the middle.
    const float ox = (float)(thread % WINDOW) - (WINDOW - 1) * 0.5f;
    const float oy = (float)(thread / WINDOW) - (WINDOW - 1) * 0.5f;
    const float weight = __expf(-(ox * ox + oy * oy) * (1.0f / (WINDOW * WINDOW / 2)));

    if (thread < ORIENTATIONS) {
        histogram[thread] = 0;
    }
    if (thread < BINS) {
        bins[thread] = 0;
    }
    __syncthreads();
    const Gradient around =
        gradient(level, width, height, keypoint.x + (int)floorf(ox), keypoint.y + (int)floorf(oy));
    atomicAdd(&histogram[bin_of(around.angle, ORIENTATIONS)],
              (int)(around.magnitude * weight * FIXED));
    __syncthreads();
    if (thread == 0) {
        int best = 0;
        for (int i = 1; i < ORIENTATIONS; ++i) {
            best = histogram[i] > histogram[best] ? i : best;
        }
        dominant = best;
    }
    __syncthreads();

    const float c = cosines[dominant], s = sines[dominant];
    const int x = keypoint.x + (int)floorf(c * ox - s * oy);
    const int y = keypoint.y + (int)floorf(s * ox + c * oy);
    const Gradient turned = gradient(level, width, height, x, y);
    float relative = turned.angle - (dominant + 0.5f) * (2.0f * PI / ORIENTATIONS);
    relative = relative < 0.0f ? relative + 2.0f * PI : relative;
    const int row = thread / WINDOW, column = thread % WINDOW;
    const int cell = row / (WINDOW / CELLS) * CELLS + column / (WINDOW / CELLS);
    atomicAdd(&bins[cell * DIRECTIONS + bin_of(relative, DIRECTIONS)],
              (int)(turned.magnitude * weight * FIXED));
    __syncthreads();

    float value = 0.0f;
    if (thread < BINS) {
        value = (float)bins[thread] * (1.0f / FIXED);
        squares[thread] = value * value;
    }
    for (int half = BINS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (thread < half) {
            squares[thread] += squares[thread + half];
        }
    }
    __syncthreads();
    if (thread < BINS) {
        const float length = sqrtf(squares[0]);
        // Large components are cut: they come from changes of light.
        descriptors[blockIdx.x * BINS + thread] =
            length > 0.0f ? fminf(value / length, 0.2f) : 0.0f;
    }
    if (thread == 0) {
        orientations[blockIdx.x] = dominant;
    }
}
