"""Kernels on arrays: values against numpy, arguments, and errors."""

import struct
import sys

import numpy as np
import pytest
from conftest import SAXPY, STORE

import warploom
from warploom import Gpu, InputError, Module


def vectors(count=1000):
    return np.arange(count, dtype=np.float32), np.full(count, 3, np.float32)


def test_a_kernel_changes_arrays_in_place(saxpy):
    x, y = vectors()
    result = saxpy[4, 256](x, y, 2.0, 1000)
    np.testing.assert_array_equal(y, 2 * np.arange(1000, dtype=np.float32) + 3)
    np.testing.assert_array_equal(x, np.arange(1000, dtype=np.float32))
    assert [kernel.name for kernel in result.kernels] == ["saxpy"]
    assert result.kernels[0].grid == (4, 1, 1) and result.kernels[0].block == (256, 1, 1)
    assert result.cycles > 0 and result.outcome == "finished" and result.passed


def test_equal_launches_have_equal_digests(saxpy):
    digests = {saxpy.launch(4, 256, *vectors(), 2.0, 1000).digest for _ in range(2)}
    assert len(digests) == 1
    assert saxpy[4, 256](*vectors(), 2.5, 1000).digest not in digests


def test_one_array_as_two_arguments_is_one_array(saxpy):
    x, _ = vectors()
    saxpy[4, 256](x, x, 2.0, 1000)
    np.testing.assert_array_equal(x, 3 * np.arange(1000, dtype=np.float32))


def test_parts_of_one_array_are_refused(saxpy):
    x, _ = vectors(2000)
    with pytest.raises(InputError, match="parts of the same memory"):
        saxpy[4, 256](x[:1000], x[500:1500], 2.0, 1000)


def test_read_only_arrays_go_in_only(saxpy):
    x, y = vectors()
    x.flags.writeable = False
    saxpy[4, 256](x, y, 1.0, 1000)
    assert y[999] == 999 + 3
    x, y = vectors()
    y.flags.writeable = False
    saxpy[4, 256](x, y, 1.0, 1000)
    assert y[999] == 3


def test_arrays_with_gaps_are_refused_with_a_remedy(saxpy):
    x, y = vectors(2000)
    with pytest.raises(InputError, match="ascontiguousarray"):
        saxpy[4, 256](x[::2], y[:1000].copy(), 2.0, 1000)


def test_memory_of_other_objects(saxpy):
    import array

    y = array.array("f", [1.0] * 32)
    saxpy[1, 32](bytearray(struct.pack("32f", *range(32))), y, 1.0, 32)
    assert list(y) == [1.0 + number for number in range(32)]


def test_scalars_have_the_types_of_their_parameters():
    store = Module.from_ptx(STORE).store
    types = [param.type for param in store.parameters]
    assert types == ["u64", "s32", "u8", "f64", "u16", "bytes"]
    out = np.zeros(24, np.uint8)
    store[1, 1](out, np.int64(-5), np.uint8(255), 0.1, np.uint16(0x3C00), struct.pack("ii", 6, -7))
    assert struct.unpack("<diiiHB", out.tobytes()[:23]) == (0.1, -5, 6, -7, 0x3C00, 255)


@pytest.mark.parametrize(
    "place, value, message",
    [
        (1, 2**32, r"argument 2 of kernel `store` \(parameter `i`, s32\): 4294967296 does not fit 32"),
        (1, -(2**31) - 1, "give a number from -2147483648"),
        (2, 256, r"parameter `b`, u8.*give a number from -128 to 255"),
        (2, 1.5, "give an integer"),
        (3, "x", "neither a number nor an array"),
        (5, b"abc", "3 bytes were given and 8 are needed"),
        (5, 1, "struct.pack"),
    ],
)
def test_values_that_do_not_fit_are_refused(place, value, message):
    args = [np.zeros(24, np.uint8), 0, 0, 0.0, 0, bytes(8)]
    args[place] = value
    with pytest.raises(InputError, match=message):
        Module.from_ptx(STORE).store[1, 1](*args)


def test_the_number_of_arguments_is_checked(saxpy):
    with pytest.raises(InputError, match=r"takes 4 arguments, 1 were given; it declares: x \(u64\)"):
        saxpy[1, 32](1)


@pytest.mark.parametrize("size", [0, (1, 2, 3, 4), (1, -1), 2**32, 4.0, "4"])
def test_sizes_are_checked(saxpy, size):
    with pytest.raises(InputError, match="is not a size"):
        saxpy[size, 32](*vectors(), 1.0, 0)


def test_too_large_blocks_are_refused(saxpy):
    with pytest.raises(InputError, match="saxpy"):
        saxpy[1, 2048](*vectors(), 1.0, 0)


