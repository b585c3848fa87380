// Streams, events with simulated times, functions of the host, several threads.
#include "check.h"
#include <pthread.h>

__global__ void spin(int *out, int turns) {
    int sum = 0;
    for (int i = 0; i < turns; i++) sum = sum * 3 + out[threadIdx.x];
    out[threadIdx.x] = sum;
}

__global__ void set(int *out, int value) { out[threadIdx.x] = value; }
__global__ void copy(int *to, const int *from) { to[threadIdx.x] = from[threadIdx.x]; }

static float time_of(int turns, int *device) {
    cudaEvent_t start, stop;
    float milliseconds = -1;
    OK(cudaEventCreate(&start));
    OK(cudaEventCreateWithFlags(&stop, cudaEventBlockingSync));
    OK(cudaEventRecord(start));
    spin<<<1, 32>>>(device, turns);
    OK(cudaEventRecord(stop));
    OK(cudaEventSynchronize(stop));
    OK(cudaEventQuery(stop));
    OK(cudaEventElapsedTime(&milliseconds, start, stop));
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(stop));
    return milliseconds;
}

static void CUDART_CB note(void *data) { *(int *)data += 1; }
static void CUDART_CB called(cudaStream_t, cudaError_t status, void *data) {
    *(int *)data += status == cudaSuccess ? 10 : 1000;
}

static void *work(void *data) {
    int number = *(int *)data, got[32], *device;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc(&device, 32 * sizeof(int)));
    for (int turn = 0; turn < 5; turn++) {
        set<<<1, 32, 0, stream>>>(device, 100 * number + turn);
        OK(cudaMemcpyAsync(got, device, sizeof got, cudaMemcpyDeviceToHost, stream));
        OK(cudaStreamSynchronize(stream));
        CHECK(got[31] == 100 * number + turn);
        // Errors are a thread's own.
        GIVES(number % 2 ? cudaErrorInvalidValue : cudaSuccess,
              number % 2 ? cudaFree(&number) : cudaSuccess);
        GIVES(number % 2 ? cudaErrorInvalidValue : cudaSuccess, cudaGetLastError());
    }
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(device));
    return 0;
}

int main() {
    int *device, *other, host[32];
    OK(cudaMalloc(&device, 4096));
    OK(cudaMalloc(&other, 4096));
    OK(cudaMemset(device, 1, 4096));
    float once = time_of(100, device), often = time_of(1000, device);
    CHECK(once >= 0 && often >= once);
    printf("longer: %s\n", often > 5 * once ? "yes" : "no");

    cudaStream_t one, two;
    cudaEvent_t event;
    OK(cudaStreamCreate(&one));
    OK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    spin<<<1, 32, 0, one>>>(device, 200);
    set<<<1, 32, 0, one>>>(device, 77);
    OK(cudaEventRecord(event, one));
    OK(cudaStreamWaitEvent(two, event, 0));
    copy<<<1, 32, 0, two>>>(other, device);
    OK(cudaMemcpyAsync(host, other, sizeof host, cudaMemcpyDeviceToHost, two));
    OK(cudaStreamSynchronize(two));
    CHECK(host[0] == 77 && host[31] == 77);
    OK(cudaStreamQuery(one));
    float none;
    GIVES(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&none, event, event));
    unsigned flags;
    OK(cudaStreamGetFlags(two, &flags));
    CHECK(flags == cudaStreamNonBlocking);

    int calls = 0;
    OK(cudaMemsetAsync(device, 0, 128, one));
    OK(cudaLaunchHostFunc(one, note, &calls));
    OK(cudaStreamAddCallback(one, called, &calls, 0));
    OK(cudaStreamSynchronize(one));
    CHECK(calls == 11);
    OK(cudaStreamDestroy(one));
    OK(cudaStreamDestroy(two));
    GIVES(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(one));
    (void)cudaGetLastError();

    pthread_t threads[4];
    int numbers[4];
    for (int i = 0; i < 4; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], 0, work, &numbers[i]);
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    OK(cudaGetLastError());
    return end();
}
