"""Driver of Triton's backend ``warploom``: launches by the simulated CUDA driver.

Python's own access to C libraries is enough for it. Triton's driver for NVIDIA has a C compiler
build a module first, and asks torch for the time of a kernel.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from triton.backends import driver as base
from triton.backends.compiler import GPUTarget

from .. import cuda
from .._command import TRITON_BACKEND
from ..errors import InputError
from . import do_bench, is_chosen
from ._tensor_map import encode

#: Numbers of attributes of the device in CUDA's driver.
_ATTRIBUTES = {
    "max_num_regs": 12,
    "sm_clock_rate": 13,
    "multiprocessor_count": 16,
    "warpSize": 10,
    "mem_clock_rate": 36,
    "mem_bus_width": 37,
    "max_shared_mem": 97,
}
_CAPABILITY = 75, 76
#: Numbers of attributes of functions, and of the attribute of pointers that is their address.
_MAX_THREADS, _LOCAL_BYTES, _REGISTERS, _MAX_DYNAMIC_SHARED = 0, 3, 4, 8
_ADDRESS = 3
#: Number of the limit of the ring buffer for printf.
_PRINTF = 1
#: Lowest architecture for which Triton compiles. Older machines execute its PTX, too.
_LOWEST = 75
#: Shared memory of a block that needs no request, in bytes.
_SHARED = 48 << 10


def _half(value: float) -> ctypes.c_uint16:
    return ctypes.c_uint16(struct.unpack("<H", struct.pack("<e", value))[0])


def _bfloat(value: float) -> ctypes.c_uint16:
    # The upper half of the number, as Triton's driver for NVIDIA passes it.
    return ctypes.c_uint16(struct.unpack("<I", struct.pack("<f", value))[0] >> 16)


def _address(value: Any) -> ctypes.c_uint64:
    """Address on the device of an array, or of a number or None, which Triton passes for some."""
    if value is None or isinstance(value, int):
        return ctypes.c_uint64(value or 0)
    address = ctypes.c_uint64(value.data_ptr())
    if address.value:
        found = ctypes.c_uint64()
        try:
            cuda._call("cuPointerGetAttribute", ctypes.byref(found), _ADDRESS, address)
        except cuda.DriverError as error:
            raise InputError(
                "an argument is an array of the host; copy it by `warploom.cuda.array`"
            ) from error
    return address


#: Conversions of arguments by Triton's names of types.
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "i1": ctypes.c_int32,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u1": ctypes.c_uint32,
    "u8": ctypes.c_uint8,
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "fp16": _half,
    "bf16": _bfloat,
    "fp32": ctypes.c_float,
    "f32": ctypes.c_float,
    "fp64": ctypes.c_double,
    "nvTmaDesc": lambda value: value,
}


class _Attribute(ctypes.Structure):
    """Attribute of a launch (``CUlaunchAttribute``)."""

    _fields_ = [("id", ctypes.c_uint64), ("value", ctypes.c_uint32 * 16)]


class _Config(ctypes.Structure):
    """Sizes of a launch (``CUlaunchConfig``)."""

    _fields_ = [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared", ctypes.c_uint32),
        ("stream", ctypes.c_uint64),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint32),
    ]


#: Numbers of the attributes of a cooperative launch and of clusters.
_COOPERATIVE, _CLUSTER = 2, 4


class Utilities:
    """What Triton asks of a device by the attribute ``utils`` of its driver."""

    def load_binary(
        self, name: str, binary: bytes, shared_bytes: int, device: int
    ) -> tuple[int, int, int, int, int]:
        """Loads PTX: module, function, registers per thread, spilled words, largest block."""
        module, function = ctypes.c_uint64(), ctypes.c_uint64()
        cuda._call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(binary))
        cuda._call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if shared_bytes > _SHARED:
            cuda._call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, shared_bytes)
        registers, local, threads = (
            _number("cuFuncGetAttribute", number, function)
            for number in (_REGISTERS, _LOCAL_BYTES, _MAX_THREADS)
        )
        return module.value, function.value, registers, local // 4, threads

    def unload_module(self, module: int) -> None:
        """Unloads a module."""
        cuda._forget("cuModuleUnload", module)

    def get_device_properties(self, device: int) -> dict[str, int]:
        """Sizes in bytes, clocks in kHz, width of the memory's bus in bits."""
        return {
            name: _number("cuDeviceGetAttribute", number, ctypes.c_int(device))
            for name, number in _ATTRIBUTES.items()
        }

    def set_printf_fifo_size(self, size: int) -> None:
        """Sets the size of the ring buffer for the output of kernels, in bytes."""
        cuda._call("cuCtxSetLimit", _PRINTF, ctypes.c_size_t(size))


