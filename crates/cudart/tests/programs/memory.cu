// Memory: allocation of every kind, copies of every kind, fills, symbols, what is known of pointers.
#include "check.h"

__constant__ int table[64];
__device__ int counter = 5;
__managed__ int both = 7;

__global__ void add_table(int *out) {
    int i = threadIdx.x;
    out[i] = table[i] + counter + both;
    __syncthreads();
    if (i == 0) both += 100;
}

__global__ void increment(int *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i]++;
}

struct node {
    int value;
    node *next;
};

__global__ void walk(node *list) {
    for (; list; list = list->next) list->value *= 2;
}

static void plain() {
    int host[64], back[64], *device, *other;
    for (int i = 0; i < 64; i++) host[i] = i * i;
    OK(cudaMalloc(&device, sizeof host));
    OK(cudaMalloc(&other, sizeof host));
    OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(other, device, sizeof host, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(back, other, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(!memcmp(host, back, sizeof host));
    OK(cudaMemset(other, 0x11, 4 * sizeof(int)));
    OK(cudaMemcpy(back, other, sizeof host, cudaMemcpyDefault));
    CHECK(back[3] == 0x11111111 && back[4] == 16);
    OK(cudaMemcpy(back, host, sizeof host, cudaMemcpyHostToHost));
    CHECK(back[0] == 0);
    OK(cudaMemcpyAsync(back, other, sizeof host, cudaMemcpyDeviceToHost, 0));
    OK(cudaDeviceSynchronize());
    CHECK(back[63] == 63 * 63);
    // What does not fit, points nowhere or goes nowhere.
    GIVES(cudaErrorInvalidValue, cudaMemcpy(device, host, sizeof host + 1, cudaMemcpyHostToDevice));
    GIVES(cudaErrorInvalidValue, cudaMemcpy(0, host, 4, cudaMemcpyHostToDevice));
    GIVES(cudaErrorInvalidValue, cudaMemcpy(host, back, 4, cudaMemcpyHostToDevice));
    GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device, host, 4, (cudaMemcpyKind)9));
    GIVES(cudaErrorInvalidValue, cudaFree((char *)device + 4));
    GIVES(cudaErrorMemoryAllocation, cudaMalloc(&device, (size_t)1 << 50));
    GIVES(cudaErrorMemoryAllocation, cudaGetLastError());
    OK(cudaGetLastError());
    OK(cudaFree(0));
    OK(cudaFree(other));
    GIVES(cudaErrorInvalidValue, cudaFree(other));
    (void)cudaGetLastError();
    size_t left, all;
    OK(cudaMemGetInfo(&left, &all));
    CHECK(left < all);
}

static void planes() {
    int host[6][10], back[6][10], *device;
    size_t pitch;
    for (int i = 0; i < 60; i++) host[i / 10][i % 10] = i;
    OK(cudaMallocPitch(&device, &pitch, sizeof host[0], 6));
    CHECK(pitch >= sizeof host[0] && pitch % 32 == 0);
    OK(cudaMemcpy2D(device, pitch, host, sizeof host[0], sizeof host[0], 6, cudaMemcpyHostToDevice));
    OK(cudaMemset2D((char *)device + pitch, pitch, 0xff, 8, 2));
    memset(back, 0, sizeof back);
    OK(cudaMemcpy2DAsync(back, sizeof back[0], device, pitch, sizeof host[0], 6,
                         cudaMemcpyDeviceToHost, 0));
    OK(cudaStreamSynchronize(0));
    CHECK(back[0][9] == 9 && back[1][0] == -1 && back[2][1] == -1 && back[2][2] == 22);
    CHECK(back[5][9] == 59);
    GIVES(cudaErrorInvalidPitchValue,
          cudaMemcpy2D(device, 8, host, 40, 40, 6, cudaMemcpyHostToDevice));
    (void)cudaGetLastError();
    OK(cudaFree(device));
}

static void boxes() {
    float host[3][4][5], back[3][4][5];
    for (int i = 0; i < 60; i++) ((float *)host)[i] = i;
    cudaExtent extent = make_cudaExtent(5 * sizeof(float), 4, 3);
    cudaPitchedPtr device;
    OK(cudaMalloc3D(&device, extent));
    OK(cudaMemset3D(device, 0, extent));
    cudaMemcpy3DParms in = {};
    in.srcPtr = make_cudaPitchedPtr(host, 5 * sizeof(float), 5, 4);
    in.dstPtr = device;
    in.extent = make_cudaExtent(5 * sizeof(float), 4, 2);
    in.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&in));
    cudaMemcpy3DParms out = {};
    out.srcPtr = device;
    out.dstPtr = make_cudaPitchedPtr(back, 5 * sizeof(float), 5, 4);
    out.extent = extent;
    out.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3DAsync(&out, 0));
    OK(cudaDeviceSynchronize());
    CHECK(back[1][3][4] == 39 && back[2][0][0] == 0 && back[2][3][4] == 0);
    OK(cudaFree(device.ptr));
}

