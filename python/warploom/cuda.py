"""Arrays in the memory of CUDA's device, by its driver alone.

Triton, Numba and others take these arrays where torch or CuPy is not installed. In a script that
``warploom python`` runs, the device is simulated, and so it is after :func:`use`.

>>> warploom.cuda.use("rtx3070-ampere")
>>> x = warploom.cuda.array(numpy.arange(1024, dtype="f4"))
>>> kernel[(4,)](x, y, 1024, BLOCK=256)
>>> y.numpy()
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from ._command import SETTINGS_VARIABLE, library_folder
from ._gpu import Gpu
from .errors import InputError, WarploomError

if TYPE_CHECKING:
    import numpy

__all__ = ["Array", "DriverError", "Event", "array", "empty", "synchronize", "use", "zeros"]

#: Name of CUDA's driver.
_LIBRARY = "libcuda.so.1"
_HINT = "run the script by `warploom python SCRIPT`, or call `warploom.cuda.use()` first"


class DriverError(WarploomError):
    """A call of the driver failed, or there is no driver."""


def use(
    gpu: Gpu | str | None = None,
    *,
    stats: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    quiet: bool = False,
) -> None:
    """Simulates the device of this process, where the script runs without ``warploom python``.

    A process has one device. Under ``warploom python`` the options of its command line hold, and
    this call changes nothing. The report is on standard error when the process ends.

    Args:
        gpu: Machine with its options, or its preset; ``gtx480`` if none is given.
        stats: File for the result, as ``warploom run --json`` prints it.
        report: File for the report.
        quiet: Write no report.

    Raises:
        InputError: the machine is not valid or has options that exist only for :class:`Gpu`'s own
            runs, or the device of this process was used before.
    """
    if _has_started_us():
        return
    if _driver.cache_info().currsize:
        raise InputError("this process has used its device already; call `use` once, at the start")
    settings = Gpu.of(gpu)._settings_of_programs() | {"quiet": quiet}
    for name, path in {"stats": stats, "report": report}.items():
        if path is not None:
            settings[name] = os.path.abspath(path)
    _places[:] = [os.path.join(library_folder(), _LIBRARY)]
    os.environ[SETTINGS_VARIABLE] = json.dumps(settings)


def _has_started_us() -> bool:
    """True in a process that ``warploom python`` or ``warploom app`` has started."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    there = any(os.path.exists(os.path.join(folder, _LIBRARY)) for folder in folders if folder)
    return there and SETTINGS_VARIABLE in os.environ


#: Path of the driver after `use`.
_places: list[str] = []


class Array:
    """An array in the device's memory, which is freed with the object."""

    def __init__(self, shape: tuple[int, ...], dtype: Any):
        import numpy

        self.shape = shape
        self.dtype = numpy.dtype(dtype)
        self.size = 1
        for length in shape:
            self.size *= length
        self.nbytes = self.size * self.dtype.itemsize
        address = ctypes.c_uint64()
        _call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(1, self.nbytes)))
        self._address = address.value

    def data_ptr(self) -> int:
        """Address on the device, as torch's tensors give it."""
        return self._address

    def stride(self, axis: int | None = None) -> Any:
        """Distance of two elements along an axis, or along each of them, in elements."""
        if axis is None:
            return tuple(map(self.stride, range(len(self.shape))))
        count = 1
        for length in self.shape[axis % len(self.shape) + 1 :]:
            count *= length
        return count

    def numel(self) -> int:
        """Number of elements, as torch's tensors give it."""
        return self.size

    def element_size(self) -> int:
        """Size of an element in bytes, as torch's tensors give it."""
        return self.dtype.itemsize

    def zero_(self) -> Array:
        """Fills the array with zeros, after all launches before it."""
        if self.nbytes:
            address, zero = ctypes.c_uint64(self._address), ctypes.c_ubyte(0)
            _call("cuMemsetD8_v2", address, zero, self._bytes())
        return self

    def copy_(self, other: Array) -> Array:
        """Copies the values of another array of the same size, after all launches before it."""
        if other.nbytes != self.nbytes:
            raise ValueError(f"the array has {self.nbytes} bytes, the other one {other.nbytes}")
        if self.nbytes:
            to, source = ctypes.c_uint64(self._address), ctypes.c_uint64(other._address)
            _call("cuMemcpyDtoD_v2", to, source, self._bytes())
        return self

    def clone(self) -> Array:
        """A copy in new memory of the device."""
        return Array(self.shape, self.dtype).copy_(self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._address, False),
            "strides": None,
            "version": 3,
        }

    def numpy(self) -> numpy.ndarray:
        """A copy on the host, made after all launches before it."""
        import numpy

        out = numpy.empty(self.shape, self.dtype)
        if self.nbytes:
            to = ctypes.c_void_p(out.ctypes.data)
            _call("cuMemcpyDtoH_v2", to, ctypes.c_uint64(self._address), self._bytes())
        return out

    def set(self, values: Any) -> None:
        """Copies values from the host, after all launches before it."""
        import numpy

        values = numpy.ascontiguousarray(values, self.dtype)
        if values.shape != self.shape:
            raise ValueError(f"the shape of the values is {values.shape}, not {self.shape}")
        if self.nbytes:
            source = ctypes.c_void_p(values.ctypes.data)
            _call("cuMemcpyHtoD_v2", ctypes.c_uint64(self._address), source, self._bytes())

    def _bytes(self) -> ctypes.c_size_t:
        return ctypes.c_size_t(self.nbytes)

    def __del__(self) -> None:
        _forget("cuMemFree_v2", getattr(self, "_address", 0))

    def __repr__(self) -> str:
        return f"Array({self.shape}, {self.dtype}, {self._address:#x})"


