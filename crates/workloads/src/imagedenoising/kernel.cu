// Two filters that take noise out of a picture, one thread a pixel, all colours through a texture.
// K nearest neighbours weighs a window's pixels by how much they resemble the centre; non-local
// means by how much their surroundings resemble the centre's.

#define RADIUS 3
#define WINDOW ((2 * RADIUS + 1) * (2 * RADIUS + 1))
#define WINDOW_INVERSE (1.0f / (float)WINDOW)
#define KNN_WEIGHT 0.02f
#define KNN_SHARE 0.79f
#define NLM_WEIGHT 0.10f
#define NLM_SHARE 0.10f

__device__ __forceinline__ float difference(float4 a, float4 b)
{
    return (b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y) + (b.z - a.z) * (b.z - a.z);
}

__device__ __forceinline__ float mix(float a, float b, float share)
{
    return a + (b - a) * share;
}

__device__ __forceinline__ unsigned int pack(float r, float g, float b)
{
    return (int)(b * 255.0f) << 16 | (int)(g * 255.0f) << 8 | (int)(r * 255.0f);
}

struct Sums {
    float r;
    float g;
    float b;
    float weights;
    float similar;
};

__device__ __forceinline__ void add(Sums &sums, float4 colour, float weight, float threshold)
{
    sums.r += colour.x * weight;
    sums.g += colour.y * weight;
    sums.b += colour.z * weight;
    sums.weights += weight;
    sums.similar += weight > threshold ? WINDOW_INVERSE : 0.0f;
}

// Where many pixels of the window resemble the centre the mean counts more.
__device__ __forceinline__ unsigned int finish(const Sums &sums, float4 centre, float share,
                                               float blend)
{
    const float inverse = 1.0f / sums.weights;
    const float own = sums.similar > share ? blend : 1.0f - blend;
    return pack(mix(sums.r * inverse, centre.x, own), mix(sums.g * inverse, centre.y, own),
                mix(sums.b * inverse, centre.z, own));
}

extern "C" __global__ void knn(unsigned int *result, int width, int height, float noise,
                               float blend, unsigned long long image)
{
    const int ix = blockDim.x * blockIdx.x + threadIdx.x;
    const int iy = blockDim.y * blockIdx.y + threadIdx.y;
    const float x = (float)ix + 0.5f;
    const float y = (float)iy + 0.5f;
    if (ix < width && iy < height) {
        const float4 centre = tex2D<float4>(image, x, y);
        Sums sums = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        for (float i = -RADIUS; i <= RADIUS; i++) {
            for (float j = -RADIUS; j <= RADIUS; j++) {
                const float4 colour = tex2D<float4>(image, x + j, y + i);
                const float weight = __expf(-(difference(centre, colour) * noise +
                                              (i * i + j * j) * WINDOW_INVERSE));
                add(sums, colour, weight, KNN_WEIGHT);
            }
        }
        result[width * iy + ix] = finish(sums, centre, KNN_SHARE, blend);
    }
}

extern "C" __global__ void nlm(unsigned int *result, int width, int height, float noise,
                               float blend, unsigned long long image)
{
    const int ix = blockDim.x * blockIdx.x + threadIdx.x;
    const int iy = blockDim.y * blockIdx.y + threadIdx.y;
    const float x = (float)ix + 0.5f;
    const float y = (float)iy + 0.5f;
    if (ix < width && iy < height) {
        Sums sums = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        for (float i = -RADIUS; i <= RADIUS; i++) {
            for (float j = -RADIUS; j <= RADIUS; j++) {
                float distance = 0.0f;
                for (float n = -RADIUS; n <= RADIUS; n++) {
                    for (float m = -RADIUS; m <= RADIUS; m++) {
                        distance += difference(tex2D<float4>(image, x + j + m, y + i + n),
                                               tex2D<float4>(image, x + m, y + n));
                    }
                }
                const float weight =
                    __expf(-(distance * noise + (i * i + j * j) * WINDOW_INVERSE));
                add(sums, tex2D<float4>(image, x + j, y + i), weight, NLM_WEIGHT);
            }
        }
        result[width * iy + ix] = finish(sums, tex2D<float4>(image, x, y), NLM_SHARE, blend);
    }
}
