// The method of conjugate gradients (Hestenes and Stiefel, 1952) for Poisson's equation on a square
// grid: seven launches in each iteration, none of which waits for the host.
//
//     nvcc -cudart shared -arch=compute_75 cg.cu -o cg
//     warploom app --sample-error 2% -- ./cg 256 100
//
// The arguments are the number of points on a side and the number of iterations. The check computes
// the residual of the solution on the host and compares it with the one that the method carried
// along.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <utility>
#include <vector>

constexpr int THREADS = 256;

// The value at a point, which is zero outside of the grid.
__host__ __device__ float at(const float *v, int n, int x, int y)
{
    return x < 0 || y < 0 || x >= n || y >= n ? 0.0f : v[y * n + x];
}

// The five-point difference operator at a point.
__host__ __device__ float laplacian(const float *v, int n, int x, int y)
{
    return 4.0f * v[y * n + x] - at(v, n, x - 1, y) - at(v, n, x + 1, y) - at(v, n, x, y - 1) -
           at(v, n, x, y + 1);
}

__global__ void apply(const float *p, float *q, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n)
        q[y * n + x] = laplacian(p, n, x, y);
}

// The sum of the values of a block's threads, for its first thread.
__device__ float block_sum(float value)
{
    __shared__ float sums[THREADS];
    sums[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    return sums[0];
}

__global__ void dot(const float *a, const float *b, float *parts, int count)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    float sum = block_sum(i < count ? a[i] * b[i] : 0.0f);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

// One block sums the parts.
__global__ void finish(const float *parts, int count, float *result)
{
    float own = 0.0f;
    for (int i = threadIdx.x; i < count; i += THREADS)
        own += parts[i];
    float sum = block_sum(own);
    if (threadIdx.x == 0)
        *result = sum;
}

__global__ void update(float *x, float *r, const float *p, const float *q, const float *rr,
                       const float *pq, int count)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        float alpha = *rr / *pq;
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
    }
}

__global__ void direction(float *p, const float *r, const float *rr_new, const float *rr, int count)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < count)
        p[i] = r[i] + *rr_new / *rr * p[i];
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 64;
    const int iterations = argc > 2 ? atoi(argv[2]) : 10;
    const int count = n * n, blocks = (count + THREADS - 1) / THREADS;
    const size_t bytes = count * sizeof(float);
    std::vector<float> b(count), x(count);
    unsigned state = 1;
    for (float &value : b) {
        state = state * 1664525u + 1013904223u;
        value = (state >> 8) / 16777216.0f - 0.5f;
    }

    float *on_gpu, *parts, *scalars;
    cudaMalloc(&on_gpu, 4 * bytes);
    cudaMalloc(&parts, blocks * sizeof(float));
    cudaMalloc(&scalars, 3 * sizeof(float));
    float *gx = on_gpu, *r = gx + count, *p = r + count, *q = p + count;
    float *rr = scalars, *rr_new = scalars + 1, *pq = scalars + 2;
    cudaMemset(gx, 0, bytes);
    cudaMemcpy(r, b.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(p, b.data(), bytes, cudaMemcpyHostToDevice);

    dim3 tile(32, 8), tiles((n + 31) / 32, (n + 7) / 8);
    dot<<<blocks, THREADS>>>(r, r, parts, count);
    finish<<<1, THREADS>>>(parts, blocks, rr);
    for (int i = 0; i < iterations; i++) {
        apply<<<tiles, tile>>>(p, q, n);
        dot<<<blocks, THREADS>>>(p, q, parts, count);
        finish<<<1, THREADS>>>(parts, blocks, pq);
        update<<<blocks, THREADS>>>(gx, r, p, q, rr, pq, count);
        dot<<<blocks, THREADS>>>(r, r, parts, count);
        finish<<<1, THREADS>>>(parts, blocks, rr_new);
        direction<<<blocks, THREADS>>>(p, r, rr_new, rr, count);
        std::swap(rr, rr_new);
    }

    float carried = -1.0f;
    cudaMemcpy(&carried, rr, sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(x.data(), gx, bytes, cudaMemcpyDeviceToHost);
    double of_b = 0.0, of_residual = 0.0;
    for (int i = 0; i < count; i++) {
        double residual = b[i] - laplacian(x.data(), n, i % n, i / n);
        of_b += double(b[i]) * b[i];
        of_residual += residual * residual;
    }
    double relative = std::sqrt(of_residual / of_b), by_method = std::sqrt(carried / of_b);
    printf("%d x %d points, %d iterations: residual %.3e, carried along %.3e\n", n, n, iterations,
           relative, by_method);
    return std::fabs(relative - by_method) > 1e-3 || cudaGetLastError() != cudaSuccess;
}