def array(values: Any, dtype: Any = None) -> Array:
    """Copies an array of the host to new memory of the device."""
    import numpy

    values = numpy.ascontiguousarray(values, dtype)
    made = Array(values.shape, values.dtype)
    made.set(values)
    return made


def empty(shape: int | tuple[int, ...], dtype: Any) -> Array:
    """New memory of the device whose values are undefined."""
    return Array((shape,) if isinstance(shape, int) else tuple(shape), dtype)


def zeros(shape: int | tuple[int, ...], dtype: Any) -> Array:
    """New memory of the device that is filled with zeros."""
    return empty(shape, dtype).zero_()


class Event:
    """A point in the order of launches, whose time is simulated."""

    def __init__(self, enable_timing: bool = True):
        # Of CUDA's flags, this one forbids to ask for the time.
        flags = ctypes.c_uint(0 if enable_timing else 2)
        event = ctypes.c_uint64()
        _call("cuEventCreate", ctypes.byref(event), flags)
        self._handle = event.value

    def record(self) -> None:
        """Sets the event behind all launches so far."""
        _call("cuEventRecord", ctypes.c_uint64(self._handle), ctypes.c_uint64(0))

    def synchronize(self) -> None:
        """Waits for what was launched before the event."""
        _call("cuEventSynchronize", ctypes.c_uint64(self._handle))

    def elapsed_time(self, end: Event) -> float:
        """Simulated time from this event to another one in milliseconds. Waits for both."""
        time = ctypes.c_float()
        events = ctypes.c_uint64(self._handle), ctypes.c_uint64(end._handle)
        _call("cuEventElapsedTime", ctypes.byref(time), *events)
        return time.value

    def __del__(self) -> None:
        _forget("cuEventDestroy_v2", getattr(self, "_handle", 0))


def synchronize() -> None:
    """Waits for all launches."""
    _call("cuCtxSynchronize")


@functools.cache
def _driver() -> ctypes.CDLL:
    """The driver, with its context current in this thread."""
    _leave_interrupts()
    try:
        driver = ctypes.CDLL(_places[0] if _places else _LIBRARY)
    except OSError as error:
        raise DriverError(f"there is no CUDA driver here; {_HINT}") from error
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0):
        raise DriverError(f"CUDA's driver finds no device; {_HINT}")
    _check(driver, "cuDeviceGet", driver.cuDeviceGet(ctypes.byref(device), 0))
    retained = driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    _check(driver, "cuDevicePrimaryCtxRetain", retained)
    _check(driver, "cuCtxSetCurrent", driver.cuCtxSetCurrent(context))
    return driver


def _leave_interrupts() -> None:
    """Leaves Ctrl-C in a script to the simulated driver, which ends the process with its result.

    Python's handler would wait for the end of a call that waits for a kernel. At a prompt and in a
    notebook it stays, because the process is to go on there.
    """
    prompt = hasattr(sys, "ps1") or "ipykernel" in sys.modules
    main = threading.current_thread() is threading.main_thread()
    own = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if SETTINGS_VARIABLE in os.environ and main and own and not prompt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _call(name: str, *arguments: Any) -> None:
    driver = _driver()
    _check(driver, name, getattr(driver, name)(*arguments))


def _forget(name: str, handle: int) -> None:
    """Destroys an object of the driver, unless it was never made."""
    # After the interpreter's end, or after a fault, nothing is left to destroy.
    try:
        if handle:
            _call(name, ctypes.c_uint64(handle))
    except (DriverError, TypeError):
        pass


def _check(driver: ctypes.CDLL, name: str, code: int) -> None:
    if code:
        text = ctypes.c_char_p()
        driver.cuGetErrorString(code, ctypes.byref(text))
        raise DriverError(f"{name}: {(text.value or b'unknown error').decode()} ({code})")
