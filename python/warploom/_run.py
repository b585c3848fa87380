"""Runs of several launches: memory on the device, streams, and the result at the end."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _native
from ._result import Result
from .errors import InputError

if TYPE_CHECKING:
    import numpy

    from ._gpu import Gpu
    from ._module import Kernel


class DeviceArray:
    """An array in the memory of a run's device. :meth:`Run.array` makes it."""

    def __init__(self, run: Run, shape: tuple[int, ...], dtype: Any, pointer: _native.Pointer):
        self.run = run
        self.shape = shape
        self.dtype = dtype
        self.pointer = pointer

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        count = 1
        for length in self.shape:
            count *= length
        return count * self.dtype.itemsize

    def get(self, out: Any = None) -> numpy.ndarray:
        """Copies the array to the host, after everything that was launched before.

        Args:
            out: A contiguous array of the same size that takes the values.
        """
        import numpy

        if out is None:
            out = numpy.empty(self.shape, self.dtype)
        if memoryview(out).nbytes != self.nbytes:
            raise InputError(f"`out` has {memoryview(out).nbytes} bytes, the array {self.nbytes}")
        self.run.synchronize()
        self.run._native.read(self.pointer, out)
        return out

    def set(self, values: Any) -> None:
        """Copies values from the host, after everything that was launched before."""
        import numpy

        values = numpy.ascontiguousarray(values, self.dtype)
        if values.shape != self.shape:
            raise InputError(f"the shape of the values is {values.shape}, not {self.shape}")
        self.run.synchronize()
        self.run._native.write(self.pointer, values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        """A copy on the host, so that numpy's functions take the array."""
        if copy is False:
            raise ValueError("an array of the device can only be copied")
        values = self.get()
        return values if dtype is None else values.astype(dtype)

    def free(self) -> None:
        """Frees the memory. A later access by a kernel is a fault."""
        self.run._native.free(self.pointer)

    def __repr__(self) -> str:
        return f"DeviceArray({self.shape}, {self.dtype}, {self.pointer.address:#x})"


class Stream:
    """A stream of a run: its launches run one after the other, and beside those of other streams."""

    def __init__(self, run: Run, number: int):
        self.run = run
        self.number = number

    def synchronize(self) -> None:
        """Waits for everything on the stream."""
        self.run._native.synchronize(self.number)


class Run:
    """A run: one machine from its first cycle to its last, with its memory.

    Kernels that get arrays of the run are launched in it. The simulation goes on while Python
    waits; between two calls no simulated time passes.

    >>> with gpu.run() as run:
    ...     x, y = run.array(a), run.array(b)
    ...     saxpy[4, 256](1024, 2.0, x, y)
    ...     y.get(out=b)
    >>> print(run.result)
    """

    def __init__(self, gpu: Gpu):
        self.gpu = gpu
        self._native = _native.Run(gpu._machine, gpu._native_options())
        self._streams = 0
        self._result: Result | None = None

    def array(self, values: Any) -> DeviceArray:
        """Copies an array of the host to new memory on the device."""
        import numpy

        values = numpy.ascontiguousarray(values)
        made = self.empty(values.shape, values.dtype)
        self._native.write(made.pointer, values)
        return made

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> DeviceArray:
        """New memory on the device whose values are undefined."""
        import numpy

        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        dtype = numpy.dtype(dtype)
        count = 1
        for length in shape:
            count *= length
        pointer = self._native.alloc(max(1, count * dtype.itemsize))
        return DeviceArray(self, shape, dtype, pointer)

    def zeros(self, shape: int | tuple[int, ...], dtype: Any) -> DeviceArray:
        """New memory on the device that is filled with zeros."""
        made = self.empty(shape, dtype)
        if made.nbytes:
            self._native.fill(made.pointer, 0, made.nbytes)
        return made

    def stream(self) -> Stream:
        """A new stream."""
        self._streams += 1
        return Stream(self, self._streams)

    def variable(self, kernel_or_module: Any, name: str, dtype: Any, shape: Any = ()) -> DeviceArray:
        """A variable of a module (``__device__`` or ``__constant__``) as an array."""
        import numpy

        module = getattr(kernel_or_module, "module", kernel_or_module)
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        pointer = self._native.variable(module._native, name)
        return DeviceArray(self, shape, numpy.dtype(dtype), pointer)

    def synchronize(self) -> None:
        """Waits for everything on every stream."""
        self._native.synchronize()

    def finish(self) -> Result:
        """Ends the run after all launches, and returns its result.

        Raises:
            Fault, Stuck: a kernel failed.
        """
        if self._result is None:
            self._result = Result(self._native.finish())
        return self._result

    @property
    def result(self) -> Result:
        """The result; ends the run if it has not ended."""
        return self.finish()

    def _launch(
        self,
        kernel: Kernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        stream: Stream | None,
        registers: int | None,
        args: tuple[Any, ...],
        free: bool,
    ) -> None:
        """Launches a kernel. Arrays of the host are copied in before and out after the launch.

        ``free`` frees their memory on the device then.
        """
        hosts = _HostArrays(self)
        values = [hosts.convert(arg) for arg in args]
        number = stream.number if stream else 0
        self._native.launch(
            kernel.module._native, kernel.name, grid, block, shared, number, registers, values
        )
        if hosts.any():
            if number:
                self._native.synchronize(number)
            hosts.copy_back(free)

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.finish()


class _HostArrays:
    """The host's arrays of one launch. Each is copied once in each direction."""

    def __init__(self, run: Run):
        self._run = run
        self._pointers: dict[tuple[int, int], _native.Pointer] = {}
        self._writable: dict[tuple[int, int], Any] = {}

    def convert(self, arg: Any) -> Any:
        """The argument as the native launch takes it."""
        if isinstance(arg, DeviceArray):
            if arg.run is not self._run:
                raise InputError("an array belongs to another run; copy it with `run.array`")
            return arg.pointer
        if not _is_array(arg):
            return arg
        address, size, readonly = _native.buffer_facts(arg)
        key = address, size
        if key not in self._pointers:
            self._refuse_overlap(address, size)
            self._pointers[key] = self._run._native.alloc(max(1, size))
            self._run._native.write(self._pointers[key], arg)
        if not readonly:
            self._writable[key] = arg
        return self._pointers[key]

    def _refuse_overlap(self, address: int, size: int) -> None:
        for other, length in self._pointers:
            if address < other + length and other < address + size:
                raise InputError(
                    "two arguments are different parts of the same memory, which a launch cannot "
                    "copy apart; pass one array, or make arrays of a run (`run.array`)"
                )

    def any(self) -> bool:
        return bool(self._pointers)

    def copy_back(self, free: bool) -> None:
        """Copies all arrays that may be written back to the host."""
        for key, array in self._writable.items():
            self._run._native.read(self._pointers[key], array)
        for pointer in self._pointers.values() if free else ():
            self._run._native.free(pointer)


def _is_array(arg: Any) -> bool:
    """True for an object with a buffer of at least one dimension, such as numpy's arrays.

    ``bytes`` are values of a struct, and numpy's scalars are numbers.
    """
    if isinstance(arg, (bytes, int, float, type(None))):
        return False
    try:
        return memoryview(arg).ndim > 0
    except (TypeError, ValueError):
        return hasattr(arg, "__array_interface__") and getattr(arg, "ndim", 0) > 0
