// Branches, loops, switches, calls, recursion, function pointers, printf, assertions.
extern "C" __device__ void __assertfail(const char *, const char *, unsigned, const char *, size_t);
extern "C" int printf(const char *, ...);

__device__ __noinline__ float helper(float a, int b) { return b > 3 ? a * b : a - b; }
__device__ __noinline__ void out(int *p, double2 v) { *p = (int)(v.x + v.y); }
__device__ __noinline__ int factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1); }
__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
typedef int (*Op)(int);
__device__ Op ops[2] = {twice, square};
struct Shape { __device__ virtual float area() const { return 0; } };
struct Square : Shape { float s; __device__ Square(float s) : s(s) {} __device__ float area() const override { return s * s; } };

extern "C" __global__ void branches(int *o, const int *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
    for (int k = 0; k < n; k++) { if (a[k] == 3) continue; if (a[k] == 9) break; sum += a[k]; }
    while (sum > 100) sum -= o[i];
    do { sum++; } while (sum & 7);
    switch (a[i]) {
    case 0: sum = 3; break;
    case 1: sum *= o[1];
    case 2: sum += o[2]; break;
    case 3: sum -= o[3]; break;
    case 4: sum ^= o[4]; break;
    case 5: sum |= o[5]; break;
    case 6: sum = o[6] / sum; break;
    case 7: sum = helper(sum, i); break;
    case 8: sum = factorial(sum); break;
    default: sum = -1;
    }
    o[i] = sum;
}

extern "C" __global__ void calls(int *o, float *f, int n)
{
    int i = threadIdx.x;
    f[i] = helper(f[i], n);
    out(o, make_double2(f[1], f[2]));
    o[i] = ops[n & 1](o[i]);
    Square square(f[3]);
    Shape *shape = n > 5 ? new Square(f[4]) : &square;
    f[i + 1] = shape->area();
    printf("thread %d has %f\n", i, f[i]);
    if (n == 77) __assertfail("n != 77", "control.cu", 50, "calls", 1);
    if (n == 78) __trap();
    if (n == 79) asm volatile("exit;");
}

extern "C" __global__ void unrolled(float *o, const float *a)
{
    float sum = 0;
#pragma unroll 4
    for (int k = 0; k < 64; k++) sum += a[k] * o[k];
#pragma unroll 1
    for (int k = 0; k < 64; k++) sum = sum * a[k];
    o[threadIdx.x] = sum;
    asm volatile("brkpt;"); asm volatile("pmevent 3;");
}
