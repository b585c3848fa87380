// Kernels for clang without any CUDA header.
#define global __attribute__((global))
#define device __attribute__((device))
#define shared __attribute__((shared))
#define constant __attribute__((constant))
#define noinline __attribute__((noinline))
#define tid __nvvm_read_ptx_sreg_tid_x()
#define bid __nvvm_read_ptx_sreg_ctaid_x()
#define bdim __nvvm_read_ptx_sreg_ntid_x()


constant float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
device int counter = 7;
device const char text[] = "clang";
struct Pair { int a; double b; float v[3]; };

device noinline float helper(Pair p, int i) { return p.v[i & 1] * p.b + p.a; }
device noinline int recurse(int n) { return n < 2 ? n : recurse(n - 1) + recurse(n - 2); }
typedef int (*Fn)(int);
device noinline int twice(int x) { return 2 * x; }
device Fn table[2] = {twice, recurse};

extern "C" global void vector_add(float *o, const float *a, const float *b, int n)
{
    int i = bid * bdim + tid;
    if (i < n) o[i] = a[i] + b[i] * weights[i & 7];
}

extern "C" global void reduce(int *o, const int *a)
{
    shared int s[256];
    s[tid] = a[bid * bdim + tid];
    __nvvm_bar_sync(0);
    for (int d = 128; d > 0; d >>= 1) { if (tid < d) s[tid] += s[tid + d]; __nvvm_bar_sync(0); }
    if (tid == 0) { __nvvm_atom_add_gen_i(o, s[0]); counter++; }
}

extern "C" global void mixed(int *o, double *d, long long *l, short *h, unsigned char *c, Pair p, int which)
{
    double x = d[tid], y = d[tid + 1];
    d[tid] = x * y + 1.5; d[tid + 2] = x / y; d[tid + 3] = __builtin_sqrt(x); d[tid + 4] = __builtin_floor(x);
    l[tid] = l[1] / l[2] + l[3] % l[4]; h[tid] = h[1] * h[2]; c[tid] = c[1] >> 2;
    switch (which) { case 0: o[0] = text[tid & 3]; break; case 1: o[1] = 5; break; case 2: o[2] = o[3]; break; case 3: o[4] = (int)x; break; case 4: o[5] ^= 3; break; default: o[6] = __builtin_popcount(which); }
    o[7] = helper(p, which); o[8] = recurse(which); o[9] = table[which & 1](which);
    float buffer[16];
    for (int i = 0; i < 16; i++) buffer[i] = i * which;
    o[10] = buffer[which & 15];
    o[11] = __builtin_clz(which) + __builtin_bitreverse32(which) + (which < 0 ? -which : which);
    o[12] = (unsigned)x; l[5] = (long long)y; d[6] = (double)l[6]; o[13] = (float)l[7];
    __nvvm_membar_gl(); __nvvm_bar_sync(1);
}
