"""The sum of two vectors by cuda.core: compiled by NVRTC, launched, captured, and run as a graph.

    pip install cuda-core nvidia-cuda-nvrtc
    warploom python --gpu rtx3070-ampere -- examples/cuda_core/vector_add.py
"""

import numpy
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = """
template <typename T>
__global__ void add(const T *a, const T *b, T *out, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = a[i] + b[i];
}
"""


def check(answer):
    """The values of an answer of the driver, after its code."""
    code, *values = answer
    assert code == driver.CUresult.CUDA_SUCCESS, code
    return values


def main():
    device = Device()
    device.set_current()
    stream = device.create_stream()
    major, minor = device.compute_capability
    options = ProgramOptions(std="c++17", arch=f"compute_{major}{minor}")
    program = Program(SOURCE, code_type="c++", options=options)
    add = program.compile("ptx", name_expressions=("add<float>",)).get_kernel("add<float>")

    count = 5000
    random = numpy.random.default_rng(5)
    hosts = [random.random(count, dtype="f4") for _ in range(2)] + [numpy.zeros(count, "f4")]
    buffers = [device.allocate(host.nbytes, stream=stream) for host in hosts]
    for buffer, host in zip(buffers, hosts):
        check(driver.cuMemcpyHtoD(int(buffer.handle), host.ctypes.data, host.nbytes))
    a, b, out = hosts
    on_a, on_b, on_out = buffers

    config = LaunchConfig(grid=8, block=256)
    launch(stream, config, add, on_a, on_b, on_out, numpy.uint64(count))
    # Twice out = a + out, as a graph.
    builder = stream.create_graph_builder()
    builder.begin_building()
    launch(builder, config, add, on_a, on_out, on_out, numpy.uint64(count))
    graph = builder.end_building().complete()
    graph.launch(stream)
    graph.launch(stream)
    stream.sync()
    check(driver.cuMemcpyDtoH(out.ctypes.data, int(on_out.handle), out.nbytes))
    numpy.testing.assert_array_equal(out, a + (a + (a + b)))
    print(f"vector_add: {count} sums are right")


if __name__ == "__main__":
    main()
