// Launches, what is known of functions, occupancy, errors.
#include "check.h"

struct pair {
    char tag;
    double value;
};

__global__ void arguments(double *out, char a, short b, pair c, float3 d) {
    out[0] = a + b + c.tag + c.value + d.z;
}

extern __shared__ int dynamic[];
__global__ void reverse(int *values) {
    dynamic[threadIdx.x] = values[threadIdx.x];
    __syncthreads();
    values[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}

__global__ void __launch_bounds__(128) bounded(int *out) { out[threadIdx.x] = 1; }

__global__ void shape(int *out) {
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0)
        atomicAdd(out, gridDim.x * 100 + gridDim.y * 10 + gridDim.z);
}

int main() {
    double *out, got;
    OK(cudaMalloc(&out, 4096));
    pair c = {3, 0.5};
    arguments<<<1, 1>>>(out, 1, 2, c, make_float3(0, 0, 4));
    OK(cudaGetLastError());
    OK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got == 10.5);

    char a = 10;
    short b = 20;
    float3 d = make_float3(0, 0, 40);
    void *list[] = {&out, &a, &b, &c, &d};
    OK(cudaLaunchKernel((void *)arguments, dim3(1), dim3(1), list, 0, 0));
    OK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got == 73.5);
    OK(cudaLaunchCooperativeKernel((void *)arguments, dim3(1), dim3(1), list, 0, 0));
    GIVES(cudaErrorCooperativeLaunchTooLarge,
          cudaLaunchCooperativeKernel((void *)arguments, dim3(100000), dim3(1), list, 0, 0));

    int values[64], *device = (int *)out;
    for (int i = 0; i < 64; i++) values[i] = i;
    OK(cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice));
    reverse<<<1, 64, sizeof values>>>(device);
    OK(cudaMemcpy(values, device, sizeof values, cudaMemcpyDeviceToHost));
    CHECK(values[0] == 63 && values[63] == 0);
    OK(cudaMemset(device, 0, 4));
    shape<<<dim3(2, 3, 4), dim3(4, 2, 2)>>>(device);
    OK(cudaMemcpy(values, device, 4, cudaMemcpyDeviceToHost));
    CHECK(values[0] == 24 * 234);

    // What no GPU takes.
    (void)cudaGetLastError();
    bounded<<<1, 2048>>>(device);
    GIVES(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
    GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
    OK(cudaGetLastError());
    bounded<<<0, 32>>>(device);
    GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
    bounded<<<1, 256>>>(device);
    GIVES(cudaErrorInvalidValue, cudaGetLastError());
    reverse<<<1, 64, 1 << 20>>>(device);
    GIVES(cudaErrorInvalidValue, cudaGetLastError());
    GIVES(cudaErrorInvalidDeviceFunction,
          cudaLaunchKernel((void *)main, dim3(1), dim3(1), list, 0, 0));
    (void)cudaGetLastError();

    cudaFuncAttributes known;
    OK(cudaFuncGetAttributes(&known, bounded));
    CHECK(known.maxThreadsPerBlock == 128 && known.numRegs > 0 && known.sharedSizeBytes == 0);
    OK(cudaFuncSetCacheConfig(reverse, cudaFuncCachePreferShared));
    GIVES(cudaErrorInvalidValue,
          cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
    (void)cudaGetLastError();
    int blocks, least, size;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, 0));
    CHECK(blocks >= 1 && blocks <= 32);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 64, 40 << 10));
    CHECK(blocks >= 1 && blocks <= 2);
    OK(cudaOccupancyMaxPotentialBlockSize(&least, &size, reverse, 0, 0));
    CHECK(size % 32 == 0 && size > 0 && least > 0);
    return end();
}
