// What goes wrong, and how a process may end: chosen by the first argument.
#include "check.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void set(int *out, int value) { out[threadIdx.x] = value; }

// Reads in front of its memory, too, and hardly cares for what is there.
__global__ void above(int *out) {
    int value = out[(int)threadIdx.x - 32];
    out[threadIdx.x] = value == 123456 ? 8 : 7;
}

__global__ void forever(volatile int *out) {
    while (out[0] != 99) out[1]++;
}

static void handle(int) { exit(4); }
static void CUDART_CB leave(void *) { exit(5); }

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    int *device, host[32];
    if (!strcmp(what, "nothing")) return 0;
    OK(cudaMalloc(&device, sizeof host));
    set<<<1, 32>>>(device, 3);
    OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[31] == 3);
    if (!strcmp(what, "address")) {
        set<<<1, 32>>>(device + 1000, 3);
        GIVES(cudaErrorIllegalAddress, cudaDeviceSynchronize());
        GIVES(cudaErrorIllegalAddress, cudaGetLastError());
        GIVES(cudaErrorIllegalAddress, cudaGetLastError());
        GIVES(cudaErrorIllegalAddress, cudaMalloc(&device, 4));
    } else if (!strcmp(what, "misaligned")) {
        set<<<1, 1>>>((int *)((char *)device + 1), 3);
        GIVES(cudaErrorMisalignedAddress, cudaDeviceSynchronize());
    } else if (!strcmp(what, "page")) {
        // A GPU lets the first of these pass.
        set<<<1, 32>>>(device + 1000, 3);
        OK(cudaDeviceSynchronize());
        set<<<1, 32>>>(device + (64 << 20), 3);
        GIVES(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    } else if (!strcmp(what, "above")) {
        above<<<1, 32>>>(device);
        OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
        CHECK(host[31] == 7);
    } else if (!strcmp(what, "unwritten")) {
        int *more;
        OK(cudaMalloc(&more, 4096));
        above<<<1, 32>>>(more + 32);
        OK(cudaDeviceSynchronize());
    } else if (!strcmp(what, "ignored")) {
        set<<<1, 32>>>(device + 1000, 3);
        return 0;
    } else if (!strcmp(what, "own")) {
        set<<<1, 32>>>(device + 1000, 3);
        return 7;
    } else if (!strcmp(what, "abort")) {
        abort();
    } else if (!strcmp(what, "_exit")) {
        _exit(3);
    } else if (!strcmp(what, "fork")) {
        pid_t child = fork();
        if (!child) {
            GIVES(cudaErrorInitializationError, cudaMalloc(&device, 4));
            exit(wrong);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        set<<<1, 32>>>(device, 4);
        OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
        CHECK(host[0] == 4);
    } else if (!strcmp(what, "signal")) {
        // A handler ends the process inside a call.
        signal(SIGALRM, handle);
        alarm(1);
        forever<<<1, 1>>>(device);
        OK(cudaDeviceSynchronize());
    } else if (!strcmp(what, "leave")) {
        OK(cudaLaunchHostFunc(0, leave, 0));
    } else if (!strcmp(what, "leak")) {
        void *more;
        OK(cudaMalloc(&more, 1 << 20));
        OK(cudaMallocHost(&more, 1 << 20));
        set<<<1, 32>>>(device, 4);
    }
    return end();
}
