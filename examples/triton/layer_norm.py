"""Layer norm of each row of a matrix of 16-bit floats, by a Triton kernel on a simulated GPU.

    warploom python --gpu rtx3070-ampere -- examples/triton/layer_norm.py
"""

import numpy
import triton
import triton.language as tl

from warploom import cuda


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    normal = centred * tl.rsqrt(variance + epsilon)
    scaled = normal * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(out + row + at, scaled.to(tl.float16), mask=inside)


def reference(x, weight, bias, epsilon):
    """Layer norm by numpy, in 64 bits."""
    x = x.astype("f8")
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / numpy.sqrt(x.var(axis=1, keepdims=True) + epsilon) * weight + bias


def main():
    rng = numpy.random.default_rng(6)
    rows, columns, epsilon = 37, 781, 1e-5
    x = rng.normal(2, 3, size=(rows, columns)).astype("f2")
    weight, bias = (rng.normal(size=columns).astype("f4") for _ in range(2))
    out = cuda.zeros(x.shape, "f2")
    arrays = [cuda.array(each) for each in (x, weight, bias)]
    block = triton.next_power_of_2(columns)
    layer_norm[(rows,)](*arrays, out, columns, epsilon, BLOCK=block)
    expected = reference(x, weight, bias, epsilon)
    numpy.testing.assert_allclose(out.numpy(), expected, rtol=2e-3, atol=2e-3)
    print(f"layer_norm: {rows} rows of {columns} are right")


if __name__ == "__main__":
    main()
