"""Exceptions of Warploom. Each message contains the place, the reason and the remedy."""

from __future__ import annotations

import re

__all__ = ["WarploomError", "InputError", "SimulatedError", "Fault", "Stuck", "CycleLimit"]

_PLACE = re.compile(
    r"kernel `(?P<kernel>[^`]*)`, PTX line (?P<line>\d+)(?: \((?P<written>[^)]*)\))?, "
    r"block \((?P<block>[\d, ]+)\), "
    r"thread \((?P<thread>[\d, ]+)\)"
)


class WarploomError(Exception):
    """Base class of all exceptions of Warploom."""


class InputError(WarploomError):
    """An error in the input: a key, a PTX text, an argument, the size of a launch."""


class SimulatedError(WarploomError):
    """The simulated program cannot continue. The simulator works as intended."""


class Fault(SimulatedError):
    """A kernel did something that no GPU allows, or its assertion failed.

    Attributes:
        kernel: Name of the kernel, or ``None`` if the message names no place.
        line: Line of the PTX text, counted from 1.
        written: Place in the file from which a compiler made the PTX, such as ``"saxpy.cu:12"``,
            if the PTX has line numbers (``nvcc -lineinfo``).
        block: Index (x, y, z) of the block in the grid.
        thread: Index (x, y, z) in the block of the lowest thread concerned.
    """

    def __init__(self, message: str):
        super().__init__(message)
        place = _PLACE.search(message)
        self.kernel: str | None = place["kernel"] if place else None
        self.line: int | None = int(place["line"]) if place else None
        self.written: str | None = place["written"] if place else None
        self.block: tuple[int, int, int] | None = _index(place["block"]) if place else None
        self.thread: tuple[int, int, int] | None = _index(place["thread"]) if place else None


class Stuck(SimulatedError):
    """No part of the simulated machine can make progress: a deadlock or a livelock."""


class CycleLimit(SimulatedError):
    """The run reached ``max_cycles`` before the program ended."""


def _index(text: str) -> tuple[int, int, int]:
    x, y, z = (int(number) for number in text.split(", "))
    return x, y, z
