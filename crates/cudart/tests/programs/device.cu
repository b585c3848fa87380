// The device: properties, attributes, limits, versions, names of errors, what is not supported.
#include "check.h"

// Architecture of the PTX, as the programs of a release are built.
#define BUILT_FOR (CUDART_VERSION < 12000 ? 50 : 75)
#include <cuda_profiler_api.h>

__global__ void nothing() {}

int main() {
    int count, device = 9, value, version;
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 1);
    OK(cudaSetDevice(0));
    GIVES(cudaErrorInvalidDevice, cudaSetDevice(1));
    GIVES(cudaErrorInvalidDevice, cudaGetLastError());
    OK(cudaGetDevice(&device));
    CHECK(device == 0);

    cudaDeviceProp is;
    memset(&is, 0xee, sizeof is);
    OK(cudaGetDeviceProperties(&is, 0));
    printf("%s %d.%d\n", is.name, is.major, is.minor);
    CHECK(is.warpSize == 32 && is.maxThreadsPerBlock == 1024 && is.maxGridSize[1] == 65535);
    CHECK(is.multiProcessorCount == 15 && is.totalGlobalMem == (size_t)4 << 30);
    CHECK(is.sharedMemPerBlock == 48 << 10 && is.regsPerBlock == 32768);
    CHECK(is.surfaceAlignment == 512 && is.managedMemory == 1 && is.ECCEnabled == 0);
    CHECK(is.maxThreadsPerMultiProcessor == 1536 && is.memoryBusWidth == 384);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    CHECK(value == is.multiProcessorCount);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK(value == is.major);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrL2CacheSize, 0));
    CHECK(value == is.l2CacheSize && value > 0);
    GIVES(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0));
    (void)cudaGetLastError();

    OK(cudaRuntimeGetVersion(&version));
    CHECK(version / 1000 == CUDART_VERSION / 1000);
    OK(cudaDriverGetVersion(&value));
    CHECK(value >= version);
    size_t bytes;
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
    OK(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize));
    CHECK(bytes == 1 << 20);
    GIVES(cudaErrorUnsupportedLimit, cudaDeviceGetLimit(&bytes, (cudaLimit)99));
    (void)cudaGetLastError();
    OK(cudaProfilerStart());
    OK(cudaProfilerStop());
    char bus[16];
    OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    OK(cudaDeviceGetByPCIBusId(&device, bus));
    CHECK(device == 0);
    CHECK(!strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"));
    CHECK(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
    CHECK(cudaGetErrorName(cudaSuccess) == cudaGetErrorName(cudaSuccess));

    void *memory;
    cudaIpcMemHandle_t handle;
    OK(cudaMalloc(&memory, 4));
    GIVES(cudaErrorNotSupported, cudaIpcGetMemHandle(&handle, memory));
    GIVES(cudaErrorNotSupported, cudaIpcGetMemHandle(&handle, memory));
    GIVES(cudaErrorNotSupported, cudaGetLastError());

    // Libraries choose their kernels by these.
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, nothing));
    CHECK(attributes.ptxVersion == BUILT_FOR && attributes.binaryVersion >= BUILT_FOR);
    nothing<<<1, 1>>>();
    OK(cudaDeviceReset());
    OK(cudaGetLastError());
    return end();
}