class DeviceInterface:
    """What benchmarks ask of the device: events and waiting, as ``torch.cuda`` has them."""

    Event = cuda.Event
    synchronize = staticmethod(cuda.synchronize)

    @staticmethod
    def current_device() -> int:
        """Number of the device, of which there is one."""
        return 0


class Launcher:
    """Launches one compiled kernel."""

    def __init__(self, src: Any, metadata: Any):
        descriptors = getattr(metadata, "tensordesc_meta", None)
        types = tuple(src.signature.values())
        self._types = base.expand_signature(types, descriptors, "nvTmaDesc")
        # Arguments with the fields of descriptors of tensors in their places.
        self._expand = base.wrap_handle_tensordesc_impl(
            lambda args: args, src.signature, descriptors, _descriptor
        )
        self._metadata = metadata

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: int,
        function: int,
        packed: tuple[int, int, int],
        about: Any,
        enter: Callable[[Any], None] | None,
        leave: Callable[[Any], None] | None,
        *args: Any,
    ) -> None:
        """Launches a grid of `x` by `y` by `z` programs. The call does not wait for its end."""
        warps, blocks, shared = packed
        scratch = self._scratch(x * y * z * blocks, stream)
        if enter is not None:
            enter(about)
        if x * y * z > 0:
            flat = [*_flat(self._types, self._expand(args)), *(("*", part) for part in scratch)]
            config = self._config((x * blocks, y, z), warps, blocks, shared, stream)
            _launch(config, function, [_converted(*each) for each in flat])
        if leave is not None:
            leave(about)

    def _scratch(self, blocks: int, stream: int) -> list[Any]:
        """Memory that the compiler lets a launch have: for the kernel, and for profilers."""
        from triton.runtime import _allocation

        metadata = self._metadata
        kernel = metadata.global_scratch_size * blocks
        profile = metadata.profile_scratch_size * blocks
        allocate = _allocation._allocator.get()
        return [
            allocate(kernel, metadata.global_scratch_align, stream) if kernel else None,
            cuda.zeros(profile, "i1") if profile else None,
        ]

    def _config(
        self, grid: tuple[int, int, int], warps: int, blocks: int, shared: int, stream: int
    ) -> _Config:
        attributes = []
        if self._metadata.launch_cooperative_grid:
            attributes.append(_Attribute(_COOPERATIVE, (1,)))
        if blocks > 1:
            attributes.append(_Attribute(_CLUSTER, (blocks, 1, 1)))
        array = (_Attribute * max(1, len(attributes)))(*attributes)
        return _Config(grid, (32 * warps, 1, 1), shared, stream, array, len(attributes))


def _launch(config: _Config, function: int, values: Sequence[Any]) -> None:
    count = ctypes.c_size_t()
    cuda._call("cuFuncGetParamCount", ctypes.c_uint64(function), ctypes.byref(count))
    if count.value != len(values):
        raise InputError(
            f"the kernel has {count.value} parameters and gets {len(values)} arguments; "
            "instrumented kernels need Triton's own backend (TRITON_DEFAULT_BACKEND=nvidia)"
        )
    array = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    cuda._call("cuLaunchKernelEx", ctypes.byref(config), ctypes.c_uint64(function), array, None)


