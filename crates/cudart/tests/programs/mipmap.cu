// Mipmapped arrays, views of resources, colours of borders.
#include "check.h"

__global__ void level(cudaTextureObject_t texture, float *out, float step) {
    out[threadIdx.x] = tex2DLod<float>(texture, 0.5f, 0.5f, threadIdx.x * step);
}

__global__ void gradient(cudaTextureObject_t texture, float *out) {
    float2 along = make_float2(0.125f * (1 << threadIdx.x), 0), across = make_float2(0, 0.125f);
    out[threadIdx.x] = tex2DGrad<float>(texture, 0.5f, 0.5f, along, across);
}

__global__ void base(cudaTextureObject_t texture, float *out) {
    out[threadIdx.x] = tex2D<float>(texture, (threadIdx.x + 0.5f) / 8, 0.5f / 8);
}

__global__ void line(cudaTextureObject_t texture, float *out) {
    out[threadIdx.x] = tex1D<float>(texture, (float)threadIdx.x - 2.f + .5f);
}

__global__ void between(cudaTextureObject_t texture, float *out) {
    out[threadIdx.x] = tex1D<float>(texture, (float)threadIdx.x);
}

__global__ void integers(cudaTextureObject_t texture, int *out) {
    out[threadIdx.x] = tex1D<int>(texture, (float)threadIdx.x - 2.f + .5f);
}

__global__ void layer(cudaTextureObject_t texture, float *out) {
    out[threadIdx.x] = tex2DLayered<float>(texture, 0.5f, 0.5f, threadIdx.x);
}

__global__ void bits(cudaTextureObject_t texture, unsigned *out) {
    out[threadIdx.x] = tex2D<unsigned>(texture, threadIdx.x + 0.5f, 0.5f);
}

static float *device, host[64];

static const float *seen() {
    OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    return host;
}

// Level n holds 100 n everywhere, and its column in level 0.
static cudaMipmappedArray_t pictures() {
    cudaMipmappedArray_t all;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    OK(cudaMallocMipmappedArray(&all, &format, make_cudaExtent(8, 8, 0), 3));
    for (unsigned n = 0; n < 3; n++) {
        cudaArray_t array;
        cudaChannelFormatDesc own;
        cudaExtent extent;
        unsigned flags, side = 8 >> n;
        OK(cudaGetMipmappedArrayLevel(&array, all, n));
        OK(cudaArrayGetInfo(&own, &extent, &flags, array));
        CHECK(extent.width == side && extent.height == side && own.x == 32);
        float texels[64];
        for (unsigned i = 0; i < side * side; i++) texels[i] = n ? 100.f * n : i % side;
        OK(cudaMemcpy2DToArray(array, 0, 0, texels, 4 * side, 4 * side, side,
                               cudaMemcpyHostToDevice));
        GIVES(cudaErrorInvalidResourceHandle, cudaFreeArray(array));
    }
    cudaArray_t none;
    GIVES(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&none, all, 3));
    (void)cudaGetLastError();
    return all;
}

static void levels() {
    cudaMipmappedArray_t all = pictures();
    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeMipmappedArray;
    what.res.mipmap.mipmap = all;
    cudaTextureDesc how = {};
    how.normalizedCoords = 1;
    how.maxMipmapLevelClamp = 2;
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &what, &how, 0));
    level<<<1, 8>>>(texture, device, 0.5f);
    const float nearest[] = {4, 100, 100, 200, 200, 200, 200, 200};
    for (int i = 0; i < 8; i++) CHECK(seen()[i] == nearest[i]);
    base<<<1, 8>>>(texture, device);
    for (int i = 0; i < 8; i++) CHECK(seen()[i] == i);
    gradient<<<1, 4>>>(texture, device);
    const float by_gradient[] = {4, 100, 200, 200};
    for (int i = 0; i < 4; i++) CHECK(seen()[i] == by_gradient[i]);
    how.mipmapFilterMode = cudaFilterModeLinear;
    OK(cudaCreateTextureObject(&texture, &what, &how, 0));
    level<<<1, 8>>>(texture, device, 0.25f);
    const float mixed[] = {4, 28, 52, 76, 100, 125, 150, 175};
    for (int i = 0; i < 8; i++) CHECK(seen()[i] == mixed[i]);
    how.mipmapLevelBias = 1;
    how.maxMipmapLevelClamp = 1.5f;
    OK(cudaCreateTextureObject(&texture, &what, &how, 0));
    level<<<1, 3>>>(texture, device, 0.25f);
    const float biased[] = {100, 125, 150};
    for (int i = 0; i < 3; i++) CHECK(seen()[i] == biased[i]);
    cudaTextureDesc told;
    cudaResourceDesc known;
    OK(cudaGetTextureObjectTextureDesc(&told, texture));
    CHECK(told.mipmapLevelBias == 1 && told.maxMipmapLevelClamp == 1.5f);
    CHECK(told.mipmapFilterMode == cudaFilterModeLinear);
    OK(cudaGetTextureObjectResourceDesc(&known, texture));
    CHECK(known.resType == cudaResourceTypeMipmappedArray && known.res.mipmap.mipmap == all);
    // Levels of a view are counted from its first.
    cudaResourceViewDesc view = {};
    view.format = cudaResViewFormatFloat1;
    view.width = view.height = 8;
    view.firstMipmapLevel = 1;
    view.lastMipmapLevel = 2;
    how.mipmapLevelBias = 0;
    how.mipmapFilterMode = cudaFilterModePoint;
    how.maxMipmapLevelClamp = 9;
    OK(cudaCreateTextureObject(&texture, &what, &how, &view));
    level<<<1, 3>>>(texture, device, 1);
    const float from_one[] = {100, 200, 200};
    for (int i = 0; i < 3; i++) CHECK(seen()[i] == from_one[i]);
    how.normalizedCoords = 0;
    GIVES(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &what, &how, 0));
    (void)cudaGetLastError();
    OK(cudaFreeMipmappedArray(all));
    GIVES(cudaErrorInvalidResourceHandle, cudaFreeMipmappedArray(all));
    (void)cudaGetLastError();
}

