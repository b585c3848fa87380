"""Sums and a histogram by Numba kernels: shared memory, atomics, and Numba's own reduction.

    pip install numba-cuda nvidia-nvvm nvidia-cuda-nvrtc
    warploom python --gpu rtx3070-ampere -- examples/numba/reduce.py
"""

import numpy
from numba import cuda, int32

BLOCK = 128
BINS = 16


@cuda.jit
def block_sums(values, total):
    """Adds the values of each block in shared memory, then those sums by an atomic."""
    part = cuda.shared.array(BLOCK, int32)
    i, thread = cuda.grid(1), cuda.threadIdx.x
    part[thread] = values[i] if i < values.size else 0
    cuda.syncthreads()
    half = BLOCK // 2
    while half:
        if thread < half:
            part[thread] += part[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        cuda.atomic.add(total, 0, part[0])


@cuda.jit
def histogram(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(bins, values[i] % BINS, 1)


@cuda.reduce
def largest(a, b):
    return max(a, b)


def main():
    values = numpy.random.default_rng(6).integers(0, 1000, 1500, dtype="i4")
    grid = -(-values.size // BLOCK)
    total, bins = numpy.zeros(1, "i4"), numpy.zeros(BINS, "i4")
    block_sums[grid, BLOCK](values, total)
    histogram[grid, BLOCK](values, bins)
    assert total[0] == values.sum()
    numpy.testing.assert_array_equal(bins, numpy.bincount(values % BINS, minlength=BINS))
    assert largest(values) == values.max()
    print(f"reduce: the sum, {BINS} bins and the maximum of {values.size} values are right")


if __name__ == "__main__":
    main()
