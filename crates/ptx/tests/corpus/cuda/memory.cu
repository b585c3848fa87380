// State spaces, vector accesses, cache operators, initialisers, parameters by value.
__constant__ float table[16] = {1.0f, 2.0f, -3.5f};
__constant__ struct { int a; double b; char c[3]; } record = {1, 2.5, {'x', 'y', 'z'}};
__device__ int counter = 42;
__device__ int *pointer = &counter;
__device__ float matrix[4][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ volatile int flag;
static __device__ unsigned char bytes[] = "warp and weft";
extern __shared__ float dynamic[];

struct __align__(16) Big { float4 v; int n; double d[3]; unsigned char tail[5]; };

extern "C" __global__ void spaces(float *o, const float *__restrict__ a, Big big, char small, double2 pair)
{
    __shared__ float tile[16][17];
    __shared__ double wide[32];
    int i = threadIdx.x, j = threadIdx.y;
    tile[j][i] = a[i + 16 * j];
    wide[i] = big.d[i % 3];
    dynamic[i] = big.v.x + small + pair.y;
    __syncthreads();
    float local[32];
    for (int k = 0; k < 32; k++) local[k] = a[k * i];
    o[i] = tile[i][j] + (float)wide[j] + dynamic[j] + table[i] + matrix[i & 3][j & 1] + local[j & 31] + record.c[i & 1] + record.b;
    o[i + 1] = big.tail[i % 5] + bytes[i];
    *pointer = counter + i;
    flag = flag + 1;
}

extern "C" __global__ void vectors(float4 *o, const float4 *a, int2 *b, double2 *d, uchar4 *c, short2 *s, longlong2 *l, const float *__restrict__ ro)
{
    int i = threadIdx.x;
    float4 x = a[i]; x.x += x.w; o[i] = x;
    int2 y = b[i]; y.x ^= y.y; b[i + 1] = y;
    double2 z = d[i]; z.x *= z.y; d[i + 1] = z;
    uchar4 u = c[i]; u.x += u.w; c[i + 1] = u;
    short2 t = s[i]; t.y -= t.x; s[i + 1] = t;
    longlong2 w = l[i]; w.x += w.y; l[i + 1] = w;
    o[i + 2] = __ldg(&a[i + 3]);
    o[i + 3].x = __ldcg(&ro[i]) + __ldcs(&ro[i + 1]) + __ldca(&ro[i + 2]) + __ldcv(&ro[i + 3]) + __ldlu(&ro[i + 4]);
    __stcg(&o[i].y, 1.0f); __stcs(&o[i].z, 2.0f); __stwt(&o[i].w, 3.0f); __stwb(&o[i + 5].w, 4.0f);
}

extern "C" __global__ void generic_addresses(int *o, int which)
{
    __shared__ int s[32];
    int l[4];
    l[threadIdx.x & 3] = which;
    int *p = which == 0 ? s : which == 1 ? l : o;
    p[threadIdx.x & 3] = 7;
    __threadfence_block(); __threadfence(); __threadfence_system();
    o[0] = __isShared(p); o[1] = __isGlobal(p); o[2] = __isLocal(p); o[3] = __isConstant(p);
    o[4] = (int)__cvta_generic_to_shared(s);
    o[5] = p[2];
}

extern "C" __global__ void __launch_bounds__(256, 4) bounded(int *o) { o[threadIdx.x] = clock() + clock64() + blockIdx.z * gridDim.y; }
