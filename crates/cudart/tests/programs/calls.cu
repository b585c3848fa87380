// Calls: functions that call themselves, by pointers, virtual ones, and room taken of the stack.
#include "check.h"
#include <alloca.h>

__device__ __noinline__ int ackermann(int m, int n) {
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__global__ void recurse(int *out) { out[threadIdx.x] = ackermann(2, threadIdx.x % 8); }

// Sorts in place, by pointers into the caller's own array.
__device__ __noinline__ void sort(int *values, int count) {
    if (count < 2)
        return;
    int pivot = values[count / 2], left = 0, right = count - 1;
    while (left <= right) {
        while (values[left] < pivot)
            left++;
        while (values[right] > pivot)
            right--;
        if (left <= right) {
            int swapped = values[left];
            values[left++] = values[right];
            values[right--] = swapped;
        }
    }
    sort(values, right + 1);
    sort(values + left, count - left);
}

__global__ void sort_all(int *out) {
    int values[16];
    unsigned state = threadIdx.x + 1;
    for (int i = 0; i < 16; i++)
        values[i] = (state = state * 1664525u + 1013904223u) >> 24;
    sort(values, 16);
    int ordered = 1;
    for (int i = 1; i < 16; i++)
        ordered &= values[i - 1] <= values[i];
    out[threadIdx.x] = ordered;
}

typedef int (*function)(int);
__device__ int triple(int x) { return 3 * x; }
__device__ int negate(int x) { return -x; }
__device__ function table[2] = {triple, negate};

__global__ void by_table(int *out) {
    out[threadIdx.x] = table[threadIdx.x % 2](threadIdx.x);
}

__global__ void by_argument(int *out, function f) { out[threadIdx.x] = f(threadIdx.x); }

struct shape {
    __device__ virtual int area() const = 0;
    __device__ virtual ~shape() {}
};
struct square : shape {
    int side;
    __device__ square(int side) : side(side) {}
    __device__ int area() const override { return side * side; }
};
struct strip : shape {
    int length;
    __device__ strip(int length) : length(length) {}
    __device__ int area() const override { return length; }
};

__global__ void make(shape **shapes) {
    int i = threadIdx.x;
    shapes[i] = i % 3 ? (shape *)new square(i) : new strip(i);
}

__global__ void measure(shape **shapes, int *out) {
    out[threadIdx.x] = shapes[threadIdx.x]->area();
    delete shapes[threadIdx.x];
}

__global__ void room(int *out) {
    int count = threadIdx.x % 5 + 1, all = 0;
    int *values = (int *)alloca(count * sizeof *values);
    for (int i = 0; i < count; i++)
        values[i] = i + threadIdx.x;
    for (int i = 0; i < count; i++)
        all += values[i];
    out[threadIdx.x] = all;
}

__device__ __noinline__ int endless(int x) { return x < 0 ? x : endless(x + 1) * 3 + x; }
__global__ void fall(int *out) { *out = endless(1); }

int main(int count, char **arguments) {
    const int n = 64;
    int *out, host[n];
    OK(cudaMalloc(&out, sizeof host));
    auto got = [&] {
        OK(cudaGetLastError());
        OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
        return host;
    };
    recurse<<<1, n>>>(out);
    got();
    for (int i = 0; i < n; i++)
        CHECK(host[i] == 2 * (i % 8) + 3);
    sort_all<<<1, n>>>(out);
    got();
    for (int i = 0; i < n; i++)
        CHECK(host[i] == 1);
    by_table<<<1, n>>>(out);
    got();
    for (int i = 0; i < n; i++)
        CHECK(host[i] == (i % 2 ? -i : 3 * i));
    function f[2];
    OK(cudaMemcpyFromSymbol(f, table, sizeof f));
    by_argument<<<1, n>>>(out, f[1]);
    got();
    for (int i = 0; i < n; i++)
        CHECK(host[i] == -i);
    shape **shapes;
    OK(cudaMalloc(&shapes, n * sizeof *shapes));
    make<<<1, n>>>(shapes);
    measure<<<1, n>>>(shapes, out);
    got();
    for (int i = 0; i < n; i++)
        CHECK(host[i] == (i % 3 ? i * i : i));
    room<<<1, n>>>(out);
    got();
    for (int i = 0; i < n; i++) {
        int k = i % 5 + 1;
        CHECK(host[i] == k * i + k * (k - 1) / 2);
    }
    if (count > 1 && !strcmp(arguments[1], "deep")) {
        fall<<<1, 1>>>(out);
        GIVES(cudaErrorHardwareStackError, cudaDeviceSynchronize());
    }
    return end();
}
