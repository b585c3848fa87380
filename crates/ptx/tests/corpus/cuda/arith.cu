// Integer, single, double and bit arithmetic: one store per operation keeps each alive.
extern "C" __global__ void ints(int *o, const int *a, const unsigned *u, long long *l)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int x = a[i], y = a[i + 1];
    unsigned v = u[i], w = u[i + 1];
    long long p = l[i], q = l[i + 1];
    unsigned long long pu = p, qu = q;
    int k = 0;
    o[k++] = x + y; o[k++] = x - y; o[k++] = x * y; o[k++] = x / y; o[k++] = x % y;
    o[k++] = v / w; o[k++] = v % w; o[k++] = x / 7; o[k++] = v / 7; o[k++] = v % 10;
    o[k++] = x & y; o[k++] = x | y; o[k++] = x ^ y; o[k++] = ~x; o[k++] = -x; o[k++] = !x;
    o[k++] = x << y; o[k++] = x >> y; o[k++] = v >> w; o[k++] = x << 3;
    o[k++] = min(x, y); o[k++] = max(v, w); o[k++] = abs(x);
    o[k++] = __mulhi(x, y); o[k++] = __umulhi(v, w); o[k++] = __mul24(x, y); o[k++] = __umul24(v, w);
    o[k++] = __sad(x, y, v); o[k++] = __usad(v, w, v);
    o[k++] = __popc(v); o[k++] = __clz(x); o[k++] = __ffs(x); o[k++] = __brev(v); o[k++] = __byte_perm(v, w, x);
    o[k++] = __funnelshift_l(v, w, x); o[k++] = __funnelshift_rc(v, w, x);
    o[k++] = __hadd(x, y); o[k++] = __rhadd(x, y); o[k++] = __uhadd(v, w);
    o[k++] = (v & w) | (~v & (unsigned)x); o[k++] = v ^ w ^ x;
    o[k++] = (x >> 5) & 0x1f; o[k++] = (char)x; o[k++] = (short)x; o[k++] = (unsigned char)x;
    o[k++] = x == y ? v : w; o[k++] = x < y && v > w || p != q;
    l[k++] = p + q; l[k++] = p - q; l[k++] = p * q; l[k++] = p / q; l[k++] = p % q; l[k++] = pu / qu; l[k++] = pu % 10;
    l[k++] = p << x; l[k++] = p >> x; l[k++] = pu >> x; l[k++] = __mul64hi(p, q); l[k++] = __umul64hi(pu, qu);
    l[k++] = __popcll(p); l[k++] = __clzll(p); l[k++] = __ffsll(p); l[k++] = __brevll(p);
    l[k++] = (long long)x * y; l[k++] = (unsigned long long)v * w; l[k++] = (long long)x * y + p;
    l[k++] = min(p, q); l[k++] = max(pu, qu); l[k++] = p < q; l[k++] = ~p; l[k++] = -p;
}

extern "C" __global__ void floats(float *o, const float *a, double *d, int *n)
{
    int i = threadIdx.x;
    float x = a[i], y = a[i + 1], z = a[i + 2];
    double p = d[i], q = d[i + 1], r = d[i + 2];
    int k = 0;
    o[k++] = x + y; o[k++] = x - y; o[k++] = x * y; o[k++] = x / y; o[k++] = x * y + z; o[k++] = -x; o[k++] = fabsf(x);
    o[k++] = __fadd_rz(x, y); o[k++] = __fmul_ru(x, y); o[k++] = __fmaf_rd(x, y, z); o[k++] = __fdiv_rn(x, y);
    o[k++] = __frcp_rz(x); o[k++] = __fsqrt_ru(x); o[k++] = __frsqrt_rn(x); o[k++] = __fdividef(x, y);
    o[k++] = sqrtf(x); o[k++] = rsqrtf(x); o[k++] = fminf(x, y); o[k++] = fmaxf(x, y); o[k++] = __saturatef(x);
    o[k++] = __sinf(x); o[k++] = __cosf(x); o[k++] = __expf(x); o[k++] = __logf(x); o[k++] = __powf(x, y); o[k++] = exp2f(x);
    o[k++] = floorf(x); o[k++] = ceilf(x); o[k++] = truncf(x); o[k++] = rintf(x); o[k++] = roundf(x); o[k++] = copysignf(x, y);
    o[k++] = x > y ? 1.0f : 2.0f; o[k++] = isnan(x); o[k++] = isinf(x); o[k++] = signbit(x); o[k++] = fmodf(x, y);
    o[k++] = (float)n[0]; o[k++] = (float)(unsigned)n[1]; o[k++] = __int2float_rz(n[2]); o[k++] = (float)p; o[k++] = __double2float_ru(p);
    n[k++] = (int)x; n[k++] = (unsigned)x; n[k++] = __float2int_rn(x); n[k++] = __float2uint_rd(x); n[k++] = (int)p; n[k++] = __double2int_rn(p);
    n[k++] = __float_as_int(x); n[k++] = __double2hiint(p); n[k++] = __double2loint(p);
    d[k++] = p + q; d[k++] = p * q; d[k++] = p / q; d[k++] = p * q + r; d[k++] = sqrt(p); d[k++] = 1.0 / p; d[k++] = rsqrt(p);
    d[k++] = (double)x; d[k++] = (double)n[3]; d[k++] = __dadd_rz(p, q); d[k++] = __dmul_ru(p, q); d[k++] = __fma_rd(p, q, r);
    d[k++] = fmin(p, q); d[k++] = floor(p); d[k++] = rint(p); d[k++] = fabs(p); d[k++] = (double)(long long)p; d[k++] = __hiloint2double(n[0], n[1]);
    d[k++] = p <= q ? 1.5 : 2.5; d[k++] = (unsigned long long)p; d[k++] = (float)(long long)x;
}