def test_faults_name_kernel_line_block_and_thread(saxpy):
    x, y = vectors(32)
    with pytest.raises(warploom.Fault) as caught:
        saxpy[2, 32](x, y, 1.0, 64)
    fault = caught.value
    line = 1 + SAXPY.splitlines().index("    ld.global.f32 %f2, [%d4];")
    assert (fault.kernel, fault.line, fault.block, fault.thread) == ("saxpy", line, (1, 0, 0), (0, 0, 0))
    assert "out of bounds" in str(fault)


def test_wrong_ptx_is_shown_with_its_place():
    module = Module.from_ptx(SAXPY.replace("fma.rn.f32", "fma.rx.f32"))
    with pytest.raises(InputError, match=r"fma\.rx\.f32"):
        module.saxpy
    with pytest.raises(InputError, match="PTX:1:"):
        Module.from_ptx("version 7.0\n")


def test_unknown_names_name_those_that_exist():
    with pytest.raises(InputError, match="no kernel `axpy2`; it has: saxpy"):
        Module.from_ptx(SAXPY).kernel("axpy2")
    with pytest.raises(AttributeError, match="it has: saxpy"):
        Module.from_ptx(SAXPY).daxpy
    with pytest.raises(InputError, match="check the path"):
        Module.from_ptx("missing.ptx")
    with pytest.raises(InputError, match="sm.warp_scheduler"):
        Gpu("gtx480", {"sm.warp_schedular": "lrr"})
    with pytest.raises(InputError, match="gtx480"):
        Gpu("gtx481")


def test_a_launch_without_sizes_is_refused_with_the_remedy(saxpy):
    for launch in (lambda: saxpy(*vectors(), 1.0, 0), lambda: saxpy[4], lambda: saxpy[1, 2, 0, 0, 0]):
        with pytest.raises(InputError, match=r"`saxpy\[grid, block\]\(...\)`"):
            launch()


def test_sizes_may_be_numpys_and_a_stream_may_be_0(saxpy):
    x, y = vectors(32)
    saxpy[np.int64(1), (np.uint32(32),), 0](x, y, 1.0, 32)
    assert y[31] == 31 + 3
    with pytest.raises(InputError, match=r"run\.stream\(\)"):
        saxpy[1, 32, 7]


def test_lists_are_refused_with_a_remedy(saxpy):
    with pytest.raises(InputError, match=r"argument 1 .*numpy\.asarray"):
        saxpy[1, 32]([1.0, 2.0], vectors()[1], 1.0, 2)
    with pytest.raises(InputError, match=r"a value of type `.*list.*` is neither"):
        saxpy[1, 32]([1.0] * 1000, vectors()[1], 1.0, 2)


def test_part_of_a_name_finds_a_kernel():
    assert Module.from_ptx(SAXPY).kernel("axp").name == "saxpy"


def test_cuda_source_is_compiled_or_the_remedy_is_named(tmp_path):
    source = 'extern "C" __global__ void twice(int *x) { x[threadIdx.x] *= 2; }'
    try:
        import nvidia.cuda_nvrtc  # noqa: F401
    except ImportError:
        with pytest.raises(InputError, match="pip install nvidia-cuda-nvrtc"):
            Module.from_cuda(source)
        return
    x = np.arange(32, dtype=np.int32)
    Module.from_cuda(source).twice[1, 32](x)
    np.testing.assert_array_equal(x, 2 * np.arange(32))
    with pytest.raises(InputError, match="identifier"):
        Module.from_cuda(source.replace("*= 2", "*= y"))
    file = tmp_path / "twice.cu"
    file.write_text(source.replace("*= 2", "*= y"))
    with pytest.raises(InputError, match=r"twice\.cu\(1\)"):
        Module.from_cuda(str(file))
    file.write_text(source)
    assert Module.from_cuda(file).kernels == ["twice"]
    with pytest.raises(InputError, match="check the path"):
        Module.from_cuda("absent.cu")
    with pytest.raises(InputError, match="leave the line out"):
        Module.from_cuda("#include <stdio.h>\n" + source)


def test_output_of_kernels_goes_to_pythons_standard_output(capsys):
    text = """.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 hello[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry greet() {
    .reg .b64 %d;
    .reg .b64 %a;
    mov.u64 %d, hello;
    cvta.global.u64 %d, %d;
    mov.u64 %a, 0;
    {
    .param .b64 f;
    .param .b64 v;
    .param .b32 r;
    st.param.b64 [f], %d;
    st.param.b64 [v], %a;
    call.uni (r), vprintf, (f, v);
    }
    ret;
}
"""
    Module.from_ptx(text).greet[1, 1]()
    sys.stdout.flush()
    assert capsys.readouterr().out == "hello\n"
