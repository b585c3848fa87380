"""Adds two vectors by a Triton kernel on a simulated GPU.

    warploom python --gpu rtx3070-ampere -- examples/triton/vector_add.py
"""

import numpy
import triton
import triton.language as tl

from warploom import cuda


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)
    tl.store(out + at, total, mask=inside)


def main():
    rng = numpy.random.default_rng(1)
    n = 10_007
    a, b = rng.random(n, dtype="f4"), rng.random(n, dtype="f4")
    x, y, out = cuda.array(a), cuda.array(b), cuda.zeros(n, "f4")
    add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    numpy.testing.assert_array_equal(out.numpy(), a + b)
    print(f"vector_add: {n} sums are right")


if __name__ == "__main__":
    main()
