// When copies are done: those to memory that is not pinned before the call returns, and those from it
// once their bytes are taken; pinned memory is copied in the order of the stream.
#include "check.h"

__device__ int symbol[32];

__global__ void busy(int *data, int turns) {
    int value = data[threadIdx.x];
    for (int i = 0; i < turns; i++) value += i & 1 ? 1 : -1;
    data[threadIdx.x] = value;
}

static cudaStream_t stream;

static void to_pageable() {
    const size_t width = 128, height = 3, pitch = 512;
    int *device, *host = (int *)calloc(pitch * height, 1);
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    OK(cudaMalloc(&device, pitch * height));
    OK(cudaMallocArray(&array, &format, 32, height));
    OK(cudaMemset(device, 1, pitch * height));
    OK(cudaMemcpy2DToArray(array, 0, 0, device, pitch, width, height, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyToSymbol(symbol, device, width, 0, cudaMemcpyDeviceToDevice));
    const int ones = 0x01010101;
    for (int which = 0; which < 6; which++) {
        memset(host, 0, pitch * height);
        busy<<<1, 32, 0, stream>>>(device, 100);
        cudaMemcpyKind kind = which & 1 ? cudaMemcpyDeviceToHost : cudaMemcpyDefault;
        cudaMemcpy3DParms box = {};
        box.srcPtr = make_cudaPitchedPtr(device, pitch, width, height);
        box.dstPtr = make_cudaPitchedPtr(host, pitch, width, height);
        box.extent = make_cudaExtent(width, height, 1);
        box.kind = kind;
        if (which == 0) OK(cudaMemcpyAsync(host, device, width, kind, stream));
        if (which == 1) OK(cudaMemcpy2DAsync(host, pitch, device, pitch, width, height, kind, stream));
        if (which == 2) OK(cudaMemcpy3DAsync(&box, stream));
        if (which == 3) OK(cudaMemcpyFromSymbolAsync(host, symbol, width, 0, kind, stream));
        if (which == 4)
            OK(cudaMemcpy2DFromArrayAsync(host, pitch, array, 0, 0, width, height, kind, stream));
        if (which == 5) OK(cudaMemcpyAsync(host, device, width, kind, 0));
        CHECK(host[31] == ones);
        if (which == 1 || which == 2 || which == 4) CHECK(host[2 * pitch / 4 + 31] == ones);
    }
    OK(cudaFree(device));
    OK(cudaFreeArray(array));
    free(host);
}

static void from_pageable() {
    int *device, host[32], got[32];
    OK(cudaMalloc(&device, sizeof host));
    OK(cudaMemset(device, 0, sizeof host));
    for (int which = 0; which < 3; which++) {
        for (int i = 0; i < 32; i++) host[i] = 10 + which;
        busy<<<1, 32, 0, stream>>>(device, 1000);
        if (which == 0) OK(cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, stream));
        if (which == 1)
            OK(cudaMemcpy2DAsync(device, 64, host, 64, 64, 2, cudaMemcpyHostToDevice, stream));
        if (which == 2)
            OK(cudaMemcpyToSymbolAsync(symbol, host, sizeof host, 0, cudaMemcpyHostToDevice, stream));
        for (int i = 0; i < 32; i++) host[i] = 99;
        OK(cudaStreamSynchronize(stream));
        if (which < 2) OK(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
        if (which == 2) OK(cudaMemcpyFromSymbol(got, symbol, sizeof got));
        CHECK(got[0] == 10 + which && got[31] == 10 + which);
    }
}

static void pinned() {
    int *device, *other, *host;
    OK(cudaMalloc(&device, 128));
    OK(cudaMalloc(&other, 128));
    OK(cudaMallocHost(&host, 128));
    OK(cudaMemset(device, 2, 128));
    OK(cudaMemset(other, 0, 128));
    host[0] = 7;
    OK(cudaMemcpyAsync(host, device, 128, cudaMemcpyDeviceToHost, stream));
    CHECK(host[0] == 7);
    // What a copy reads that comes behind it in the stream is there.
    OK(cudaMemcpyAsync(other, host, 128, cudaMemcpyHostToDevice, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(host[0] == 0x02020202);
    int got;
    OK(cudaMemcpy(&got, other, 4, cudaMemcpyDeviceToHost));
    CHECK(got == 0x02020202);
    int *registered = (int *)calloc(1, 128);
    OK(cudaHostRegister(registered, 128, cudaHostRegisterDefault));
    OK(cudaMemcpyAsync(registered, device, 128, cudaMemcpyDeviceToHost, stream));
    CHECK(registered[0] == 0);
    OK(cudaStreamSynchronize(stream));
    CHECK(registered[0] == 0x02020202);
}

int main() {
    OK(cudaStreamCreate(&stream));
    to_pageable();
    from_pageable();
    pinned();
    return end();
}