def _number(query: str, attribute: int, of: Any) -> int:
    """Value of an attribute of a device or a function."""
    value = ctypes.c_int()
    cuda._call(query, ctypes.byref(value), attribute, of)
    return value.value


def _flat(types: Iterable[Any], args: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Pairs of type and value without tuples and without values that were compiled in."""
    for kind, arg in zip(types, args, strict=True):
        if isinstance(kind, tuple):
            yield from _flat(kind, arg)
        elif kind != "constexpr":
            yield kind, arg


def _converted(kind: str, value: Any) -> Any:
    """A value as the parameter of a kernel has it in memory."""
    if kind.startswith("*"):
        return _address(value)
    return _CONVERSIONS[kind](value)


def _descriptor(arg: Any, metadata: dict[str, Any] | None, _: Any) -> list[Any]:
    """Fields of a descriptor of a tensor, as the kernel's parameters have them."""
    if metadata is None:
        return base.decompose_descriptor(arg)
    return [encode(arg, metadata), *arg.shape, *arg.strides]


class Driver(base.DriverBase):
    """The simulated device as Triton's driver. It takes the place of that for NVIDIA."""

    def __init__(self) -> None:
        import triton.testing
        from triton.backends import backends

        if TRITON_BACKEND not in backends:
            raise InputError(
                "Triton has not read the entry points of packages; unset TRITON_BACKENDS_IN_TREE"
            )
        # Triton wants one backend for a target.
        backends.pop("nvidia", None)
        triton.testing.do_bench = do_bench
        self.utils = Utilities()
        self.launcher_cls = Launcher

    @classmethod
    def is_active(cls) -> bool:
        """True if Triton's kernels are to run on the simulated device, and this Triton suits."""
        # Older ones have their own backend for NVIDIA over the simulated driver.
        return is_chosen() and hasattr(base, "wrap_handle_tensordesc_impl")

    def get_current_device(self) -> int:
        """Number of the device, of which there is one."""
        return 0

    def set_current_device(self, device: int) -> None:
        """Accepts the one device."""
        if device != 0:
            raise InputError(f"there is no device {device}; a process has one, device 0")

    def get_current_stream(self, device: int) -> int:
        """Stream of launches: the default stream."""
        return 0

    def get_device_capability(self, device: int) -> tuple[int, int]:
        """Compute capability of the machine."""
        major, minor = (
            _number("cuDeviceGetAttribute", number, ctypes.c_int(device)) for number in _CAPABILITY
        )
        return major, minor

    def get_current_target(self) -> GPUTarget:
        """What kernels are compiled for: NVIDIA's architecture of the machine, at least sm_75."""
        major, minor = self.get_device_capability(0)
        return GPUTarget("cuda", max(_LOWEST, 10 * major + minor), 32)

    def get_active_torch_device(self) -> Any:
        """Refuses, since torch has no device for simulated memory."""
        raise InputError("torch has no simulated device; make arrays by `warploom.cuda.array`")

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Type in C++ of a parameter."""
        from triton.backends.nvidia.driver import ty_to_cpp

        return ty_to_cpp(ty)

    def get_benchmarker(self) -> Callable[..., Any]:
        """How the autotuner measures a kernel: in simulated time."""
        return do_bench

    def get_device_interface(self) -> type[DeviceInterface]:
        """Events and waiting for benchmarks."""
        return DeviceInterface

    def get_empty_cache_for_benchmark(self) -> None:
        """Nothing: fills of memory do not pass through the simulated caches."""

    def clear_cache(self, cache: None) -> None:
        """Leaves the caches as they are."""

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: int) -> Any:
        """Memory for profilers of kernels, filled with zeros."""
        return cuda.zeros(size, "i1")
