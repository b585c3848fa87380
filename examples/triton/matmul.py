"""Product of two matrices of 16-bit floats by a Triton kernel, on the tensor units of a simulated
GPU.

    warploom python --gpu rtx3070-ampere -- examples/triton/matmul.py
"""

import numpy
import triton
import triton.language as tl

from warploom import cuda


@triton.jit
def matmul(a, b, c, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    row = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    column = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    inner = tl.arange(0, TILE_K)
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for start in range(0, K, TILE_K):
        left = tl.load(a + row[:, None] * K + start + inner[None, :])
        right = tl.load(b + (start + inner[:, None]) * N + column[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + row[:, None] * N + column[None, :], total)


def main():
    rng = numpy.random.default_rng(3)
    m, n, k = 64, 128, 96
    a, b = rng.normal(size=(m, k)).astype("f2"), rng.normal(size=(k, n)).astype("f2")
    c = cuda.zeros((m, n), "f4")
    grid = (m // 32, n // 64)
    matmul[grid](cuda.array(a), cuda.array(b), c, n, k, TILE_M=32, TILE_N=64, TILE_K=32)
    numpy.testing.assert_allclose(c.numpy(), a.astype("f4") @ b.astype("f4"), rtol=1e-3, atol=1e-3)
    print(f"matmul: {m} x {n} sums of {k} products are right")


if __name__ == "__main__":
    main()
