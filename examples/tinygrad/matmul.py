"""A product of matrices and a softmax of its rows, by tinygrad on a simulated GPU.

    pip install tinygrad
    warploom python --gpu rtx3070-ampere -- examples/tinygrad/matmul.py
"""

import os

# tinygrad generates PTX and loads it by CUDA's driver.
os.environ.setdefault("DEV", "CUDA:PTX")

import numpy
from tinygrad import Tensor


def main():
    random = numpy.random.default_rng(4)
    a, b = random.random((64, 48), dtype="f4"), random.random((48, 32), dtype="f4")
    product = (Tensor(a) @ Tensor(b)).numpy()
    expected = a.astype("f8") @ b
    numpy.testing.assert_allclose(product, expected, rtol=1e-5)
    powers = numpy.exp(expected - expected.max(axis=1, keepdims=True))
    softmax = (Tensor(a) @ Tensor(b)).softmax(axis=1).numpy()
    numpy.testing.assert_allclose(softmax, powers / powers.sum(axis=1, keepdims=True), rtol=1e-4)
    print(f"matmul: {product.size} sums are right")


if __name__ == "__main__":
    main()
