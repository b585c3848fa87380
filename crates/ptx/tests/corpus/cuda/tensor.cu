// Half precision, matrix units, asynchronous copies and barriers in shared memory through inline PTX.
extern "C" __global__ void halves(unsigned short *h, unsigned *o)
{
    unsigned short a = h[0], b = h[1], c = h[2], r;
    unsigned x = o[0], y = o[1], z = o[2], w;
    float f;
#define H2(op) asm volatile(op " %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b)); h[3] = r;
#define W2(op) asm volatile(op " %0, %1, %2;" : "=r"(w) : "r"(x), "r"(y)); o[3] = w;
    asm volatile("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(a)); o[4] = f;
    asm volatile("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(f)); h[4] = r;
#if __CUDA_ARCH__ >= 530
    H2("add.f16") H2("add.rn.f16") H2("sub.ftz.f16") H2("mul.sat.f16") W2("add.f16x2") W2("mul.rn.ftz.sat.f16x2") W2("sub.f16x2")
    asm volatile("fma.rn.f16 %0, %1, %2, %3;" : "=h"(r) : "h"(a), "h"(b), "h"(c)); h[5] = r;
    asm volatile("fma.rn.ftz.f16x2 %0, %1, %2, %3;" : "=r"(w) : "r"(x), "r"(y), "r"(z)); o[5] = w;
    asm volatile("{.reg .pred p; setp.lt.f16 p, %1, %2; selp.b16 %0, %1, %2, p;}" : "=h"(r) : "h"(a), "h"(b)); h[6] = r;
    asm volatile("{.reg .pred p, q; setp.gtu.f16x2 p|q, %1, %2; selp.b32 %0, %1, %2, q;}" : "=r"(w) : "r"(x), "r"(y)); o[6] = w;
    asm volatile("set.ge.f16.f16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b)); h[7] = r;
    asm volatile("neg.f16 %0, %1;" : "=h"(r) : "h"(a)); h[8] = r;
    asm volatile("abs.f16 %0, %1;" : "=h"(r) : "h"(a)); h[9] = r;
    asm volatile("mov.b32 %0, {%1, %2};" : "=r"(w) : "h"(a), "h"(b)); o[7] = w;
#endif
#if __CUDA_ARCH__ >= 750
    asm volatile("ex2.approx.f16 %0, %1;" : "=h"(r) : "h"(a)); h[10] = r;
    asm volatile("tanh.approx.f16x2 %0, %1;" : "=r"(w) : "r"(x)); o[8] = w;
    asm volatile("tanh.approx.f32 %0, %1;" : "=f"(f) : "f"(f)); o[9] = f;
#endif
#if __CUDA_ARCH__ >= 900
    H2("min.NaN.f16") H2("max.xorsign.abs.f16") W2("max.NaN.bf16x2") H2("add.rn.bf16")
    asm volatile("fma.rn.relu.bf16x2 %0, %1, %2, %3;" : "=r"(w) : "r"(x), "r"(y), "r"(z)); o[12] = w;
    asm volatile("cvt.rn.bf16x2.f32 %0, %1, %1;" : "=r"(w) : "f"(f)); o[10] = w;
    asm volatile("cvt.rz.satfinite.f16.f32 %0, %1;" : "=h"(r) : "f"(f)); h[11] = r;
    asm volatile("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %1;" : "=h"(r) : "f"(f)); h[12] = r;
    asm volatile("cvt.rna.tf32.f32 %0, %1;" : "=r"(w) : "f"(f)); o[11] = w;
#endif
}

extern "C" __global__ void matrices(float *o, unsigned *g)
{
    __shared__ __align__(16) unsigned s[1024];
    unsigned a0 = g[0], a1 = g[1], a2 = g[2], a3 = g[3], b0 = g[4], b1 = g[5];
    float c0 = o[0], c1 = o[1], c2 = o[2], c3 = o[3];
    unsigned at = (unsigned)__cvta_generic_to_shared(s);
#if __CUDA_ARCH__ >= 700
    unsigned f0, f1, f2, f3, f4, f5, f6, f7;
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], 16;" : "=r"(f0), "=r"(f1), "=r"(f2), "=r"(f3), "=r"(f4), "=r"(f5), "=r"(f6), "=r"(f7) : "r"(at));
    asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%0,%1,%2,%3};" : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3) : "r"(f0), "r"(f1), "r"(f2), "r"(f3), "r"(f4), "r"(f5), "r"(f6), "r"(f7));
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%0], {%1,%2,%3,%4}, 16;" :: "r"(at), "r"(a0), "r"(a1), "r"(a2), "r"(a3));
#endif
#if __CUDA_ARCH__ >= 750
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(b0), "=r"(b1) : "r"(at + 512));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(a0), "r"(a1), "r"(b0));
#endif
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%0,%1,%2,%3}, {%0,%1,%2,%3}, {%4,%5}, {%0,%1,%2,%3};" : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3) : "r"(b0), "r"(b1));
    asm volatile("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%8,%9}, {%0,%1,%2,%3}, %10, 0x0;" : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(g[9]));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(at), "l"(g));
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" :: "r"(at), "l"(g), "r"(12));
    asm volatile("cp.async.commit_group;"); asm volatile("cp.async.wait_group 1;"); asm volatile("cp.async.wait_all;");
    asm volatile("{.reg .b64 t; mbarrier.init.shared.b64 [%0], 32; mbarrier.arrive.shared.b64 t, [%0]; cp.async.mbarrier.arrive.noinc.shared.b64 [%0]; mbarrier.inval.shared.b64 [%0];}" :: "r"(at));
    asm volatile("prefetch.global.L2 [%0];" :: "l"(g)); asm volatile("{.reg .b64 p; createpolicy.fractional.L2::evict_last.b64 p, 0.5; ld.global.L2::cache_hint.b32 %0, [%1], p;}" : "=r"(a0) : "l"(g));
#endif
#if __CUDA_ARCH__ >= 900
    asm volatile("{.reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra L;}" :: "r"(at));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" :: "r"(at));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 64, [%2];" :: "r"(at), "l"(g), "r"(at + 64));
    asm volatile("cp.async.bulk.commit_group;"); asm volatile("cp.async.bulk.wait_group.read 0;");
    asm volatile("fence.proxy.async.shared::cta;"); asm volatile("fence.acq_rel.cluster;"); asm volatile("barrier.cluster.arrive.release.aligned;"); asm volatile("barrier.cluster.wait.acquire.aligned;");
    asm volatile("{.reg .pred p; .reg .b32 r; elect.sync r|p, 0xffffffff; @p mapa.shared::cluster.u32 r, %0, 1;}" :: "r"(at));
    asm volatile("griddepcontrol.launch_dependents;"); asm volatile("griddepcontrol.wait;");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" :: "r"(at), "r"(a0), "r"(a1));
#endif
    o[0] = c0 + c1 + c2 + c3; g[0] = a0 + a1 + a2 + a3;
}
