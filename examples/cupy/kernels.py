"""CuPy on a simulated GPU: an elementwise kernel, a kernel in CUDA C++, and a sum.

    pip install cupy-cuda12x nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12
    warploom python --gpu rtx3070-ampere -- examples/cupy/kernels.py
"""

import cupy
import numpy

COUNT = 1000
BLOCK = 128

squares = cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x * x + y", "squares")
reverse = cupy.RawKernel(
    r"""extern "C" __global__ void reverse(const float *from, float *to, int count) {
        int i = blockDim.x * blockIdx.x + threadIdx.x;
        if (i < count)
            to[i] = from[count - 1 - i];
    }""",
    "reverse",
)


def main():
    numbers = cupy.arange(COUNT, dtype="f4")
    expected = numpy.arange(COUNT, dtype="f4")
    numpy.testing.assert_array_equal(numbers.get(), expected)
    z = squares(numbers, cupy.ones(COUNT, "f4"))
    numpy.testing.assert_array_equal(z.get(), expected * expected + 1)
    back = cupy.zeros(COUNT, "f4")
    reverse((-(-COUNT // BLOCK),), (BLOCK,), (numbers, back, numpy.int32(COUNT)))
    numpy.testing.assert_array_equal(back.get(), expected[::-1])
    assert int(numbers.sum()) == COUNT * (COUNT - 1) // 2
    print(f"kernels: squares, reversal and sum of {COUNT} numbers are right")


if __name__ == "__main__":
    main()
