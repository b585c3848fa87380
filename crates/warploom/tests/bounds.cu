// Kernels for tests/cli.rs, each bound by another part. Compiled by `nvcc -ptx -arch=compute_75`.

extern "C" __global__ void bandwidth(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" __global__ void compute(float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i, y = i + 1, z = i + 2, w = i + 3;
    for (int k = 0; k < 256; k++) {
        x = x * 1.5f + 0.5f;
        y = y * 1.5f + 0.5f;
        z = z * 1.5f + 0.5f;
        w = w * 1.5f + 0.5f;
    }
    if (i < n)
        c[i] = x + y + z + w;
}

extern "C" __global__ void chain(float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i;
    for (int k = 0; k < 1024; k++)
        x = x * 1.5f + 0.5f;
    if (i < n)
        c[i] = x;
}

extern "C" __global__ void chase(const int *next, int *out, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int p = i;
    for (int k = 0; k < steps; k++)
        p = (p + 4128 + next[p]) & 0xfffff;
    out[i] = p;
}

extern "C" __global__ void conflicts(float *c, int n)
{
    __shared__ float s[2048];
    int t = threadIdx.x;
    for (int k = t; k < 2048; k += blockDim.x)
        s[k] = k;
    __syncthreads();
    float x = 0;
    for (int k = 0; k < 128; k++)
        x += s[(t * 32 + k) & 2047];
    int i = blockIdx.x * blockDim.x + t;
    if (i < n)
        c[i] = x;
}

extern "C" __global__ void strided(const float *a, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[(i * 64) & (n - 1)];
}

extern "C" __global__ void diverge(float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i;
    for (int k = 0; k < 64; k++) {
        switch (threadIdx.x & 7) {
        case 0: x = x * 1.5f + 1; break;
        case 1: x = x * x; break;
        case 2: x = x - 3; break;
        case 3: x = x * 0.5f - 2; break;
        case 4: x = x * x + x; break;
        case 5: x = x * 3 - x * x; break;
        case 6: x = -x * x; break;
        default: x = x + 7;
        }
    }
    if (i < n)
        c[i] = x;
}

extern "C" __global__ void special(float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i, y = i + 1;
    for (int k = 0; k < 128; k++) {
        x = __sinf(x);
        y = __expf(y);
    }
    if (i < n)
        c[i] = x + y;
}

extern "C" __global__ void barriers(float *c, int n)
{
    __shared__ float s[256];
    int t = threadIdx.x;
    float x = t;
    for (int k = 0; k < 16; k++) {
        if (t < 32)
            for (int j = 0; j < 128; j++)
                x = x * 1.5f + 0.25f;
        s[t] = x;
        __syncthreads();
        x += s[(t + 1) & 255];
        __syncthreads();
    }
    int i = blockIdx.x * blockDim.x + t;
    if (i < n)
        c[i] = x;
}

extern "C" __global__ void transpose(float *out, const float *in, int w, int h)
{
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    out[y * h + x] = tile[threadIdx.x][threadIdx.y];
}

// Each lane reads a row of its own; the data fits into L1D: 32 transactions of an access.
extern "C" __global__ void columns(const float *in, float *out, int width)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int x = 0; x < width; x++) {
        float value = in[(y * 64 + x) & 2047];
        sum += value * value + 0.5f * value;
    }
    out[y] = sum;
}
