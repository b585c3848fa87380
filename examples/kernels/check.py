"""Kernels in CUDA C++ on numpy's arrays: products of matrices and a transposition, which are right.

    pip install nvidia-cuda-nvrtc-cu12
    python examples/kernels/check.py
"""

from pathlib import Path

import numpy
import warploom

FOLDER = Path(__file__).parent
GPU = warploom.Gpu("h100-hopper")
RANDOM = numpy.random.default_rng(11)


def matrix(rows, columns, kind):
    return RANDOM.normal(size=(rows, columns)).astype(kind)


def check(name, size, arrays, expected, *numbers):
    """Launches the kernel of a file, whose output follows its first matrices."""
    path = FOLDER / f"{name}.cu"
    kernel = warploom.Module.from_cuda(path, GPU, architecture="compute_90a").kernel(name)
    out = numpy.zeros(expected.shape, "f4")
    result = kernel[size](*arrays[:2], out, *arrays[2:], *numbers)
    numpy.testing.assert_allclose(out, expected, atol=1e-3)
    print(f"{name}: {result.cycles} cycles, {out.shape[0]} x {out.shape[1]} values are right")


def main():
    m, n, k = 128, 256, 320
    a, b = matrix(m, k, "f2"), matrix(k, n, "f2")
    product = a.astype("f8") @ b.astype("f8")
    tiles = n // 128, m // 128
    check("gemm_mma", (tiles, 256), [a, b], product, n, k)

    # Memory for two tensor maps of each block. The right matrix is stored by columns.
    maps = numpy.zeros((n // 128 * m // 128, 256), "u1")
    by_columns = numpy.ascontiguousarray(b.T)
    check("gemm_tma", (tiles, 288, None, 132_416), [a, by_columns, maps], product, m, n, k)

    a, b = matrix(m, k, "f4"), matrix(k, n, "f4")
    product = a.astype("f8") @ b.astype("f8")
    check("sgemm", ((n // 64, m // 64), 128), [a, b], product, n, k)

    check("transpose", ((k // 32, m // 32), (32, 8)), [a], a.T, m, k)


if __name__ == "__main__":
    main()
