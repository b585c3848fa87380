"""Compiles CUDA C++ kernels to PTX with NVRTC.

Usage: nvrtc.py ARCHITECTURE SOURCE OUTPUT [SOURCE OUTPUT]...

Takes kernel-only files without includes. Each program is handed to NVRTC under its bare file
name, so that no path of the machine reaches the PTX. Exits with 1 and NVRTC's log when a
kernel does not compile.
"""

import ctypes
import pathlib
import sys

import nvidia.cuda_nvrtc


def load_library():
    """The package's libnvrtc, which finds its builtins beside itself."""
    # The package is a namespace (no __init__.py): only __path__ says where it lies.
    folder = pathlib.Path(list(nvidia.cuda_nvrtc.__path__)[0]) / "lib"
    library = ctypes.CDLL(str(folder / "libnvrtc.so.12"))
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


def text(library, program, what):
    """A text that NVRTC holds for a program: `what` is PTX or ProgramLog."""
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode()


def compile_kernel(library, architecture, source):
    """PTX of one file; exits with the log when it is refused."""
    program = ctypes.c_void_p()
    status = library.nvrtcCreateProgram(
        ctypes.byref(program), source.read_bytes(), source.name.encode(), 0, None, None
    )
    if status == 0:
        options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17"]
        array = (ctypes.c_char_p * len(options))(*options)
        status = library.nvrtcCompileProgram(program, len(options), array)
    if status != 0:
        log = text(library, program, "ProgramLog")
        sys.exit(f"{source}: {library.nvrtcGetErrorString(status).decode()}\n{log}")
    ptx = text(library, program, "PTX")
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx.rstrip("\n") + "\n"


def main(architecture, *paths):
    library = load_library()
    for source, output in zip(paths[::2], paths[1::2], strict=True):
        ptx = compile_kernel(library, architecture, pathlib.Path(source))
        pathlib.Path(output).write_text(ptx, newline="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
