"""Products of groups of rows, each with a matrix of its own, by one launch of a Triton kernel whose
blocks take tile after tile: the layers of experts in a language model.

    warploom python --gpu rtx3070-ampere -- examples/triton/grouped.py
    warploom python --gpu h100-hopper -- examples/triton/grouped.py         with wgmma
"""

import numpy
import triton
import triton.language as tl

from warploom import cuda


@triton.jit
def grouped(
    a,
    b,
    c,
    sizes,
    groups,
    N,
    K,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    TILE_K: tl.constexpr,
):
    tile = tl.program_id(0)
    across = tl.cdiv(N, TILE_N)
    inner = tl.arange(0, TILE_K)
    # First row of the group and number of the tiles before it.
    first = 0
    before = 0
    for group in range(groups):
        size = tl.load(sizes + group)
        tiles = tl.cdiv(size, TILE_M) * across
        while tile < before + tiles:
            row = (tile - before) // across * TILE_M + tl.arange(0, TILE_M)
            column = (tile - before) % across * TILE_N + tl.arange(0, TILE_N)
            inside = row[:, None] < size
            left = a + (first + row[:, None]) * K + inner[None, :]
            right = b + group * K * N + inner[:, None] * N + column[None, :]
            total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
            for _ in range(0, K, TILE_K):
                total = tl.dot(tl.load(left, mask=inside, other=0.0), tl.load(right), total)
                left += TILE_K
                right += TILE_K * N
            out = c + (first + row[:, None]) * N + column[None, :]
            tl.store(out, total.to(tl.float16), mask=inside)
            tile += tl.num_programs(0)
        before += tiles
        first += size


def reference(a, b, sizes):
    """Products by numpy; rows behind the last group are zero."""
    out = numpy.zeros((a.shape[0], b.shape[2]), "f4")
    first = 0
    for matrix, size in zip(b, sizes, strict=True):
        rows = slice(first, first + size)
        out[rows] = a[rows].astype("f4") @ matrix.astype("f4")
        first += size
    return out


def main():
    rng = numpy.random.default_rng(9)
    sizes = numpy.array([70, 0, 1, 128, 57], "i4")
    n, k = 128, 64
    a = rng.normal(size=(sizes.sum(), k)).astype("f2")
    b = rng.normal(size=(len(sizes), k, n)).astype("f2")
    c = cuda.zeros((len(a), n), "f2")
    arrays = cuda.array(a), cuda.array(b), c, cuda.array(sizes)
    grouped[(4,)](*arrays, len(sizes), n, k, TILE_M=64, TILE_N=64, TILE_K=32)
    numpy.testing.assert_allclose(c.numpy(), reference(a, b, sizes), rtol=2e-3, atol=2e-2)
    print(f"grouped: {len(sizes)} products of {len(a)} rows in all are right")


if __name__ == "__main__":
    main()
