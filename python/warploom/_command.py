"""The command ``warploom``, which the package contains as a program, and ``warploom python``."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .errors import InputError

#: Folder of the program and of the libraries that `warploom app` gives to CUDA programs.
FOLDER = Path(__file__).parent / "bin"
#: Variable with the settings of simulated programs.
SETTINGS_VARIABLE = "WARPLOOM_APP"
#: Name of our backend of Triton, and the variable that chooses it.
TRITON_BACKEND, TRITON_VARIABLE = "warploom", "TRITON_DEFAULT_BACKEND"
#: Folder of the programs that stand in for tools of CUDA.
STANDINS = Path(__file__).parent / "standins"

_USAGE = """\
Run a Python script whose kernels are simulated: Triton, and others that use CUDA's driver

Usage: warploom python [OPTIONS --] SCRIPT [ARGUMENTS]...

The options are those of `warploom app`, for example `--gpu rtx3070-ampere`.
"""


def program() -> Path:
    """Path of the packaged program.

    Raises:
        SystemExit: the package was built without it.
    """
    return _executable(FOLDER / "warploom")


def _executable(path: Path) -> Path:
    if not path.is_file():
        sys.exit(f"warploom: this package was built without {path.name}; install it by Cargo")
    if not os.access(path, os.X_OK):
        path.chmod(0o755)
    return path


def library_folder() -> str:
    """Folder of the libraries that programs load in the place of CUDA's.

    Raises:
        InputError: there is no such folder, and none can be written.
    """
    ask = [str(program()), "app", "--library-path"]
    asked = subprocess.run(ask, capture_output=True, text=True, check=False)
    if asked.returncode:
        raise InputError(asked.stderr.strip())
    return asked.stdout.strip()


def environment(libraries: str) -> dict[str, str]:
    """Variables by which packages find the simulated driver and leave kernels as PTX."""
    ptxas = str(_executable(STANDINS / "ptxas"))
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    variables = {
        # Triton's own backend for NVIDIA runs over the same driver, for those who set this.
        TRITON_VARIABLE: os.environ.get(TRITON_VARIABLE) or TRITON_BACKEND,
        "TRITON_PTXAS_PATH": ptxas,
        "TRITON_PTXAS_BLACKWELL_PATH": ptxas,
        "TRITON_LIBCUDA_PATH": libraries,
        # Apart from kernels that were compiled for a GPU.
        "TRITON_CACHE_DIR": str(Path(cache) / "warploom" / "triton"),
        "NUMBA_CUDA_DRIVER": str(Path(libraries) / "libcuda.so.1"),
        # CuPy compiles to machine code otherwise.
        "CUPY_COMPILE_WITH_PTX": "1",
        "CUPY_CACHE_DIR": str(Path(cache) / "warploom" / "cupy"),
        "WARP_CACHE_PATH": str(Path(cache) / "warploom" / "warp"),
        "WARPLOOM_PYTHON": sys.executable,
    }
    folders = [str(_executable(STANDINS / "smi" / "nvidia-smi").parent)]
    # Other packages take the folder of a compiler in PATH for that of CUDA.
    if importlib.util.find_spec("pycuda"):
        folders.append(str(_executable(STANDINS / "nvcc" / "nvcc").parent))
    variables["PATH"] = os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)])
    return variables


def python(arguments: list[str]) -> tuple[list[str], Mapping[str, str]]:
    """Command line and environment of ``warploom python`` with these arguments."""
    options: list[str] = []
    if "--" in arguments:
        at = arguments.index("--")
        options, arguments = arguments[:at], arguments[at + 1 :]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, end="")
        sys.exit(0 if arguments else 2)
    command = [str(program()), "app", *options, "--", sys.executable, *arguments]
    try:
        return command, os.environ | environment(library_folder())
    except InputError as error:
        sys.exit(str(error))


def main() -> None:
    """Replaces the interpreter by the program, with the same arguments."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["python"]:
        command, variables = python(arguments[1:])
        os.execve(command[0], command, variables)
    path = program()
    os.execv(path, ["warploom", *arguments])
