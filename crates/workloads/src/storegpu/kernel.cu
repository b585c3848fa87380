// First words of the hashes of overlapping windows: one thread a window. Windows begin `offset`
// bytes apart. A thread keeps the 16 words of its message block in its own bank of shared memory.

typedef unsigned int uint;

// Four blocks of 512 words, one a warp, cut so that the kernel's arguments fit beside them in the
// 16 KB of the first GPUs: what the benchmark declares.
#define SHARED_WORDS (4 * 1024 - 32)
#define WORDS_PER_WARP 512
#define WORD(k) (32 * (k))

__device__ uint rotate(uint x, int bits)
{
    return (x << bits) | (x >> (32 - bits));
}

// Padded message of one block: the window, the bit after it, its length in the last two words.
__device__ void load_block(volatile uint *words, const uint *window, int bytes, bool big_endian)
{
    const int count = bytes / 4;
    for (int k = count + 1; k < 14; ++k) {
        words[WORD(k)] = 0;
    }
    for (int k = 0; k < count; ++k) {
        words[WORD(k)] = window[k];
    }
    words[WORD(count)] = 0x80;
    words[WORD(14)] = big_endian ? (uint)bytes >> 29 : (uint)bytes << 3;
    words[WORD(15)] = big_endian ? (uint)bytes << 3 : (uint)bytes >> 29;
}

// Words of the hash's byte order, put together from bytes.
__device__ void order_bytes(volatile uint *words, int count, bool big_endian)
{
#pragma unroll
    for (int k = 0; k < count; ++k) {
        volatile unsigned char *b = (volatile unsigned char *)&words[WORD(k)];
        const uint b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
        words[WORD(k)] = big_endian ? b0 << 24 | b1 << 16 | b2 << 8 | b3
                                    : b3 << 24 | b2 << 16 | b1 << 8 | b0;
    }
}

// FIPS 180-1; 16 words of the schedule are kept and renewed in a ring.
extern "C" __global__ void sha1_windows(
    uint *hashes, const unsigned char *input, int bytes, int offset, int threads)
{
    __shared__ uint s_words[SHARED_WORDS];
    const int thread = blockDim.x * blockIdx.x + threadIdx.x;
    if (thread >= threads) {
        return;
    }
    volatile uint *words = s_words + (threadIdx.x >> 5) * WORDS_PER_WARP + (threadIdx.x & 31);
    load_block(words, (const uint *)(input + thread * offset), bytes, true);
    order_bytes(words, 14, true);
    uint a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476, e = 0xc3d2e1f0;
#pragma unroll
    for (int t = 0; t < 80; ++t) {
        uint word;
        if (t < 16) {
            word = words[WORD(t)];
        } else {
            word = rotate(words[WORD((t + 13) & 15)] ^ words[WORD((t + 8) & 15)]
                ^ words[WORD((t + 2) & 15)] ^ words[WORD(t & 15)], 1);
            words[WORD(t & 15)] = word;
        }
        const uint mix = t < 20 ? d ^ (b & (c ^ d))
            : t < 40 ? b ^ c ^ d
            : t < 60 ? (b & c) | (d & (b | c))
            : b ^ c ^ d;
        const uint constant = t < 20 ? 0x5a827999
            : t < 40 ? 0x6ed9eba1
            : t < 60 ? 0x8f1bbcdc
            : 0xca62c1d6;
        const uint next = rotate(a, 5) + mix + e + constant + word;
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    hashes[thread] = 0x67452301 + a;
}

// RFC 1321.
extern "C" __global__ void md5_windows(
    uint *hashes, const unsigned char *input, int bytes, int offset, int threads)
{
    const int shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    // floor(2^32 |sin(i + 1)|)
    const uint sines[64] = {
        0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613,
        0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193,
        0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d,
        0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed,
        0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122,
        0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
        0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244,
        0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
        0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb,
        0xeb86d391,
    };
    __shared__ uint s_words[SHARED_WORDS];
    const int thread = blockDim.x * blockIdx.x + threadIdx.x;
    if (thread >= threads) {
        return;
    }
    volatile uint *words = s_words + (threadIdx.x >> 5) * WORDS_PER_WARP + (threadIdx.x & 31);
    load_block(words, (const uint *)(input + thread * offset), bytes, false);
    order_bytes(words, 16, false);
    uint a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
#pragma unroll
    for (int t = 0; t < 64; ++t) {
        const uint mix = t < 16 ? d ^ (b & (c ^ d))
            : t < 32 ? c ^ (d & (b ^ c))
            : t < 48 ? b ^ c ^ d
            : c ^ (b | ~d);
        const int k = t < 16 ? t : t < 32 ? (5 * t + 1) & 15 : t < 48 ? (3 * t + 5) & 15 : 7 * t & 15;
        const uint next = b + rotate(a + mix + words[WORD(k)] + sines[t], shifts[t >> 4][t & 3]);
        a = d;
        d = c;
        c = b;
        b = next;
    }
    hashes[thread] = 0x67452301 + a;
}
