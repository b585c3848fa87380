// Atomics, reductions, barriers, votes, shuffles, matches, fences, clocks and every special register.
extern __shared__ int shared_ints[];
extern "C" __global__ void atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d)
{
    int t = threadIdx.x, r = 0;
    r += atomicAdd(i, t); r += atomicSub(i + 1, t); r += atomicExch(i + 2, t); r += atomicMin(i + 3, t); r += atomicMax(i + 4, t);
    r += atomicInc(u, 5); r += atomicDec(u + 1, 5); r += atomicCAS(i + 5, 3, t); r += atomicAnd(i + 6, t); r += atomicOr(i + 7, t); r += atomicXor(i + 8, t);
    r += atomicMin(u + 2, 3u); r += atomicMax(u + 3, 3u); r += atomicAdd(l, 3ull); r += atomicExch(l + 1, 4ull); r += atomicCAS(l + 2, 3ull, 4ull);
    r += atomicMax(l + 3, 9ull); r += atomicAnd(l + 4, 9ull);
    f[t] = atomicAdd(f, 1.5f); f[t + 1] = atomicExch(f + 1, 2.5f);
    atomicAdd(i + 9, 1); atomicMax(i + 10, t); atomicXor(u + 4, 3u); atomicAdd(f + 2, 1.0f);
    r += atomicAdd(&shared_ints[t], 1); atomicMin(&shared_ints[t + 1], r);
#if __CUDA_ARCH__ >= 600
    d[t] = atomicAdd(d, 1.5);
    r += atomicAdd_block(i + 11, 2); r += atomicAdd_system(i + 12, 2); r += atomicCAS_block(i + 13, 1, 2);
#endif
    i[t] = r;
}

extern "C" __global__ void warps(int *o, float *f, double *d)
{
    unsigned m = __activemask();
    int t = threadIdx.x, v = o[t];
    o[0] = __shfl_sync(m, v, 3); o[1] = __shfl_up_sync(m, v, 1); o[2] = __shfl_down_sync(m, v, 2, 16); o[3] = __shfl_xor_sync(m, v, 4);
    f[0] = __shfl_xor_sync(m, f[t], 8); d[0] = __shfl_down_sync(m, d[t], 8);
    o[4] = __ballot_sync(m, v > 3); o[5] = __all_sync(m, v); o[6] = __any_sync(m, v);
    __syncwarp(); __syncwarp(m);
#if __CUDA_ARCH__ >= 700
    int pred; o[7] = __match_any_sync(m, v); o[8] = __match_all_sync(m, v, &pred); o[9] = pred; o[10] = __match_any_sync(m, (long long)v);
    __nanosleep(100);
#endif
#if __CUDA_ARCH__ >= 800
    o[11] = __reduce_add_sync(m, v); o[12] = __reduce_min_sync(m, (unsigned)v); o[13] = __reduce_or_sync(m, (unsigned)v);
#endif
    o[14] = __fns(v, 0, 3);
}

extern "C" __global__ void barriers(int *o)
{
    __syncthreads();
    o[0] = __syncthreads_count(o[0]); o[1] = __syncthreads_and(o[1]); o[2] = __syncthreads_or(o[2]);
    asm volatile("bar.sync 1, 64;"); asm volatile("bar.arrive 2, 64;"); asm volatile("barrier.sync 3;"); asm volatile("barrier.sync 3, 96;");
    asm volatile("membar.gl;"); asm volatile("membar.cta;"); asm volatile("membar.sys;");
}

#define SREG(name) asm volatile("mov.u32 %0, %%" #name ";" : "=r"(x)); o[k++] = x;
extern "C" __global__ void specials(unsigned *o)
{
    unsigned x; unsigned long long y; int k = 0;
    SREG(tid.x) SREG(tid.y) SREG(tid.z) SREG(ntid.x) SREG(ntid.y) SREG(ntid.z) SREG(ctaid.x) SREG(ctaid.y) SREG(ctaid.z) SREG(nctaid.x) SREG(nctaid.y) SREG(nctaid.z)
    SREG(laneid) SREG(warpid) SREG(nwarpid) SREG(smid) SREG(nsmid) SREG(lanemask_eq) SREG(lanemask_le) SREG(lanemask_lt) SREG(lanemask_ge) SREG(lanemask_gt)
    SREG(clock) SREG(clock_hi) SREG(globaltimer_lo) SREG(globaltimer_hi) SREG(pm0) SREG(envreg3) SREG(total_smem_size) SREG(dynamic_smem_size)
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(y)); o[k++] = y;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(y)); o[k++] = y;
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(y)); o[k++] = y;
}
