"""Kernels in CUDA C++ on numpy's arrays: products of matrices and a transposition, which are right.

    pip install nvidia-cuda-nvrtc-cu12
    python examples/kernels/check.py
"""

from pathlib import Path

import numpy
import warploom

FOLDER = Path(__file__).parent
GPU = warploom.Gpu("h100-hopper")


def kernel(name):
    """The kernel of the file of its name."""
    path = FOLDER / f"{name}.cu"
    return warploom.Module.from_cuda(path, GPU, architecture="compute_90").kernel(name)


def main():
    rng = numpy.random.default_rng(11)
    m, n, k = 128, 256, 96
    a, b = rng.normal(size=(m, k)), rng.normal(size=(k, n))

    half_a, half_b, c = a.astype("f2"), b.astype("f2"), numpy.zeros((m, n), "f4")
    result = kernel("gemm_mma")[(n // 128, m // 128), 256](half_a, half_b, c, n, k)
    numpy.testing.assert_allclose(c, half_a.astype("f8") @ half_b.astype("f8"), atol=1e-4)
    print(f"gemm_mma: {result.cycles} cycles, {m} x {n} sums of {k} products are right")

    c = numpy.zeros((m, n), "f4")
    single_a, single_b = a.astype("f4"), b.astype("f4")
    result = kernel("sgemm")[(n // 64, m // 64), 128](single_a, single_b, c, n, k)
    numpy.testing.assert_allclose(c, a @ b, atol=1e-4)
    print(f"sgemm: {result.cycles} cycles, {m} x {n} sums of {k} products are right")

    turned = numpy.zeros((k, m), "f4")
    result = kernel("transpose")[(k // 32, m // 32), (32, 8)](single_a, turned, m, k)
    numpy.testing.assert_array_equal(turned, single_a.T)
    print(f"transpose: {result.cycles} cycles, {m} x {k} elements are right")


if __name__ == "__main__":
    main()