extern "C" __global__ void transcendental(float *o, double *d)
{
    int i = threadIdx.x;
    o[i] = sinf(o[i]) + cosf(o[i]) * tanf(o[i]) + expf(o[i]) + logf(o[i]) + powf(o[i], 1.7f) + tanhf(o[i]) + erff(o[i]) + atan2f(o[i], 2.0f);
    d[i] = sin(d[i]) + exp(d[i]) + log(d[i]) + pow(d[i], 1.7) + cbrt(d[i]) + fmod(d[i], 3.0);
}

extern "C" __global__ void narrow(unsigned char *c, short *s, unsigned short *us, signed char *sc)
{
    int i = threadIdx.x;
    c[i] = c[i] + c[i + 1]; s[i] = s[i] * s[i + 1]; us[i] = us[i] >> 3; sc[i] = sc[i] - sc[i + 1];
    s[i + 9] = min(s[i], s[i + 3]); us[i + 9] = us[i] / us[i + 1]; c[i + 9] = (s[i] < us[i]) ? 3 : 4;
}

extern "C" __global__ void inline_asm(unsigned *o, unsigned long long *l)
{
    unsigned a = o[0], b = o[1], c = o[2], r;
    unsigned long long x = l[0], y = l[1], z;
    asm("{add.cc.u32 %0, %1, %2;\n\taddc.cc.u32 %0, %0, %3;\n\taddc.u32 %0, %0, 0;}" : "=r"(r) : "r"(a), "r"(b), "r"(c)); o[3] = r;
    asm("{sub.cc.u32 %0, %1, %2;\n\tsubc.u32 %0, %0, %3;}" : "=r"(r) : "r"(a), "r"(b), "r"(c)); o[4] = r;
    asm("{mad.lo.cc.u32 %0, %1, %2, %3;\n\tmadc.hi.u32 %0, %1, %2, %0;}" : "=r"(r) : "r"(a), "r"(b), "r"(c)); o[5] = r;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); o[6] = r;
    asm("bfi.b32 %0, %1, %2, 3, 4;" : "=r"(r) : "r"(a), "r"(b)); o[7] = r;
    asm("bfind.shiftamt.s32 %0, %1;" : "=r"(r) : "r"(a)); o[8] = r;
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); o[9] = r;
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); o[10] = r;
    asm("vadd.u32.u32.s32.sat %0, %1.b0, %2.h1;" : "=r"(r) : "r"(a), "r"(b)); o[11] = r;
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); o[12] = r;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(z) : "r"(a), "r"(b)); l[2] = z;
    asm("mad.hi.u64 %0, %1, %2, %1;" : "=l"(z) : "l"(x), "l"(y)); l[3] = z;
    asm volatile("{.reg .pred p;\n\tsetp.gt.and.u32 p, %1, %2, 1;\n\tselp.b32 %0, %1, %2, p;}" : "=r"(r) : "r"(a), "r"(b)); o[13] = r;
    asm("slct.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); o[14] = r;
    asm("cnot.b32 %0, %1;" : "=r"(r) : "r"(a)); o[15] = r;
    asm("mov.b64 {%0, _}, %1;" : "=r"(r) : "l"(x)); o[16] = r;
    asm("fns.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); o[17] = r;
}

extern "C" __global__ void dots(int *o, const int *a)
{
#if __CUDA_ARCH__ >= 610
    o[0] = __dp4a(a[0], a[1], a[2]);
    o[1] = __dp2a_lo((int)a[0], (int)a[1], (int)a[2]);
    o[2] = __dp4a((unsigned)a[0], (unsigned)a[1], (unsigned)a[2]);
#endif
    o[3] = __vadd4(a[0], a[1]) + __vabsdiffu4(a[1], a[2]) + __vcmpgts2(a[0], a[2]) + __vsadu4(a[3], a[4]);
}
