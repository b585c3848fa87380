"""Product of two matrices of 16-bit floats whose tiles the tensor memory accelerator moves. The
kernel makes the descriptors of its tensors itself; its blocks take tile after tile.

    warploom python --gpu h100-hopper -- examples/triton/descriptors.py
"""

import numpy
import triton
import triton.language as tl

from warploom import cuda


@triton.jit
def product(
    a,
    b,
    c,
    M,
    N,
    K,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    TILE_K: tl.constexpr,
):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [TILE_M, TILE_K])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [TILE_K, TILE_N])
    out = tl.make_tensor_descriptor(c, [M, N], [N, 1], [TILE_M, TILE_N])
    row = tl.program_id(0) * TILE_M
    column = tl.program_id(1) * TILE_N
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for k in range(0, K, TILE_K):
        total = tl.dot(left.load([row, k]), right.load([k, column]), total)
    out.store([row, column], total.to(tl.float16))


@triton.jit
def persistent(
    a,
    b,
    c,
    M,
    N,
    K,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    TILE_K: tl.constexpr,
    SPECIAL: tl.constexpr,
):
    """Blocks take tile after tile; with SPECIAL, warps of their own move the operands."""
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [TILE_M, TILE_K])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [TILE_K, TILE_N])
    out = tl.make_tensor_descriptor(c, [M, N], [N, 1], [TILE_M, TILE_N])
    down = tl.cdiv(M, TILE_M)
    tiles = down * tl.cdiv(N, TILE_N)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), warp_specialize=SPECIAL):
        row = tile % down * TILE_M
        column = tile // down * TILE_N
        total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
        for k in range(0, K, TILE_K):
            total = tl.dot(left.load([row, k]), right.load([k, column]), total)
        out.store([row, column], total.to(tl.float16))


def main():
    triton.set_allocator(lambda size, alignment, stream: cuda.zeros(size, "i1"))
    rng = numpy.random.default_rng(7)
    m, n, k = 128, 192, 160
    a, b = rng.normal(size=(m, k)).astype("f2"), rng.normal(size=(k, n)).astype("f2")
    expected = a.astype("f4") @ b.astype("f4")
    arrays = cuda.array(a), cuda.array(b)
    tiles = {"TILE_M": 64, "TILE_N": 64, "TILE_K": 32}
    c = cuda.zeros((m, n), "f2")
    product[(m // 64, n // 64)](*arrays, c, m, n, k, **tiles)
    numpy.testing.assert_allclose(c.numpy(), expected, rtol=2e-3, atol=2e-2)
    for special in False, True:
        c = cuda.zeros((m, n), "f2")
        persistent[(4,)](*arrays, c, m, n, k, **tiles, SPECIAL=special)
        numpy.testing.assert_allclose(c.numpy(), expected, rtol=2e-3, atol=2e-2)
    print(f"descriptors: {m} x {n} sums of {k} products are right")


if __name__ == "__main__":
    main()
