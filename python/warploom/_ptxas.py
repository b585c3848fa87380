"""In the place of ``ptxas``: spills values for which a thread has no registers.

The number of registers of a kernel is Warploom's estimate from its PTX. If a thread cannot have so
many, the allocator rewrites the kernel with loads and stores of local memory, as an assembler does.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import tempfile

from ._command import program

#: Most registers of a thread, and registers of an SM, of GPUs since 2012.
_MOST, _OF_SM = 255, 65536
#: Registers are given to threads in groups of this size.
_GROUP = 8


def limit(text: str) -> int:
    """Most registers of a thread by the directives of a kernel's PTX."""
    most = _MOST
    if counts := re.search(r"\.(?:req|max)ntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", text):
        threads = 1
        for count in counts.groups("1"):
            threads *= int(count)
        most = min(most, _OF_SM // threads // _GROUP * _GROUP)
    if said := re.search(r"\.maxnreg\s+(\d+)", text):
        most = min(most, int(said[1]))
    return most


def allocate(source: str, target: str) -> None:
    """Writes PTX whose kernels need no more registers than a thread can have."""
    asked = subprocess.run(
        [program(), "check", "--json", source], capture_output=True, text=True, check=False
    )
    path = pathlib.Path(target)
    text = pathlib.Path(source).read_text()
    path.write_text(text)
    # The simulator reports a text that is wrong when it loads it.
    if asked.returncode:
        return
    most = limit(text)
    for kernel in json.loads(asked.stdout)["kernels"]:
        if kernel["registers_per_thread"] > most:
            command = [program(), "crat", target, "--kernel", kernel["name"]]
            command += ["--registers", str(most), "--spill", "local", "-o", target]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            if ran.returncode:
                print(
                    f"warploom: {kernel['name']} keeps all its values: {ran.stderr}",
                    file=sys.stderr,
                )


def allocated(text: str) -> str:
    """The PTX, rewritten as :func:`allocate` does."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "in.ptx"), pathlib.Path(folder, "out.ptx")
        source.write_text(text)
        allocate(str(source), str(target))
        return target.read_text()


if __name__ == "__main__":
    allocate(*sys.argv[1:])
