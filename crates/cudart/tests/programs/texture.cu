// Texture objects: linear memory, pitched memory, arrays of one to three dimensions and layers.
#include "check.h"

__global__ void linear(cudaTextureObject_t t, int *out) {
    out[threadIdx.x] = tex1Dfetch<int>(t, threadIdx.x) + tex1Dfetch<int>(t, 1000);
}

__global__ void plane(cudaTextureObject_t t, float *out) {
    out[threadIdx.x] = tex2D<float>(t, threadIdx.x % 4 + 0.5f, threadIdx.x / 4 + 0.5f);
}

__global__ void between(cudaTextureObject_t t, float *out) { out[0] = tex2D<float>(t, 1.0f, 0.5f); }

__global__ void normal(cudaTextureObject_t t, float4 *out) { out[0] = tex2D<float4>(t, 0.75f, 0.25f); }

__global__ void box(cudaTextureObject_t t, float *out) {
    out[0] = tex3D<float>(t, 1.5f, 0.5f, 1.5f);
}

__global__ void layer(cudaTextureObject_t t, float *out) {
    out[0] = tex2DLayered<float>(t, 1.5f, 0.5f, 1);
}

static cudaTextureDesc sampler(cudaTextureFilterMode filter, cudaTextureReadMode read) {
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeClamp;
    how.filterMode = filter;
    how.readMode = read;
    return how;
}

int main() {
    void *device;
    float got[16];
    OK(cudaMalloc(&device, 4096));

    int numbers[16], back[16], *memory;
    for (int i = 0; i < 16; i++) numbers[i] = i * 7;
    OK(cudaMalloc(&memory, sizeof numbers));
    OK(cudaMemcpy(memory, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeLinear;
    what.res.linear.devPtr = memory;
    what.res.linear.desc = cudaCreateChannelDesc<int>();
    what.res.linear.sizeInBytes = sizeof numbers;
    cudaTextureDesc how = sampler(cudaFilterModePoint, cudaReadModeElementType);
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &what, &how, 0));
    linear<<<1, 16>>>(texture, (int *)device);
    OK(cudaMemcpy(back, device, sizeof back, cudaMemcpyDeviceToHost));
    CHECK(!memcmp(back, numbers, sizeof back));
    OK(cudaDestroyTextureObject(texture));
    GIVES(cudaErrorInvalidValue, cudaDestroyTextureObject(texture));
    (void)cudaGetLastError();

    float values[3][4];
    for (int i = 0; i < 12; i++) values[i / 4][i % 4] = i;
    float *rows;
    size_t pitch;
    OK(cudaMallocPitch(&rows, &pitch, 16, 3));
    OK(cudaMemcpy2D(rows, pitch, values, 16, 16, 3, cudaMemcpyHostToDevice));
    what = {};
    what.resType = cudaResourceTypePitch2D;
    what.res.pitch2D.devPtr = rows;
    what.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    what.res.pitch2D.width = 4;
    what.res.pitch2D.height = 3;
    what.res.pitch2D.pitchInBytes = pitch;
    OK(cudaCreateTextureObject(&texture, &what, &how, 0));
    plane<<<1, 12>>>(texture, (float *)device);
    OK(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(!memcmp(got, values, sizeof values));

    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    OK(cudaMallocArray(&array, &format, 4, 3));
    OK(cudaMemcpy2DToArray(array, 0, 0, values, 16, 16, 3, cudaMemcpyHostToDevice));
    what = {};
    what.resType = cudaResourceTypeArray;
    what.res.array.array = array;
    how = sampler(cudaFilterModeLinear, cudaReadModeElementType);
    OK(cudaCreateTextureObject(&texture, &what, &how, 0));
    between<<<1, 1>>>(texture, (float *)device);
    OK(cudaMemcpy(got, device, 4, cudaMemcpyDeviceToHost));
    CHECK(got[0] == 0.5f);
    cudaResourceDesc same;
    (void)same;

    uchar4 colours[2][2] = {{{0, 0, 0, 0}, {255, 51, 102, 204}}, {{9, 9, 9, 9}, {8, 8, 8, 8}}};
    format = cudaCreateChannelDesc<uchar4>();
    OK(cudaMallocArray(&array, &format, 2, 2));
    OK(cudaMemcpy2DToArray(array, 0, 0, colours, 8, 8, 2, cudaMemcpyHostToDevice));
    what.res.array.array = array;
    how = sampler(cudaFilterModePoint, cudaReadModeNormalizedFloat);
    how.normalizedCoords = 1;
    OK(cudaCreateTextureObject(&texture, &what, &how, 0));
    normal<<<1, 1>>>(texture, (float4 *)device);
    OK(cudaMemcpy(got, device, 16, cudaMemcpyDeviceToHost));
    CHECK(got[0] == 1.0f && got[1] == 51 / 255.0f && got[3] == 204 / 255.0f);

    float cube[2][2][2];
    for (int i = 0; i < 8; i++) ((float *)cube)[i] = i + 1;
    format = cudaCreateChannelDesc<float>();
    for (int layered = 0; layered < 2; layered++) {
        cudaExtent extent = make_cudaExtent(2, 2, 2);
        OK(cudaMalloc3DArray(&array, &format, extent, layered ? cudaArrayLayered : 0));
        cudaMemcpy3DParms in = {};
        in.srcPtr = make_cudaPitchedPtr(cube, 8, 2, 2);
        in.dstArray = array;
        in.extent = extent;
        in.kind = cudaMemcpyHostToDevice;
        OK(cudaMemcpy3D(&in));
        what.res.array.array = array;
        how = sampler(cudaFilterModePoint, cudaReadModeElementType);
        OK(cudaCreateTextureObject(&texture, &what, &how, 0));
        if (layered) layer<<<1, 1>>>(texture, (float *)device);
        else box<<<1, 1>>>(texture, (float *)device);
        OK(cudaMemcpy(got, device, 4, cudaMemcpyDeviceToHost));
        CHECK(got[0] == cube[1][0][1]);
    }
    return end();
}
