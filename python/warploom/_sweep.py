"""Sweeps: many runs that a file describes, as a table."""

from __future__ import annotations

import csv
import os
import subprocess
from pathlib import Path
from typing import Any

from ._command import program
from ._frame import Frame
from .errors import InputError

#: Columns of a sweep's table whose values are texts, whatever they look like.
_TEXTS = {"run", "target", "status", "digest", "reason"}


def sweep(
    file: str | os.PathLike[str],
    output: str | os.PathLike[str] = "results",
    *,
    threads: int | None = None,
) -> Frame:
    """Makes the runs of a sweep's file that are not made yet, as ``warploom sweep`` does.

    Args:
        file: TOML file of the sweep (the page "Sweeps" of the guide).
        output: Folder for the runs and tables. Runs that it has are not made again.
        threads: Runs at the same time; as many as the host has cores if not given.

    Returns:
        A row for each run: its name, what varies, ``status``, and the figures of the run
        (``cycles`` in core cycles, rates from 0 to 1). A failed run has its ``reason``.

    Raises:
        InputError: the file is not valid; the message shows the place.

    >>> sweep("examples/sweep/saxpy-sweep.toml").to_pandas()
    """
    command = [str(program()), "sweep", os.fspath(file), "--output", os.fspath(output)]
    if threads is not None:
        command += ["--threads", str(threads)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    table = Path(output) / "sweep" / f"{Path(file).stem}.csv"
    # Some runs may have failed, which the table tells.
    if ran.returncode not in (0, 1) or not table.is_file():
        raise InputError(ran.stderr.strip() or "the sweep ended without a table")
    return _table(table)


def _table(path: Path) -> Frame:
    with open(path, newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    return Frame(
        {name: _column(name, [row[at] for row in rows]) for at, name in enumerate(names)}
    )


def _column(name: str, cells: list[str]) -> list[Any]:
    """Values of a column: numbers if all its cells are, else texts. An empty cell has no value."""
    for kind in () if name in _TEXTS else (int, float):
        try:
            return [kind(cell) if cell else None for cell in cells]
        except ValueError:
            continue
    return [cell or None for cell in cells]
