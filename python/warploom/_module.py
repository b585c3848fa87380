"""Modules of kernels."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from . import _native, _nvrtc
from ._gpu import Gpu
from ._result import Result
from ._run import DeviceArray, Run, Stream
from .errors import InputError

Dims = int | Sequence[int]


class Parameter(NamedTuple):
    """A parameter of a kernel."""

    name: str
    #: Type as PTX writes it (``u64``, ``f32``), or ``bytes`` for a struct that is passed by value.
    type: str
    #: Size in bytes.
    bytes: int


class Module:
    """Kernels of one PTX text.

    >>> module = Module.from_ptx("saxpy.ptx")
    >>> result = module.saxpy[4, 256](1024, 2.0, x, y)
    """

    def __init__(self, native: _native.PtxModule, gpu: Gpu | str | None = None):
        self._native = native
        self.gpu = Gpu.of(gpu)
        self._facts = native.kernels()

    @classmethod
    def from_ptx(cls, source: str | os.PathLike[str], gpu: Gpu | str | None = None) -> Module:
        """Reads PTX.

        Args:
            source: The text, or the path of a file.
            gpu: Machine of launches with arrays of the host, or its preset; ``gtx480`` if none is
                given.

        Raises:
            InputError: the text is not valid; the message shows each place.
        """
        if isinstance(source, str) and "\n" in source:
            return cls(_native.PtxModule("PTX", source), gpu)
        return cls(_native.PtxModule(os.fspath(source), _read(source)), gpu)

    @classmethod
    def from_cuda(
        cls,
        source: str | os.PathLike[str],
        gpu: Gpu | str | None = None,
        *,
        architecture: str = "compute_75",
        options: Iterable[str] = (),
    ) -> Module:
        """Compiles CUDA C++ by NVRTC, which ``pip install nvidia-cuda-nvrtc-cu12`` installs.

        Args:
            source: The text of the kernels, or the path of a file (``.cu``). ``extern "C"`` keeps
                the names of kernels.
            gpu: As for :meth:`from_ptx`.
            architecture: Virtual architecture, for example ``compute_80``.
            options: Further options of NVRTC.

        Raises:
            InputError: NVRTC is not installed, or refuses the text; the message has its log.
        """
        name = "kernel.cu"
        if not isinstance(source, str) or ("\n" not in source and source.endswith(".cu")):
            name, source = os.fspath(source), _read(source)
        text = _nvrtc.compile_to_ptx(source, architecture, list(options), name)
        return cls(_native.PtxModule("CUDA as PTX", text), gpu)

    @property
    def ptx(self) -> str:
        """The PTX text."""
        return self._native.text

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels that can run."""
        return list(self._facts)

    @property
    def refused(self) -> dict[str, str]:
        """Kernels that cannot run, with the reasons."""
        return self._native.refused()

    def on(self, gpu: Gpu | str) -> Module:
        """The same module for launches on another machine."""
        return Module(self._native, gpu)

    def kernel(self, name: str) -> Kernel:
        """The kernel with this name, or the only kernel whose name contains it.

        Raises:
            InputError: there is no such kernel, or there are several, or it cannot run.
        """
        if name in self._facts:
            return Kernel(self, name)
        if name in self.refused:
            raise InputError(f"kernel `{name}` cannot run: {self.refused[name]}")
        found = [kernel for kernel in self._facts if name in kernel]
        if len(found) == 1:
            return Kernel(self, found[0])
        names = ", ".join(found or self._facts) or "none"
        raise InputError(f"the module has no kernel `{name}`; it has: {names}")

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.refused:
            return self.kernel(name)
        try:
            return self.kernel(name)
        except InputError as error:
            raise AttributeError(str(error)) from error

    def __repr__(self) -> str:
        return f"Module({self._native.name!r}, kernels: {', '.join(self.kernels)})"


