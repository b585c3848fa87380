"""The command ``warploom``, which the package contains as a program."""

from __future__ import annotations

import os
import sys
from pathlib import Path

#: Folder of the program and of the libraries that `warploom app` gives to CUDA programs.
FOLDER = Path(__file__).parent / "bin"


def program() -> Path:
    """Path of the packaged program.

    Raises:
        SystemExit: the package was built without it.
    """
    path = FOLDER / "warploom"
    if not path.is_file():
        sys.exit(f"warploom: this package was built without {path.name}; install it by Cargo")
    if not os.access(path, os.X_OK):
        path.chmod(0o755)
    return path


def main() -> None:
    """Replaces the interpreter by the program, with the same arguments."""
    path = program()
    os.execv(path, ["warploom", *sys.argv[1:]])
