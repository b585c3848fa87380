// Sums of absolute differences between the 4 x 4 blocks of a frame and those of a reference frame,
// at 33 x 33 displacements each, then of larger blocks by adding up. Sums are 16-bit integers;
// those of one block lie together, padded to 1,096. They start with the largest block type: one of
// 16 x 16 a macroblock, two 16 x 8, two 8 x 16, four 8 x 8, eight 8 x 4, eight 4 x 8, sixteen of
// 4 x 4.

#define RANGE 16
#define SIDE (2 * RANGE + 1)
#define POSITIONS (SIDE * SIDE)
#define PADDED 1096
#define PER_THREAD 18
#define THREADS ((POSITIONS + PER_THREAD - 1) / PER_THREAD)

struct __align__(8) Eight {
    int first;
    int second;
};

__device__ __forceinline__ int distance(int a, int b)
{
    return abs(a - b);
}

// One block of threads a 4 x 4 block, 18 displacements a thread, three at a time, so that texels
// are fetched once for three neighbouring displacements.
extern "C" __global__ void mb_sad_calc(unsigned short *sads, const unsigned short *frame,
                                       int macroblocks_x, int macroblocks_y,
                                       unsigned long long reference)
{
    __shared__ unsigned short pixels[16];
    __shared__ Eight found[PADDED / 4];
    unsigned short *sums = (unsigned short *)found;
    const int macroblock_x = blockIdx.x >> 2;
    const int macroblock_y = blockIdx.y >> 2;
    const bool valid = macroblock_x < macroblocks_x && macroblock_y < macroblocks_y;
    const int width = macroblocks_x * 16;

    if (threadIdx.x < 16 && valid) {
        const int corner = 4 * blockIdx.y * width + 4 * blockIdx.x;
        pixels[threadIdx.x] = frame[corner + (threadIdx.x >> 2) * width + (threadIdx.x & 3)];
    }
    __syncthreads();

    if (valid) {
        const int first = threadIdx.x % THREADS * PER_THREAD;
        const int last = first + PER_THREAD > POSITIONS ? POSITIONS : first + PER_THREAD;
        int dx = first % SIDE;
        int y = 4 * (int)blockIdx.y - RANGE + first / SIDE;
        for (int position = first; position < last; position += 3) {
            unsigned short sum1 = 0, sum2 = 0, sum3 = 0;
            const int x = 4 * (int)blockIdx.x - RANGE + dx;
            for (int row = 0; row < 4; ++row) {
                const unsigned short *line = pixels + 4 * row;
                int t = tex2D<unsigned short>(reference, x, y + row);
                sum1 += distance(t, line[0]);
                t = tex2D<unsigned short>(reference, x + 1, y + row);
                sum1 += distance(t, line[1]);
                sum2 += distance(t, line[0]);
                t = tex2D<unsigned short>(reference, x + 2, y + row);
                sum1 += distance(t, line[2]);
                sum2 += distance(t, line[1]);
                sum3 += distance(t, line[0]);
                t = tex2D<unsigned short>(reference, x + 3, y + row);
                sum1 += distance(t, line[3]);
                sum2 += distance(t, line[2]);
                sum3 += distance(t, line[1]);
                t = tex2D<unsigned short>(reference, x + 4, y + row);
                sum2 += distance(t, line[3]);
                sum3 += distance(t, line[2]);
                t = tex2D<unsigned short>(reference, x + 5, y + row);
                sum3 += distance(t, line[3]);
            }
            sums[position] = sum1;
            sums[position + 1] = sum2;
            sums[position + 2] = sum3;
            dx += 3;
            if (dx >= SIDE) {
                dx -= SIDE;
                ++y;
            }
        }
    }
    __syncthreads();

    if (threadIdx.x < 32 && valid) {
        const int macroblocks = macroblocks_x * macroblocks_y;
        const int macroblock = macroblock_y * macroblocks_x + macroblock_x;
        const int block = 4 * (blockIdx.y & 3) + (blockIdx.x & 3);
        Eight *to = (Eight *)(sads + (25 * macroblocks + macroblock * 16 + block) * PADDED);
        for (int i = threadIdx.x; i < PADDED / 4; i += 32) {
            to[i] = found[i];
        }
    }
}

// The three larger types of which a quarter of a macroblock consists: two sums a 32-bit addition,
// which cannot overflow.
__device__ __forceinline__ void add_up(const unsigned int *in, int in_below, unsigned int *side,
                                       unsigned int *stack, int stack_below, unsigned int *all)
{
    for (int at = threadIdx.x; at < (POSITIONS + 1) / 2; at += 32) {
        const unsigned int i00 = in[at];
        const unsigned int i01 = in[at + PADDED / 2];
        const unsigned int i10 = in[at + in_below];
        const unsigned int i11 = in[at + in_below + PADDED / 2];
        side[at] = i00 + i10;
        side[at + PADDED / 2] = i01 + i11;
        stack[at] = i00 + i01;
        stack[at + stack_below] = i10 + i11;
        all[at] = (i00 + i01) + (i10 + i11);
    }
}

// From 4 x 4 to 4 x 8, 8 x 4 and 8 x 8; one warp a quarter of a macroblock.
extern "C" __global__ void larger_sad_calc_8(unsigned short *sads, int macroblocks_x,
                                             int macroblocks_y)
{
    const int tx = threadIdx.y & 1;
    const int ty = threadIdx.y >> 1;
    const int all = macroblocks_x * macroblocks_y;
    const int macroblock = blockIdx.y * macroblocks_x + blockIdx.x;
    const unsigned short *in = sads + (25 * all + 16 * macroblock + ty * 8 + tx * 2) * PADDED;
    unsigned short *side = sads + (17 * all + 8 * macroblock + ty * 4 + tx * 2) * PADDED;
    unsigned short *stack = sads + (9 * all + 8 * macroblock + ty * 4 + tx) * PADDED;
    unsigned short *whole = sads + (5 * all + 4 * macroblock + ty * 2 + tx) * PADDED;
    add_up((const unsigned int *)in, 4 * PADDED / 2, (unsigned int *)side, (unsigned int *)stack,
           2 * PADDED / 2, (unsigned int *)whole);
}

// From 8 x 8 to 8 x 16, 16 x 8 and 16 x 16; one warp a macroblock.
extern "C" __global__ void larger_sad_calc_16(unsigned short *sads, int macroblocks_x,
                                              int macroblocks_y)
{
    const int all = macroblocks_x * macroblocks_y;
    const int macroblock = blockIdx.y * macroblocks_x + blockIdx.x;
    const unsigned short *in = sads + (5 * all + 4 * macroblock) * PADDED;
    unsigned short *side = sads + (3 * all + 2 * macroblock) * PADDED;
    unsigned short *stack = sads + (all + 2 * macroblock) * PADDED;
    unsigned short *whole = sads + macroblock * PADDED;
    add_up((const unsigned int *)in, 2 * PADDED / 2, (unsigned int *)side, (unsigned int *)stack,
           PADDED / 2, (unsigned int *)whole);
}
