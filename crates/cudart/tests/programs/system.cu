// What kernels ask of the system: printf, assert.
#include "check.h"
#include <assert.h>

struct pair {
    char tag;
    double value;
};

__global__ void tell(int *counts, const char *where) {
    pair p = {(char)('a' + threadIdx.x), threadIdx.x / 4.0};
    counts[threadIdx.x] = printf("%c=%g in block %u, %s, %5.1f%% %lld %p\n", p.tag, p.value,
                                 blockIdx.x, "a text", p.value, (long long)-1 - threadIdx.x, where);
    if (threadIdx.x == 1)
        printf("no arguments\n");
}

__global__ void many() { printf("%03d %03d\n", blockIdx.x, threadIdx.x); }

__global__ void checked(int most) { assert((int)threadIdx.x < most && "too many"); }

int main(int count, char **arguments) {
    int *counts, host[2] = {};
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    OK(cudaMalloc(&counts, sizeof host));
    printf("before\n");
    tell<<<1, 2>>>(counts, NULL);
    printf("launched\n");
    OK(cudaDeviceSynchronize());
    printf("after\n");
    OK(cudaMemcpy(host, counts, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 7 && host[1] == 7);

    size_t bytes = 0;
    OK(cudaDeviceGetLimit(&bytes, cudaLimitPrintfFifoSize));
    CHECK(bytes == 1 << 20);
    OK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 24));
    many<<<1, 32>>>();
    OK(cudaDeviceSynchronize());

    checked<<<1, 32>>>(32);
    OK(cudaDeviceSynchronize());
    if (count > 1 && !strcmp(arguments[1], "assert")) {
        checked<<<1, 32>>>(30);
        GIVES(cudaErrorAssert, cudaDeviceSynchronize());
        GIVES(cudaErrorAssert, cudaGetLastError());
        GIVES(cudaErrorAssert, cudaFree(counts));
    }
    // Nobody waits for these any more.
    many<<<1, 1>>>();
    return end();
}
