// A whole CUDA program: the dot product of two vectors, with a check of its result.
//
//     nvcc -cudart shared -arch=compute_75 dot.cu -o dot
//     warploom app -- ./dot
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

constexpr int THREADS = 256;

// Sums the products of a block in shared memory, and adds the sum to the result.
__global__ void dot(const int *a, const int *b, int n, int *result)
{
    __shared__ int sums[THREADS];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? a[i] * b[i] : 0;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(result, sums[0]);
}

int main()
{
    const int n = 10000;
    std::vector<int> a(n), b(n);
    int expected = 0;
    for (int i = 0; i < n; i++) {
        a[i] = i % 7;
        b[i] = i % 11;
        expected += a[i] * b[i];
    }

    int *on_gpu_a, *on_gpu_b, *result, got = -1;
    cudaMalloc(&on_gpu_a, n * sizeof(int));
    cudaMalloc(&on_gpu_b, n * sizeof(int));
    cudaMalloc(&result, sizeof(int));
    cudaMemcpy(on_gpu_a, a.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(on_gpu_b, b.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(result, 0, sizeof(int));
    dot<<<(n + THREADS - 1) / THREADS, THREADS>>>(on_gpu_a, on_gpu_b, n, result);
    cudaMemcpy(&got, result, sizeof(int), cudaMemcpyDeviceToHost);

    printf("dot product %d, expected %d\n", got, expected);
    return got != expected || cudaGetLastError() != cudaSuccess;
}