static void views() {
    cudaArray_t array, layered;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    float texels[64];
    for (int i = 0; i < 64; i++) texels[i] = i;
    OK(cudaMallocArray(&array, &format, 8, 8));
    OK(cudaMemcpy2DToArray(array, 0, 0, texels, 32, 32, 8, cudaMemcpyHostToDevice));
    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeArray;
    what.res.array.array = array;
    cudaTextureDesc how = {};
    cudaResourceViewDesc view = {}, told = {};
    view.format = cudaResViewFormatUnsignedInt1;
    view.width = view.height = 8;
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &what, &how, &view));
    bits<<<1, 8>>>(texture, (unsigned *)device);
    seen();
    for (int i = 0; i < 8; i++) CHECK(host[i] == i);
    OK(cudaGetTextureObjectResourceViewDesc(&told, texture));
    CHECK(told.format == cudaResViewFormatUnsignedInt1 && told.width == 8 && told.height == 8);
    view.format = cudaResViewFormatFloat2;
    GIVES(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &what, &how, &view));
    view.format = cudaResViewFormatFloat1;
    view.width = 4;
    GIVES(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &what, &how, &view));
    (void)cudaGetLastError();
    OK(cudaMalloc3DArray(&layered, &format, make_cudaExtent(4, 4, 4), cudaArrayLayered));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(texels, 16, 4, 4);
    copy.dstArray = layered;
    copy.extent = make_cudaExtent(4, 4, 4);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    what.res.array.array = layered;
    view.width = view.height = 4;
    view.depth = 4;
    view.firstLayer = 1;
    view.lastLayer = 2;
    OK(cudaCreateTextureObject(&texture, &what, &how, &view));
    layer<<<1, 3>>>(texture, device);
    const float layers[] = {16, 32, 32};
    for (int i = 0; i < 3; i++) CHECK(seen()[i] == layers[i]);
}

static void borders() {
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    float texels[] = {1, 2, 3, 4};
    OK(cudaMallocArray(&array, &format, 4));
    OK(cudaMemcpy2DToArray(array, 0, 0, texels, 16, 16, 1, cudaMemcpyHostToDevice));
    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeArray;
    what.res.array.array = array;
    cudaTextureDesc how = {};
    how.addressMode[0] = cudaAddressModeBorder;
    how.borderColor[0] = 5.5f;
    how.borderColor[1] = 7;
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &what, &how, 0));
    line<<<1, 8>>>(texture, device);
    const float expected[] = {5.5f, 5.5f, 1, 2, 3, 4, 5.5f, 5.5f};
    for (int i = 0; i < 8; i++) CHECK(seen()[i] == expected[i]);
    // Half way to the border.
    how.filterMode = cudaFilterModeLinear;
    OK(cudaCreateTextureObject(&texture, &what, &how, 0));
    between<<<1, 2>>>(texture, device);
    CHECK(seen()[0] == 3.25f && seen()[1] == 1.5f);
    cudaTextureDesc told;
    OK(cudaGetTextureObjectTextureDesc(&told, texture));
    CHECK(told.borderColor[0] == 5.5f && told.borderColor[1] == 7);
    // Where texels are integers, so is the colour.
    format = cudaCreateChannelDesc<int>();
    int numbers[] = {-1, -2, -3, -4};
    OK(cudaMallocArray(&array, &format, 4));
    OK(cudaMemcpy2DToArray(array, 0, 0, numbers, 16, 16, 1, cudaMemcpyHostToDevice));
    what.res.array.array = array;
    how.filterMode = cudaFilterModePoint;
    int colour = -77;
    memcpy(how.borderColor, &colour, 4);
    OK(cudaCreateTextureObject(&texture, &what, &how, 0));
    integers<<<1, 8>>>(texture, (int *)device);
    seen();
    const int found[] = {-77, -77, -1, -2, -3, -4, -77, -77};
    CHECK(!memcmp(host, found, sizeof found));
}

int main() {
    OK(cudaMalloc(&device, sizeof host));
    levels();
    views();
    borders();
    return end();
}