class Kernel:
    """A kernel of a module. ``kernel[grid, block](...)`` launches it."""

    def __init__(self, module: Module, name: str):
        self.module = module
        self.name = name
        params, registers, shared = module._facts[name]
        #: Parameters in order.
        self.parameters = [Parameter(*param) for param in params]
        #: Estimate of the registers of 32 bits per thread.
        self.registers_per_thread = registers
        #: Static shared memory of a block in bytes.
        self.shared_bytes = shared

    def __getitem__(self, key: tuple[Any, ...]) -> Launcher:
        """``kernel[grid, block]``, ``[grid, block, stream]`` or ``[grid, block, stream, shared]``.

        A size is a number or up to three. ``shared`` is dynamic shared memory in bytes.
        """
        if not isinstance(key, tuple) or not 2 <= len(key) <= 4:
            raise InputError(f"write the sizes of grid and block: `{self.name}[grid, block](...)`")
        grid, block, stream, shared = (tuple(key) + (None, 0)[len(key) - 2 :])[:4]
        return Launcher(self, _dims(grid), _dims(block), _stream(stream), shared or 0)

    def __call__(self, *args: Any) -> Result:
        """Refuses a launch without sizes."""
        raise InputError(f"write the sizes of grid and block: `{self.name}[grid, block](...)`")

    def launch(
        self,
        grid: Dims,
        block: Dims,
        *args: Any,
        stream: Stream | None = None,
        shared_bytes: int = 0,
        registers_per_thread: int | None = None,
    ) -> Result | None:
        """Launches the kernel; see :class:`Launcher`."""
        launcher = Launcher(self, _dims(grid), _dims(block), _stream(stream), shared_bytes)
        launcher.registers_per_thread = registers_per_thread
        return launcher(*args)

    def on(self, gpu: Gpu | str) -> Kernel:
        """The same kernel for launches on another machine."""
        return Kernel(self.module.on(gpu), self.name)

    def __repr__(self) -> str:
        params = ", ".join(f"{param.name}: {param.type}" for param in self.parameters)
        return f"Kernel({self.name}({params}), {self.registers_per_thread} registers)"


class Launcher:
    """A kernel with the size of its launch."""

    def __init__(
        self,
        kernel: Kernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        stream: Stream | None,
        shared_bytes: int,
    ):
        self.kernel = kernel
        self.grid = grid
        self.block = block
        self.stream = stream
        self.shared_bytes = shared_bytes
        self.registers_per_thread: int | None = None

    def __call__(self, *args: Any) -> Result | None:
        """Launches the kernel.

        Arrays of the host are copied to the device before, and back after the launch unless they
        are read-only. A number is converted to the type of its parameter. ``bytes`` are a struct,
        and ``None`` is a null pointer.

        Returns:
            The result of a run of its own, or ``None`` if arguments or the stream belong to a run.

        Raises:
            InputError: an argument does not fit, or the launch is not possible.
            Fault, Stuck: the kernel failed.
        """
        runs = [arg.run for arg in args if isinstance(arg, DeviceArray)]
        runs += [self.stream.run] if self.stream else []
        if runs:
            self._launch(runs[0], args)
            return None
        # The arrays stay on the device until the end of the run, whose digest covers them.
        run = self.kernel.module.gpu.run()
        self._launch(run, args, free=False)
        return run.finish()

    def _launch(self, run: Run, args: tuple[Any, ...], free: bool = True) -> None:
        run._launch(
            self.kernel,
            self.grid,
            self.block,
            self.shared_bytes,
            self.stream,
            self.registers_per_thread,
            args,
            free,
        )


def _dims(size: Dims) -> tuple[int, int, int]:
    try:
        numbers = [operator.index(number) for number in _items(size)]
    except TypeError:
        numbers = []
    if not 1 <= len(numbers) <= 3 or any(not 0 < number < 2**32 for number in numbers):
        raise InputError(
            f"{size!r} is not a size; write one to three whole numbers above 0, "
            "such as `(n + 255) // 256`"
        )
    x, y, z = numbers + [1] * (3 - len(numbers))
    return x, y, z


def _items(size: Any) -> Iterable[Any]:
    return size if isinstance(size, Iterable) and not isinstance(size, str) else (size,)


def _stream(stream: Stream | int | None) -> Stream | None:
    """A stream of a run. 0 is the default stream, as in other packages."""
    if isinstance(stream, Stream) or stream is None:
        return stream
    if stream == 0:
        return None
    raise InputError(f"{stream!r} is not a stream; make one with `run.stream()`")


def _read(path: str | os.PathLike[str]) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from error