static void arrays() {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    float host[4][8], back[4][8];
    for (int i = 0; i < 32; i++) host[i / 8][i % 8] = i;
    OK(cudaMallocArray(&array, &format, 8, 4));
    OK(cudaMemcpy2DToArray(array, 0, 0, host, 32, 32, 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DFromArray(back, 32, array, 0, 0, 32, 4, cudaMemcpyDeviceToHost));
    CHECK(!memcmp(host, back, sizeof host));
    OK(cudaMemcpy2DFromArray(back, 32, array, 4, 1, 8, 2, cudaMemcpyDeviceToHost));
    CHECK(back[0][0] == 9 && back[1][1] == 18);
    GIVES(cudaErrorInvalidValue,
          cudaMemcpy2DFromArray(back, 32, array, 4, 1, 32, 2, cudaMemcpyDeviceToHost));
    (void)cudaGetLastError();
    cudaChannelFormatDesc got;
    cudaExtent extent;
    unsigned flags;
    OK(cudaArrayGetInfo(&got, &extent, &flags, array));
    CHECK(got.x == 32 && got.f == cudaChannelFormatKindFloat && extent.width == 8);
    CHECK(extent.height == 4 && extent.depth == 0 && flags == 0);
    OK(cudaFreeArray(array));
    GIVES(cudaErrorInvalidResourceHandle, cudaFreeArray(array));
    (void)cudaGetLastError();
}

static void symbols() {
    int values[64], *device, *address;
    size_t size;
    for (int i = 0; i < 64; i++) values[i] = 1000 * i;
    OK(cudaMemcpyToSymbol(table, values, sizeof values));
    OK(cudaGetSymbolSize(&size, table));
    CHECK(size == sizeof values);
    OK(cudaGetSymbolAddress((void **)&address, counter));
    int one = 1, got;
    OK(cudaMemcpyFromSymbol(&got, counter, sizeof got));
    CHECK(got == 5);
    OK(cudaMemcpy(address, &one, sizeof one, cudaMemcpyHostToDevice));
    GIVES(cudaErrorInvalidSymbol, cudaGetSymbolSize(&size, &one));
    GIVES(cudaErrorInvalidValue, cudaMemcpyToSymbol(table, values, 4, sizeof values));
    (void)cudaGetLastError();
    CHECK(both == 7);
    both = 20;
    OK(cudaMalloc(&device, sizeof values));
    add_table<<<1, 64>>>(device);
    OK(cudaMemcpy(values, device, sizeof values, cudaMemcpyDeviceToHost));
    CHECK(values[0] == 21 && values[63] == 63021);
    CHECK(both == 120);
    OK(cudaFree(device));
}

static void shared() {
    int *pinned, *mapped, *seen, own[1024] = {0};
    OK(cudaMallocHost(&pinned, 64 * sizeof(int)));
    for (int i = 0; i < 64; i++) pinned[i] = i;
    increment<<<1, 64>>>(pinned, 64);
    OK(cudaDeviceSynchronize());
    CHECK(pinned[0] == 1 && pinned[63] == 64);
    OK(cudaHostAlloc(&mapped, 3000 * sizeof(int), cudaHostAllocMapped));
    mapped[2999] = 41;
    OK(cudaHostGetDevicePointer((void **)&seen, mapped, 0));
    increment<<<3, 1000>>>(seen, 3000);
    OK(cudaDeviceSynchronize());
    CHECK(mapped[2999] == 42 && mapped[0] == 1);
    OK(cudaHostRegister(own, sizeof own, cudaHostRegisterMapped));
    OK(cudaHostGetDevicePointer((void **)&seen, own, 0));
    increment<<<1, 1024>>>(seen, 1024);
    OK(cudaDeviceSynchronize());
    CHECK(own[0] == 1 && own[1023] == 1);
    OK(cudaHostUnregister(own));
    GIVES(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own));
    (void)cudaGetLastError();

    node *list;
    OK(cudaMallocManaged(&list, 4 * sizeof(node)));
    for (int i = 0; i < 4; i++) {
        list[i].value = i;
        list[i].next = i < 3 ? &list[i + 1] : 0;
    }
    walk<<<1, 1>>>(list);
    OK(cudaDeviceSynchronize());
    CHECK(list[3].value == 6);
    list[3].value = 10;
    walk<<<1, 1>>>(list + 3);
    OK(cudaDeviceSynchronize());
    CHECK(list[3].value == 20 && list[2].value == 4);

    cudaPointerAttributes known;
    OK(cudaPointerGetAttributes(&known, list));
    CHECK(known.type == cudaMemoryTypeManaged && known.devicePointer == list);
    OK(cudaPointerGetAttributes(&known, pinned + 5));
    CHECK(known.type == cudaMemoryTypeHost);
    OK(cudaPointerGetAttributes(&known, own));
    CHECK(known.type == cudaMemoryTypeUnregistered);
    OK(cudaFree(list));
    OK(cudaFreeHost(pinned));
    OK(cudaFreeHost(mapped));
}

int main() {
    plain();
    planes();
    boxes();
    arrays();
    symbols();
    shared();
    return end();
}
