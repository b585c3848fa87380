"""Softmax of each row of a matrix, by a Triton kernel on a simulated GPU.

    warploom python --gpu rtx3070-ampere -- examples/triton/softmax.py
"""

import numpy
import triton
import triton.language as tl

from warploom import cuda


@triton.jit
def softmax(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + at, powers / tl.sum(powers, axis=0), mask=at < columns)


def main():
    rows, columns = 37, 781
    a = numpy.random.default_rng(2).normal(size=(rows, columns)).astype("f4")
    x, out = cuda.array(a), cuda.zeros(a.shape, "f4")
    block = triton.next_power_of_2(columns)
    softmax[(rows,)](x, out, x.stride(0), columns, BLOCK=block)
    powers = numpy.exp(a.astype("f8") - a.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    numpy.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)
    print(f"softmax: {rows} rows of {columns} are right")


if __name__ == "__main__":
    main()
