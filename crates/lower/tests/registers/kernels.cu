// Kernels of many kinds, to compare the estimate of registers with ptxas's figures (ptxas.txt).
// kernels.ptx: NVRTC 12.9, compute_50.
extern "C" {
typedef unsigned int u32;
typedef unsigned long long u64;
__global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void bfs(const int* off, const int* adj, int* dist, int lvl, int n, int* chg) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n && dist[v] == lvl) {
        for (int e = off[v]; e < off[v + 1]; e++) {
            int u = adj[e];
            if (dist[u] < 0) {
                dist[u] = lvl + 1;
                *chg = 1;
            }
        }
    }
}
__global__ void spmv(int n, const int* rp, const int* ci, const float* va, const float* x,
                     float* y) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        float s = 0;
        for (int j = rp[r]; j < rp[r + 1]; j++) s += va[j] * x[ci[j]];
        y[r] = s;
    }
}
__global__ void reduce(const float* in, float* out, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x * 2 + t;
    float m = i < n ? in[i] : 0;
    if (i + blockDim.x < n) m += in[i + blockDim.x];
    s[t] = m;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 32; k >>= 1) {
        if (t < k) s[t] = m = m + s[t + k];
        __syncthreads();
    }
    if (t < 32) {
        m += s[t + 32];
        for (int o = 16; o > 0; o /= 2) m += __shfl_down_sync(~0u, m, o);
    }
    if (t == 0) out[blockIdx.x] = m;
}
__global__ void histogram(const unsigned char* d, int n, u32* h) {
    __shared__ u32 s[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&s[d[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&h[i], s[i]);
}
__device__ float cnd(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c =
        0.39894228f * __expf(-0.5f * d * d) *
        (k * (0.31938153f +
              k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1 - c : c;
}
__global__ void blackscholes(float* call, float* put, const float* S, const float* X,
                             const float* T, float R, float V, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        float s = S[i], x = X[i], t = T[i];
        float sq = sqrtf(t);
        float d1 = (logf(s / x) + (R + 0.5f * V * V) * t) / (V * sq), d2 = d1 - V * sq;
        float a = cnd(d1), b = cnd(d2), e = expf(-R * t);
        call[i] = s * a - x * e * b;
        put[i] = x * e * (1 - b) - s * (1 - a);
    }
}
__global__ void mandel(int* o, int w, int h, float x0, float y0, float sc, int it) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float cr = x0 + x * sc, ci = y0 + y * sc, zr = 0, zi = 0;
    int k = 0;
    while (k < it) {
        float a = zr * zr, b = zi * zi;
        if (a + b > 4) break;
        zi = 2 * zr * zi + ci;
        zr = a - b + cr;
        k++;
    }
    o[y * w + x] = k;
}
__global__ void sobel(const unsigned char* in, unsigned char* out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
    int g = 0, k = 0;
    int a = in[(y - 1) * w + x - 1], b = in[(y - 1) * w + x], c = in[(y - 1) * w + x + 1],
        d = in[y * w + x - 1], f = in[y * w + x + 1], p = in[(y + 1) * w + x - 1],
        q = in[(y + 1) * w + x], r = in[(y + 1) * w + x + 1];
    g = c + 2 * f + r - a - 2 * d - p;
    k = p + 2 * q + r - a - 2 * b - c;
    int m = abs(g) + abs(k);
    out[y * w + x] = m > 255 ? 255 : m;
}
__global__ void gemm4(const float* A, const float* B, float* C, int n) {
    __shared__ float a[64][17], b[16][64];
    float c[4][4] = {};
    int tx = threadIdx.x, ty = threadIdx.y;
    int t = ty * 16 + tx;
    for (int k = 0; k < n; k += 16) {
        for (int i = 0; i < 4; i++) {
            int e = t + i * 256;
            a[e / 16][e % 16] = A[(blockIdx.y * 64 + e / 16) * n + k + e % 16];
            b[e / 64][e % 64] = B[(k + e / 64) * n + blockIdx.x * 64 + e % 64];
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < 16; l++) {
            float x[4], y[4];
            for (int i = 0; i < 4; i++) {
                x[i] = a[ty * 4 + i][l];
                y[i] = b[l][tx * 4 + i];
            }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) c[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            C[(blockIdx.y * 64 + ty * 4 + i) * n + blockIdx.x * 64 + tx * 4 + j] = c[i][j];
}
__global__ void dgemm(const double* A, const double* B, double* C, int n) {
    __shared__ double a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
    double s = 0;
    for (int k = 0; k < n; k += 16) {
        a[ty][tx] = A[r * n + k + tx];
        b[ty][tx] = B[(k + ty) * n + c];
        __syncthreads();
        for (int l = 0; l < 16; l++) s += a[ty][l] * b[l][tx];
        __syncthreads();
    }
    C[r * n + c] = s;
}
__global__ void bitonic(u32* d, int j, int k) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 x = i ^ j;
    if (x > i) {
        u32 a = d[i], b = d[x];
        if (((i & k) == 0) == (a > b)) {
            d[i] = b;
            d[x] = a;
        }
    }
}
__global__ void stencil3d(const float* in, float* out, int nx, int ny, int nz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    int s = nx * ny;
    float b = in[j * nx + i], c = in[s + j * nx + i];
    for (int k = 1; k < nz - 1; k++) {
        float t = in[(k + 1) * s + j * nx + i];
        out[k * s + j * nx + i] =
            0.4f * c + 0.1f * (b + t + in[k * s + j * nx + i - 1] + in[k * s + j * nx + i + 1] +
                               in[k * s + (j - 1) * nx + i] + in[k * s + (j + 1) * nx + i]);
        b = c;
        c = t;
    }
}
__global__ void kmeans(const float* f, const float* c, int* m, int n, int nf, int nc) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int best = -1;
    float bd = 3.4e38f;
    for (int k = 0; k < nc; k++) {
        float d = 0;
        for (int j = 0; j < nf; j++) {
            float t = f[j * n + i] - c[k * nf + j];
            d += t * t;
        }
        if (d < bd) {
            bd = d;
            best = k;
        }
    }
    m[i] = best;
}
__global__ void sha(const u32* in, u32* out) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 w[16];
    for (int k = 0; k < 16; k++) w[k] = in[i * 16 + k];
    u32 a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476, e = 0xc3d2e1f0;
#pragma unroll
    for (int t = 0; t < 80; t++) {
        u32 x;
        if (t < 16)
            x = w[t];
        else {
            x = w[(t - 3) & 15] ^ w[(t - 8) & 15] ^ w[(t - 14) & 15] ^ w[t & 15];
            x = (x << 1) | (x >> 31);
            w[t & 15] = x;
        }
        u32 f = t < 20   ? (b & c) | (~b & d)
                : t < 40 ? b ^ c ^ d
                : t < 60 ? (b & c) | (b & d) | (c & d)
                         : b ^ c ^ d;
        u32 kk = t < 20 ? 0x5a827999 : t < 40 ? 0x6ed9eba1 : t < 60 ? 0x8f1bbcdc : 0xca62c1d6;
        u32 tt = ((a << 5) | (a >> 27)) + f + e + kk + x;
        e = d;
        d = c;
        c = (b << 30) | (b >> 2);
        b = a;
        a = tt;
    }
    out[i * 5] = a;
    out[i * 5 + 1] = b;
    out[i * 5 + 2] = c;
    out[i * 5 + 3] = d;
    out[i * 5 + 4] = e;
}
__global__ void fft8(float2* d, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float2 a[8];
    for (int k = 0; k < 8; k++) a[k] = d[i + k * n];
#define B(p, q)                \
    {                          \
        float2 t = a[p];       \
        a[p].x += a[q].x;      \
        a[p].y += a[q].y;      \
        a[q].x = t.x - a[q].x; \
        a[q].y = t.y - a[q].y; \
    }
    B(0, 4)
    B(1, 5) B(2, 6) B(3, 7) B(0, 2) B(1, 3) B(4, 6) B(5, 7) B(0, 1) B(2, 3) B(4, 5)
        B(6, 7) for (int k = 0; k < 8; k++) {
        float s, c;
        __sincosf(-6.2831853f * k * i / (8 * n), &s, &c);
        float2 t;
        t.x = a[k].x * c - a[k].y * s;
        t.y = a[k].x * s + a[k].y * c;
        d[i + k * n] = t;
    }
}
__global__ void transposet(const float* in, float* out, int w, int h) {
    __shared__ float t[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) t[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * h + x] = t[threadIdx.x][threadIdx.y + j];
}
__global__ void lbm(const float* s, float* d, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float f[19];
    for (int k = 0; k < 19; k++) f[k] = s[k * n + i];
    float rho = 0, ux = 0, uy = 0, uz = 0;
    for (int k = 0; k < 19; k++) rho += f[k];
    ux = f[1] - f[2] + f[7] + f[8] - f[9] - f[10] + f[11] - f[12] + f[13] - f[14];
    uy = f[3] - f[4] + f[7] - f[8] + f[9] - f[10] + f[15] + f[16] - f[17] - f[18];
    uz = f[5] - f[6] + f[11] + f[12] - f[13] - f[14] + f[15] - f[16] + f[17] - f[18];
    ux /= rho;
    uy /= rho;
    uz /= rho;
    float u2 = 1.5f * (ux * ux + uy * uy + uz * uz);
    for (int k = 0; k < 19; k++) {
        float cu = 3 * ((k & 1) * ux + ((k >> 1) & 1) * uy + ((k >> 2) & 1) * uz);
        d[k * n + i] = f[k] - 1.95f * (f[k] - rho * (1.0f / 36) * (1 + cu + .5f * cu * cu - u2));
    }
}
__global__ void montecarlo(float* o, u64 seed, int it) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 s = seed + i * 6364136223846793005ull;
    int h = 0;
    for (int k = 0; k < it; k++) {
        s = s * 6364136223846793005ull + 1442695040888963407ull;
        float x = (u32)(s >> 33) * (1.0f / 2147483648.0f);
        s = s * 6364136223846793005ull + 1442695040888963407ull;
        float y = (u32)(s >> 33) * (1.0f / 2147483648.0f);
        h += x * x + y * y < 1;
    }
    o[i] = 4.0f * h / it;
}
__constant__ float kern[49];
__global__ void conv7(const float* in, float* out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
    for (int j = -3; j <= 3; j++)
        for (int i = -3; i <= 3; i++) {
            int xx = min(max(x + i, 0), w - 1), yy = min(max(y + j, 0), h - 1);
            s += kern[(j + 3) * 7 + i + 3] * in[yy * w + xx];
        }
    out[y * w + x] = s;
}
__global__ void softmax(const float* in, float* out, int n) {
    __shared__ float s[32];
    const float* r = in + (u64)blockIdx.x * n;
    float m = -1e30f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, r[i]);
    for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = m;
    __syncthreads();
    m = s[0];
    for (int i = 1; i < blockDim.x / 32; i++) m = fmaxf(m, s[i]);
    __syncthreads();
    float t = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) t += expf(r[i] - m);
    for (int o = 16; o; o /= 2) t += __shfl_xor_sync(~0u, t, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = t;
    __syncthreads();
    t = 0;
    for (int i = 0; i < blockDim.x / 32; i++) t += s[i];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[(u64)blockIdx.x * n + i] = expf(r[i] - m) / t;
}
__global__ void dpow(const double* x, const double* y, double* o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) o[i] = pow(x[i], y[i]) + exp(x[i]) * sin(y[i]);
}
__global__ void trig(const float* x, float* o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) o[i] = sinf(x[i]) + cosf(x[i]) * tanf(x[i]) + powf(x[i], 1.3f);
}
__global__ void divmod(const int* a, const int* b, int* o, const u64* p, u64* q, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        o[i] = a[i] / b[i] + a[i] % b[i];
        q[i] = p[i] / (b[i] + 1ull) + p[i] % 77;
    }
}
__global__ void locals(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int a[32];
    for (int k = 0; k < 32; k++) a[k] = in[i * 32 + k];
    int s = 0;
    for (int k = 0; k < n; k++) s += a[in[k] & 31]++;
    out[i] = s + a[in[i] & 31];
}
__device__ __noinline__ int helper(int a, int b, float* p) {
    *p = a * 0.5f;
    return a * b + 3;
}
__global__ void calls(int* o, int n) {
    int i = threadIdx.x;
    float f;
    int r = helper(i, n, &f);
    if (r & 1) r += helper(r, i, &f);
    o[i] = r + (int)f;
}
__global__ void sw(int* o, const int* in) {
    int i = threadIdx.x;
    int x = in[i];
    switch (x) {
        case 0:
            o[i] = 3;
            break;
        case 1:
            o[i] = x * x + 7;
            break;
        case 2:
            o[i] = x / 3;
            break;
        case 3:
            o[i] = i * x;
            break;
        case 4:
            o[i] = i ^ x;
            break;
        case 5:
            o[i] = i | 5;
            break;
        case 6:
            o[i] = i & x;
            break;
        case 7:
            o[i] = __popc(i);
            break;
        default:
            o[i] = -1;
    }
}
struct Big {
    int a[10];
    float b;
    double c;
};
__global__ void bystruct(Big s, int* o, int k) { o[threadIdx.x] = s.a[k] + (int)s.b + (int)s.c; }
__global__ void atomics(int* a, float* f, u64* l, double* d, u32* u) {
    int i = threadIdx.x;
    atomicAdd(a, i);
    atomicMax(a + 1, i);
    atomicMin(a + 2, i);
    atomicExch(a + 3, i);
    atomicCAS(a + 4, i, i + 1);
    atomicAnd(u, i);
    atomicOr(u + 1, i);
    atomicXor(u + 2, i);
    atomicInc(u + 3, i);
    atomicDec(u + 4, i);
    atomicAdd(f, 1.0f);
    atomicAdd(l, (u64)i);
    f[i] = atomicAdd(f + 1, 2.0f);
}
__global__ void gemm8(const float* A, const float* B, float* C, int n) {
    __shared__ float a[8][128], b[8][128];
    float c[8][8] = {};
    int t = threadIdx.x;
    int tx = t % 16, ty = t / 16;
    for (int k = 0; k < n; k += 8) {
        for (int i = 0; i < 4; i++) {
            int e = t + i * 256;
            a[e / 128][e % 128] = A[(k + e / 128) * n + blockIdx.y * 128 + e % 128];
            b[e / 128][e % 128] = B[(k + e / 128) * n + blockIdx.x * 128 + e % 128];
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < 8; l++) {
            float x[8], y[8];
            for (int i = 0; i < 8; i++) {
                x[i] = a[l][ty * 8 + i];
                y[i] = b[l][tx * 8 + i];
            }
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 8; j++) c[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            C[(blockIdx.y * 128 + ty * 8 + i) * n + blockIdx.x * 128 + tx * 8 + j] = c[i][j];
}
__global__ void nn(const float2* l, float* d, int n, float la, float lo) {
    int g = blockDim.x * (gridDim.x * blockIdx.y + blockIdx.x) + threadIdx.x;
    if (g < n) {
        float2 p = l[g];
        d[g] = sqrtf((la - p.x) * (la - p.x) + (lo - p.y) * (lo - p.y));
    }
}
}
