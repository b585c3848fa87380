"""Arrays in the memory of CUDA's device, by its driver alone.

Triton, Numba and others take these arrays where torch or CuPy is not installed. In a script that
``warploom python`` runs, the device is simulated.

>>> x = warploom.cuda.array(numpy.arange(1024, dtype="f4"))
>>> kernel[(4,)](x, y, 1024, BLOCK=256)
>>> y.numpy()
"""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any

from .errors import WarploomError

if TYPE_CHECKING:
    import numpy

__all__ = ["Array", "DriverError", "array", "empty", "synchronize", "zeros"]


class DriverError(WarploomError):
    """A call of the driver failed, or there is no driver."""


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

    def stride(self, axis: int) -> int:
        """Distance of two elements along an axis, in elements."""
        count = 1
        for length in self.shape[axis % len(self.shape) + 1 :]:
            count *= length
        return count

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
        address = getattr(self, "_address", 0)
        if address:
            # After the interpreter's end, or after a fault, nothing is left to free.
            try:
                _call("cuMemFree_v2", ctypes.c_uint64(address))
            except (DriverError, TypeError):
                pass

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
    made = empty(shape, dtype)
    if made.nbytes:
        _call("cuMemsetD8_v2", ctypes.c_uint64(made._address), ctypes.c_ubyte(0), made._bytes())
    return made


def synchronize() -> None:
    """Waits for all launches."""
    _call("cuCtxSynchronize")


@functools.cache
def _driver() -> ctypes.CDLL:
    """The driver, with its context current in this thread."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise DriverError(
            "there is no CUDA driver here; run the script by `warploom python SCRIPT`"
        ) from error
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0):
        raise DriverError(
            "CUDA's driver finds no device; run the script by `warploom python SCRIPT`"
        )
    _check(driver, "cuDeviceGet", driver.cuDeviceGet(ctypes.byref(device), 0))
    retained = driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    _check(driver, "cuDevicePrimaryCtxRetain", retained)
    _check(driver, "cuCtxSetCurrent", driver.cuCtxSetCurrent(context))
    return driver


def _call(name: str, *arguments: Any) -> None:
    driver = _driver()
    _check(driver, name, getattr(driver, name)(*arguments))


def _check(driver: ctypes.CDLL, name: str, code: int) -> None:
    if code:
        text = ctypes.c_char_p()
        driver.cuGetErrorString(code, ctypes.byref(text))
        raise DriverError(f"{name}: {(text.value or b'unknown error').decode()} ({code})")
