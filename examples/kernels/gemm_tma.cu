// Product of matrices of 16-bit floats on Hopper's tensor units: c (m x n) = a (m x k) b', where b
// is n x k, as weights of a linear layer lie. All by rows, m and n multiples of 128, k of 64. The
// tensor memory accelerator moves tiles, three of them ahead of the one in use; wgmma reads them
// in shared memory. A block of 288 threads computes 128 x 128 elements: two groups of four warps
// multiply, half of the rows each, and a warp of its own asks for tiles.
//
// Each block makes the tensor maps of a and b itself and keeps them in its 256 bytes of `maps`.
// Dynamic shared memory: 132,416 bytes.

constexpr int TILE = 128;
constexpr int DEPTH = 64;
constexpr int STAGES = 4;
// Of one operand's tile, whose rows of 128 bytes are permuted in groups of eight.
constexpr int BYTES = TILE * DEPTH * 2;
constexpr int MAP_BYTES = 128;

// Sets a field of a tensor map in shared memory.
#define REPLACE(field, map, value, constraint)                                                     \
    asm volatile("tensormap.replace.tile." field " %1;" ::"l"((size_t)(map)), constraint(value)    \
                 : "memory")

// Makes the map for tiles of TILE x DEPTH of a matrix. All lanes of a warp call it.
__device__ void describe(unsigned map, char *to, const void *matrix, int rows, int columns) {
    const int lane = threadIdx.x % 32;
    asm volatile("st.shared.b32 [%0], 0;" ::"r"(map + lane * 4) : "memory");
    __syncwarp();
    if (lane == 0) {
        REPLACE("global_address.shared::cta.b1024.b64 [%0],", map, matrix, "l");
        // Two dimensions; 16-bit floats; pieces of rows permuted over 128 bytes.
        REPLACE("rank.shared::cta.b1024.b32 [%0],", map, 1, "n");
        REPLACE("elemtype.shared::cta.b1024.b32 [%0],", map, 6, "n");
        REPLACE("swizzle_mode.shared::cta.b1024.b32 [%0],", map, 3, "n");
        REPLACE("box_dim.shared::cta.b1024.b32 [%0], 0,", map, DEPTH, "r");
        REPLACE("box_dim.shared::cta.b1024.b32 [%0], 1,", map, TILE, "r");
        REPLACE("global_dim.shared::cta.b1024.b32 [%0], 0,", map, columns, "r");
        REPLACE("global_dim.shared::cta.b1024.b32 [%0], 1,", map, rows, "r");
        REPLACE("global_stride.shared::cta.b1024.b64 [%0], 0,", map, (size_t)columns * 2, "l");
        REPLACE("element_stride.shared::cta.b1024.b32 [%0], 0,", map, 1, "r");
        REPLACE("element_stride.shared::cta.b1024.b32 [%0], 1,", map, 1, "r");
    }
    __syncwarp();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu"
                 ".sync.aligned [%0], [%1], 128;" ::"l"(to),
                 "l"((size_t)map)
                 : "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(to) : "memory");
}

__device__ void wait(unsigned barrier, unsigned parity) {
    unsigned done;
    do {
        asm volatile("{.reg .pred done;"
                     "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;"
                     "selp.u32 %0, 1, 0, done;}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    } while (!done);
}

__device__ void load(unsigned to, const char *map, int column, int row, unsigned barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}

// What wgmma is told of a tile: its place, and 1,024 bytes from eight rows to the next eight.
__device__ unsigned long long tile(unsigned at) {
    return (at & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])

// d = a b' (+ d if `more`) for 64 x 128 elements and 16 products each.
__device__ void multiply(float (&d)[64], unsigned long long a, unsigned long long b, int more) {
    asm volatile("{.reg .pred more; setp.ne.b32 more, %66, 0;"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, "
                 "%8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, "
                 "%24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, "
                 "%40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, "
                 "%56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, more, 1, 1, 0, 0;}"
                 : FOUR(0), FOUR(4), FOUR(8), FOUR(12),
                   FOUR(16), FOUR(20), FOUR(24), FOUR(28),
                   FOUR(32), FOUR(36), FOUR(40), FOUR(44),
                   FOUR(48), FOUR(52), FOUR(56), FOUR(60)
                 : "l"(a), "l"(b), "r"(more));
}

// Tiles, their barriers and the tensor maps in shared memory.
struct Places {
    unsigned tiles, full, empty, maps;
};

__device__ void produce(Places at, const void *a, const void *b, char *maps, int m, int n, int k) {
    describe(at.maps, maps, a, m, k);
    describe(at.maps + MAP_BYTES, maps + MAP_BYTES, b, n, k);
    if (threadIdx.x % 32 != 0) return;
    for (int step = 0; step < k / DEPTH; ++step) {
        const int stage = step % STAGES;
        const unsigned full = at.full + stage * 8, to = at.tiles + stage * 2 * BYTES;
        wait(at.empty + stage * 8, step / STAGES % 2 ^ 1);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full),
                     "r"(2 * BYTES)
                     : "memory");
        load(to, maps, step * DEPTH, blockIdx.y * TILE, full);
        load(to + BYTES, maps + MAP_BYTES, step * DEPTH, blockIdx.x * TILE, full);
    }
}

__device__ void consume(Places at, float *c, int n, int k) {
    const int group = threadIdx.x / 128, steps = k / DEPTH;
    float sums[64];
    for (int step = 0; step < steps; ++step) {
        const int stage = step % STAGES;
        const unsigned a = at.tiles + stage * 2 * BYTES + group * BYTES / 2;
        const unsigned b = at.tiles + stage * 2 * BYTES + BYTES;
        wait(at.full + stage * 8, step / STAGES % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int inner = 0; inner < DEPTH; inner += 16) {
            multiply(sums, tile(a + inner * 2), tile(b + inner * 2), step + inner > 0);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        // The products of the step before have ended, and its tiles may be replaced.
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (step > 0 && threadIdx.x % 128 == 0) {
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at.empty +
                                                                          (step - 1) % STAGES * 8)
                         : "memory");
        }
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float *to = c + (size_t)(blockIdx.y * TILE + warp * 16 + lane / 4) * n;
    to += blockIdx.x * TILE + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < 64; j += 4) {
        *reinterpret_cast<float2 *>(to + j * 2) = make_float2(sums[j], sums[j + 1]);
        *reinterpret_cast<float2 *>(to + (size_t)8 * n + j * 2) =
            make_float2(sums[j + 2], sums[j + 3]);
    }
}

extern "C" __global__ void __launch_bounds__(288, 1)
    gemm_tma(const unsigned short *a, const unsigned short *b, float *c, char *maps, int m, int n,
             int k) {
    extern __shared__ unsigned char memory[];
    Places at;
    at.tiles = (static_cast<unsigned>(__cvta_generic_to_shared(memory)) + 1023) / 1024 * 1024;
    at.maps = at.tiles + STAGES * 2 * BYTES;
    at.full = at.maps + 2 * MAP_BYTES;
    at.empty = at.full + STAGES * 8;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at.full + stage * 8));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(at.empty + stage * 8));
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x >= 256) {
        maps += 2 * MAP_BYTES * (size_t)(blockIdx.y * gridDim.x + blockIdx.x);
        produce(at, a, b, maps, m, n, k);
    } else {
        consume(at, c, n, k);
    }
}
