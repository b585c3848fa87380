// Product of matrices of floats without tensor units: c (m x n) = a (m x k) b (k x n), all by rows,
// m and n multiples of 64, k of 16. A block of 128 threads computes 64 x 64 elements, a thread
// 8 x 4 in registers. A tile of the next step comes into registers while the block multiplies.

constexpr int TILE = 64;
constexpr int DEPTH = 16;

extern "C" __global__ void __launch_bounds__(128)
    sgemm(const float *a, const float *b, float *c, int n, int k) {
    // The tile of a lies transposed, so that a thread reads its eight rows by two loads.
    __shared__ __align__(16) float left[DEPTH][TILE + 4];
    __shared__ __align__(16) float right[DEPTH][TILE];
    const int thread = threadIdx.x;
    const int row = thread / 16 * 8, column = thread % 16 * 4;
    const int load_row = thread / 4, load_inner = thread % 4 * 4;
    const int load_depth = thread / 16, load_column = thread % 16 * 4;
    a += (size_t)(blockIdx.y * TILE + load_row) * k + load_inner;
    b += (size_t)load_depth * n + blockIdx.x * TILE + load_column;
    float sums[8][4] = {};
    float4 next_a[2], next_b[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        next_a[half] = *reinterpret_cast<const float4 *>(a + (size_t)half * 32 * k);
        next_b[half] = *reinterpret_cast<const float4 *>(b + (size_t)half * 8 * n);
    }
    for (int start = 0; start < k; start += DEPTH) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            left[load_inner + 0][load_row + half * 32] = next_a[half].x;
            left[load_inner + 1][load_row + half * 32] = next_a[half].y;
            left[load_inner + 2][load_row + half * 32] = next_a[half].z;
            left[load_inner + 3][load_row + half * 32] = next_a[half].w;
            *reinterpret_cast<float4 *>(&right[load_depth + half * 8][load_column]) = next_b[half];
        }
        __syncthreads();
        if (start + DEPTH < k) {
            a += DEPTH;
            b += (size_t)DEPTH * n;
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                next_a[half] = *reinterpret_cast<const float4 *>(a + (size_t)half * 32 * k);
                next_b[half] = *reinterpret_cast<const float4 *>(b + (size_t)half * 8 * n);
            }
        }
#pragma unroll
        for (int inner = 0; inner < DEPTH; ++inner) {
            const float4 top = *reinterpret_cast<const float4 *>(&left[inner][row]);
            const float4 low = *reinterpret_cast<const float4 *>(&left[inner][row + 4]);
            const float4 across = *reinterpret_cast<const float4 *>(&right[inner][column]);
            const float x[8] = {top.x, top.y, top.z, top.w, low.x, low.y, low.z, low.w};
            const float y[4] = {across.x, across.y, across.z, across.w};
#pragma unroll
            for (int i = 0; i < 8; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) sums[i][j] += x[i] * y[j];
            }
        }
        __syncthreads();
    }
    c += (size_t)(blockIdx.y * TILE + row) * n + blockIdx.x * TILE + column;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        *reinterpret_cast<float4 *>(c + (size_t)i * n) =
            make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
    }
}
