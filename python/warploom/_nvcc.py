"""Stand-in for ``nvcc --cubin``: CUDA C++ becomes PTX by NVRTC, for packages that call nvcc.

PyCUDA asks nvcc for machine code. Warploom loads PTX in its place, so that the output is PTX under
the name that was asked for, as with the stand-in for ``ptxas``. PyCUDA also asks for the text after
the preprocessor, to find code that it compiled before, and gets the text as it is.
"""

from __future__ import annotations

import pathlib
import re
import sys

from ._nvrtc import compile_to_ptx
from .errors import InputError

#: Options that NVRTC does not know and that change nothing of PTX, and those with a value.
_IGNORED = re.compile(r"-O\d|-m64|-w|--machine=64|-keep|--keep")
_IGNORED_PAIRS = {
    "-Xcompiler", "--compiler-options", "-Xptxas", "--ptxas-options", "-Xlinker", "-ccbin",
}  # fmt: skip
#: Options of nvcc that NVRTC calls otherwise.
_RENAMED = {
    "-lineinfo": "--generate-line-info",
    "-use_fast_math": "--use_fast_math",
    "-G": "--device-debug",
}
#: Kinds of output, which are the extensions of the files.
_OUTPUTS = ("cubin", "ptx", "fatbin")
#: Kind of the output that is the text after the preprocessor, on standard output.
_TEXT = "text"


def parse(arguments: list[str]) -> tuple[pathlib.Path, pathlib.Path, str, list[str]]:
    """Source, output, architecture and the options for NVRTC, of nvcc's arguments.

    Raises:
        InputError: the arguments ask for something else than code of one file.
    """
    source = output = kind = None
    architecture, options = "compute_75", []
    words = iter(arguments)
    for word in words:
        name, _, value = word.partition("=")
        if word.lstrip("-") in _OUTPUTS and word.startswith("-"):
            kind = word.lstrip("-")
        elif word in ("--preprocess", "-E"):
            kind = _TEXT
        elif name in ("-arch", "--gpu-architecture"):
            architecture = (value or next(words, "")).replace("sm_", "compute_")
        elif name in ("-code", "--gpu-code"):
            value or next(words, "")
        elif name in ("-o", "--output-file"):
            output = value or next(words, "")
        elif word in _IGNORED_PAIRS:
            next(words, "")
        elif word in ("-I", "-D"):
            options.append(word + next(words, ""))
        elif word.startswith("-"):
            if not _IGNORED.fullmatch(word):
                options.append(_RENAMED.get(word, word))
        else:
            source = word
    if source is None or kind is None:
        raise InputError("the stand-in for nvcc compiles one file with --cubin, --ptx or --fatbin")
    path = pathlib.Path(source)
    return path, pathlib.Path(output or f"{path.stem}.{kind}"), architecture, options


def main() -> None:
    """Compiles as nvcc's arguments say."""
    arguments = sys.argv[1:]
    if "--version" in arguments:
        print("nvcc: stand-in of Warploom, which compiles to PTX by NVRTC")
        return
    try:
        source, output, architecture, options = parse(arguments)
        if output.suffix == f".{_TEXT}":
            print(source.read_text(), end="")
            return
        output.write_text(compile_to_ptx(source.read_text(), architecture, options))
    except (InputError, OSError) as error:
        sys.exit(f"nvcc: {error}")


if __name__ == "__main__":
    main()
