"""A kernel of PyCUDA on arrays of numpy, and a sum of arrays of the device, on a simulated GPU.

    pip install pycuda nvidia-cuda-nvrtc-cu12
    warploom python --gpu rtx3070-ampere -- examples/pycuda/saxpy.py

PyCUDA is built from its source, with the headers of CUDA: `.ci/python` says how.
"""

import numpy
import pycuda.autoinit  # noqa: F401
import pycuda.driver as cuda
from pycuda import gpuarray
from pycuda.compiler import SourceModule

COUNT = 500
BLOCK = 128

SOURCE = """
__global__ void saxpy(float a, const float *x, float *y, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] = a * x[i] + y[i];
}
"""


def main():
    x, y = numpy.arange(COUNT, dtype="f4"), numpy.ones(COUNT, "f4")
    saxpy = SourceModule(SOURCE).get_function("saxpy")
    sizes = {"block": (BLOCK, 1, 1), "grid": (-(-COUNT // BLOCK), 1)}
    saxpy(numpy.float32(2), cuda.In(x), cuda.InOut(y), numpy.int32(COUNT), **sizes)
    numpy.testing.assert_array_equal(y, 2 * x + 1)
    total = gpuarray.to_gpu(x) + gpuarray.to_gpu(y)
    numpy.testing.assert_array_equal(total.get(), 3 * x + 1)
    print(f"saxpy: {COUNT} sums, twice, are right")


if __name__ == "__main__":
    main()
