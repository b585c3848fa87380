// Memory that kernels take themselves: malloc, free, new, delete.
#include "check.h"

struct node {
    int value;
    node *next;
    __device__ node(int value, node *next) : value(value), next(next) {}
    __device__ ~node() { value = -1; }
};

__global__ void grow(node **lists, int length) {
    node *list = NULL;
    for (int i = 0; i < length; i++)
        list = new node(threadIdx.x * i, list);
    lists[threadIdx.x] = list;
}

__global__ void sum(node **lists, int *sums) {
    int all = 0;
    for (node *list = lists[threadIdx.x]; list;) {
        node *next = list->next;
        all += list->value;
        delete list;
        list = next;
    }
    sums[threadIdx.x] = all;
}

__global__ void too_much(void **out, size_t bytes) { *out = malloc(bytes); }

__global__ void wrong_free(int *what) { free(what); }

int main(int count, char **arguments) {
    node **lists;
    int *sums, host[64];
    void **out, *got;
    size_t bytes = 0;
    OK(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize));
    CHECK(bytes == 8 << 20);
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
    OK(cudaMalloc(&lists, 64 * sizeof *lists));
    OK(cudaMalloc(&sums, sizeof host));
    OK(cudaMalloc(&out, sizeof *out));
    for (int round = 0; round < 2; round++) {
        grow<<<1, 64>>>(lists, 10);
        sum<<<1, 64>>>(lists, sums);
        OK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
        for (int i = 0; i < 64; i++)
            CHECK(host[i] == 45 * i);
    }
    for (size_t most : {(size_t)1 << 20, ((size_t)1 << 20) + 1}) {
        too_much<<<1, 1>>>(out, most);
        OK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
        CHECK((got != NULL) == (most == 1 << 20));
    }
    GIVES(cudaErrorInvalidValue, cudaDeviceSetLimit(cudaLimitMallocHeapSize, 2 << 20));
    OK(cudaGetLastError() == cudaErrorInvalidValue ? cudaSuccess : cudaErrorUnknown);
    if (count > 1 && !strcmp(arguments[1], "wrong")) {
        wrong_free<<<1, 1>>>(sums);
        GIVES(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    }
    return end();
}
