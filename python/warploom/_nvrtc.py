"""Compilation of CUDA C++ by NVRTC of the package ``nvidia-cuda-nvrtc``."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import pathlib

from .errors import InputError

_MISSING = (
    "NVRTC is not installed, which compiles CUDA C++ without a GPU; "
    "`pip install nvidia-cuda-nvrtc-cu12` installs it, or compile the kernel elsewhere "
    "(`nvcc -ptx`) and use `Module.from_ptx`"
)


_NO_HEADER = (
    "\nNVRTC has no headers of the host, and kernels need none for printf and mathematical "
    "functions; leave the line out, or name a folder by `options=[\"-I/folder\"]`"
)


def compile_to_ptx(
    source: str, architecture: str, options: list[str], name: str = "kernel.cu"
) -> str:
    """PTX of a text of CUDA C++. `name` is that of its file in messages."""
    library = _library()
    program = ctypes.c_void_p()
    status = library.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), name.encode(), 0, None, None
    )
    words = [f"--gpu-architecture={architecture}", *options]
    array = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    status = status or library.nvrtcCompileProgram(program, len(words), array)
    try:
        if status:
            reason = library.nvrtcGetErrorString(status).decode()
            log = _text(library, program, "ProgramLog") if program else ""
            hint = _NO_HEADER if "could not open source file" in log else ""
            raise InputError(f"NVRTC refuses the source: {reason}\n{log.rstrip()}{hint}".rstrip())
        return _text(library, program, "PTX")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    """A text that NVRTC holds for a program: ``PTX`` or ``ProgramLog``."""
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode()


@functools.cache
def _library() -> ctypes.CDLL:
    for path in _candidates():
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        return library
    raise InputError(_MISSING)


def _candidates() -> list[pathlib.Path]:
    """NVRTC's libraries in the packages of this environment, the newest first."""
    nvidia = importlib.util.find_spec("nvidia")
    folders = list(nvidia.submodule_search_locations or []) if nvidia else []
    found = [
        path
        for folder in folders
        for path in pathlib.Path(folder).glob("*/lib/libnvrtc.so.*")
        if ".alt." not in path.name
    ]
    return sorted(found, key=lambda path: path.name, reverse=True)
