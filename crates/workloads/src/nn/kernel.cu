// Distance of every place to a given one, in degrees.

struct Place {
    float latitude;
    float longitude;
};

extern "C" __global__ void euclid(const Place *places, float *distances, int count, float latitude,
                                  float longitude)
{
    const int at = blockDim.x * (gridDim.x * blockIdx.y + blockIdx.x) + threadIdx.x;
    if (at < count) {
        const float across = latitude - places[at].latitude;
        const float along = longitude - places[at].longitude;
        distances[at] = sqrtf(fmaf(along, along, across * across));
    }
}
