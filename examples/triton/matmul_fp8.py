"""Product of two matrices of 8-bit floats (e4m3) by a Triton kernel, on the tensor units of a
simulated GPU. The right matrix is stored by columns, as the units read it.

    warploom python --gpu h100-hopper -- examples/triton/matmul_fp8.py
"""

import numpy
import triton
import triton.language as tl

from warploom import cuda


@triton.jit
def matmul_fp8(
    a,
    b,
    c,
    N,
    K,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    TILE_K: tl.constexpr,
):
    # Arrays of numpy have no such type: their elements are bytes.
    a = a.to(tl.pointer_type(tl.float8e4nv), bitcast=True)
    b = b.to(tl.pointer_type(tl.float8e4nv), bitcast=True)
    row = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    column = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    inner = tl.arange(0, TILE_K)
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for start in range(0, K, TILE_K):
        left = tl.load(a + row[:, None] * K + start + inner[None, :])
        right = tl.load(b + column[None, :] * K + start + inner[:, None])
        total = tl.dot(left, right, total)
    tl.store(c + row[:, None] * N + column[None, :], total.to(tl.float16))


def values(codes):
    """Numbers of 8-bit floats: a sign, four bits of exponent, three of fraction."""
    sign = numpy.where(codes & 0x80, -1.0, 1.0)
    exponent = (codes >> 3 & 15).astype("i4")
    fraction = (codes & 7) / 8
    normal = (1 + fraction) * 2.0 ** (exponent - 7)
    return sign * numpy.where(exponent == 0, fraction * 2.0**-6, normal)


def main():
    rng = numpy.random.default_rng(10)
    m, n, k = 128, 64, 96
    # Both signs, magnitudes from 0 to 15.
    a, b = (
        (rng.integers(0, 0x58, size=shape) | rng.choice([0, 0x80], size=shape)).astype("u1")
        for shape in ((m, k), (n, k))
    )
    c = cuda.zeros((m, n), "f2")
    grid = (m // 64, n // 64)
    matmul_fp8[grid](cuda.array(a), cuda.array(b), c, n, k, TILE_M=64, TILE_N=64, TILE_K=32)
    expected = values(a) @ values(b).T
    numpy.testing.assert_allclose(c.numpy(), expected, rtol=2e-3, atol=0.5)
    print(f"matmul_fp8: {m} x {n} sums of {k} products are right")


if __name__ == "__main__":
    main()
