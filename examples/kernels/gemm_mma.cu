// Product of matrices of 16-bit floats on the tensor units: c (m x n) = a (m x k) b (k x n), all by
// rows, m and n multiples of 128, k of 32. Tiles come by cp.async, two of them ahead of the one in
// use; ldmatrix reads them and mma multiplies. A block of 256 threads computes 128 x 128 elements,
// a warp 64 x 32. 16-byte pieces of a tile's rows lie permuted, so that the eight rows that an
// ldmatrix reads at once lie in different banks.

constexpr int TILE = 128;
constexpr int DEPTH = 32;
constexpr int STAGES = 3;
// Of one operand's tile.
constexpr int BYTES = TILE * DEPTH * 2;

__device__ unsigned shared_address(const void *at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

__device__ void copy(unsigned to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}

// Place of a piece in the tile of a, whose rows have 4, and of b, whose rows have 16.
__device__ unsigned place_a(int row, int piece) { return row * 64 + (piece ^ (row >> 1 & 3)) * 16; }
__device__ unsigned place_b(int row, int piece) { return row * 256 + (piece ^ (row & 7)) * 16; }

__device__ void load(unsigned tiles, const unsigned short *a, const unsigned short *b, int n, int k,
                     int step) {
    const unsigned to = tiles + step % STAGES * 2 * BYTES;
    for (int each = threadIdx.x; each < TILE * 4; each += 256) {
        const int row = each / 4, piece = each % 4;
        copy(to + place_a(row, piece), a + (size_t)row * k + step * DEPTH + piece * 8);
    }
    for (int each = threadIdx.x; each < DEPTH * 16; each += 256) {
        const int row = each / 16, piece = each % 16;
        copy(to + BYTES + place_b(row, piece), b + (size_t)(step * DEPTH + row) * n + piece * 8);
    }
}

__device__ void multiply(float (&sums)[4][4][4], unsigned tiles, int step) {
    const unsigned from = tiles + step % STAGES * 2 * BYTES;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int top = warp / 4 * 64, left = warp % 4 * 32;
#pragma unroll
    for (int inner = 0; inner < DEPTH; inner += 16) {
        unsigned a[4][4], b[4][2];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const unsigned at = from + place_a(top + i * 16 + lane % 16, inner / 8 + lane / 16);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3])
                         : "r"(at));
        }
#pragma unroll
        for (int j = 0; j < 4; j += 2) {
            const unsigned at =
                from + BYTES + place_b(inner + lane % 16, left / 8 + j + lane / 16);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(b[j][0]), "=r"(b[j][1]), "=r"(b[j + 1][0]), "=r"(b[j + 1][1])
                         : "r"(at));
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                float(&d)[4] = sums[i][j];
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                             : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]),
                               "r"(b[j][0]), "r"(b[j][1]));
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
    gemm_mma(const unsigned short *a, const unsigned short *b, float *c, int n, int k) {
    __shared__ __align__(128) unsigned char memory[STAGES * 2 * BYTES];
    const unsigned tiles = shared_address(memory);
    const int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    const int steps = k / DEPTH;
    a += (size_t)row * k;
    b += column;
    float sums[4][4][4] = {};
    for (int step = 0; step < STAGES - 1; ++step) {
        if (step < steps) load(tiles, a, b, n, k, step);
        asm volatile("cp.async.commit_group;");
    }
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        // All threads' copies are there, and the tile that the next copies replace is read.
        __syncthreads();
        if (step + STAGES - 1 < steps) load(tiles, a, b, n, k, step + STAGES - 1);
        asm volatile("cp.async.commit_group;");
        multiply(sums, tiles, step);
    }
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int top = row + warp / 4 * 64 + lane / 4, left = column + warp % 4 * 32 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            float *at = c + (size_t)(top + i * 16) * n + left + j * 8;
            *reinterpret_cast<float2 *>(at) = make_float2(sums[i][j][0], sums[i][j][1]);
            at += (size_t)8 * n;
            *reinterpret_cast<float2 *>(at) = make_float2(sums[i][j][2], sums[i][j][3]);
        }
    }
}
