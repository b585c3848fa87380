"""Simulated machines."""

from __future__ import annotations

import copy
import json
import operator
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _native
from ._result import Result
from ._run import Run
from .errors import InputError
from .policy import WarpScheduler

_CHECKS = ("uninitialised", "shared-races", "barriers", "bounds")
#: Options that are whole numbers above 0.
_COUNTS = ("threads", "max_cycles", "window", "memory_bytes")


class Gpu:
    """A simulated GPU, and how runs on it are made.

    Args:
        name: A preset (:meth:`presets`) or a TOML file.
        settings: Keys to change, for example ``{"sm.warp_scheduler": "lrr"}``.
        **keys: Keys to change with ``__`` in the place of dots: ``sm__warp_scheduler="lrr"``.

    Raises:
        InputError: a preset, key or value is not valid; the message names the nearest.

    >>> gpu = Gpu("qv100-volta", sm__warp_scheduler="gto").options(window=1000)
    """

    def __init__(
        self, name: str = "gtx480", settings: Mapping[str, Any] | None = None, /, **keys: Any
    ):
        named = {key.replace("__", "."): value for key, value in keys.items()}
        self._name = name
        self._settings: dict[str, Any] = dict(settings or {}) | named
        sets = [f"{key}={_value(value)}" for key, value in self._settings.items()]
        self._machine = _native.Machine(name, sets)
        self._options: dict[str, Any] = {
            "functional": False,
            "threads": 1,
            "max_cycles": None,
            "window": None,
            "parts": False,
            "checks": [],
            "energy": None,
            "memory_bytes": 4 << 30,
            "timeline": False,
            "warp_scheduler": None,
            "stop": None,
        }

    @classmethod
    def of(cls, gpu: Gpu | str | None) -> Gpu:
        """The machine itself, or that of a preset or file; ``gtx480`` for ``None``."""
        return gpu if isinstance(gpu, Gpu) else cls() if gpu is None else cls(gpu)

    @staticmethod
    def presets() -> dict[str, str]:
        """All presets with their descriptions and sources."""
        return dict(_native.presets())

    @property
    def name(self) -> str:
        """Name of the machine."""
        return self._machine.name

    @property
    def keys(self) -> dict[str, Any]:
        """Values of all keys."""
        return self._machine.keys()

    def describe(self) -> dict[str, Any]:
        """Data sheet: clocks in MHz, sizes in bytes, rates per cycle, latencies in cycles."""
        return {"about": self._machine.about} | json.loads(self._machine.sheet())

    def to_toml(self) -> str:
        """The machine as a TOML file that ``Gpu`` and ``warploom --gpu`` read."""
        return self._machine.to_toml()

    def options(
        self,
        *,
        functional: bool | None = None,
        threads: int | None = None,
        max_cycles: int | None = None,
        window: int | None = None,
        parts: bool | None = None,
        checks: Iterable[str] | None = None,
        energy: str | bool | None = None,
        memory_bytes: int | None = None,
        timeline: bool | None = None,
        warp_scheduler: Callable[[], WarpScheduler] | None = None,
    ) -> Gpu:
        """The same machine with other options of its runs; those not given stay as they are.

        Args:
            functional: Execute without timing: outputs only, and no cycles.
            threads: Threads of the host. The result does not depend on them.
            max_cycles: Core cycles after which a run stops.
            window: Record counters in windows of this many core cycles.
            parts: Also count by SM and by memory partition.
            checks: ``uninitialised``, ``shared-races``, ``barriers``, ``bounds``.
            energy: ``True`` for the machine's own energy preset, or the name of one.
            memory_bytes: Size of the device's memory in bytes.
            timeline: Record what every warp does (:meth:`Result.save_timeline`); for runs of some
                thousand cycles.
            warp_scheduler: A class derived from :class:`WarpScheduler`, in the place of the
                machine's. The simulation then runs some ten times slower or worse.

        Raises:
            InputError: an option has a value that it cannot have.
        """
        if not (warp_scheduler is None or callable(warp_scheduler)):
            raise InputError(
                f"`warp_scheduler` is {warp_scheduler!r}; give a class derived from "
                "`WarpScheduler`, or choose a built-in one by `Gpu(name, sm__warp_scheduler=...)`"
            )
        given = {
            "functional": functional,
            "threads": threads,
            "max_cycles": max_cycles,
            "window": window,
            "parts": parts,
            "checks": None if checks is None else _checks(checks),
            "energy": "" if energy is True else energy or None,
            "memory_bytes": memory_bytes,
            "timeline": timeline,
            "warp_scheduler": warp_scheduler,
        }
        given = {name: value for name, value in given.items() if value is not None}
        for name in _COUNTS:
            if name in given:
                given[name] = _count(name, given[name])
        other = copy.copy(self)
        other._options = self._options | given
        return other

    def changed(self, settings: Mapping[str, Any]) -> Gpu:
        """This machine with further changed keys, and with the same options."""
        other = Gpu(self._name, self._settings | dict(settings))
        other._options = self._options
        return other

    def _settings_of_programs(self) -> dict[str, Any]:
        """Settings of CUDA programs that run on the machine.

        Raises:
            InputError: an option exists only for runs of this package.
        """
        own = [name for name in ("parts", "timeline", "warp_scheduler") if self._options[name]]
        if own:
            raise InputError(f"`{own[0]}` is not an option of CUDA programs; leave it out")
        options = self._options
        return {
            "gpu": self._name,
            "set": [f"{key}={_value(value)}" for key, value in self._settings.items()],
            "functional": options["functional"],
            "threads": options["threads"],
            "max_cycles": options["max_cycles"],
            "window_cycles": options["window"],
            "check": options["checks"],
            "energy": options["energy"],
            "memory_mib": -(-options["memory_bytes"] // 2**20),
            "command": _command_line(),
        }

    def _stopped_by(self, stop: _native.Stop) -> Gpu:
        """The same machine, whose runs end when ``stop`` is set."""
        other = copy.copy(self)
        other._options = self._options | {"stop": stop}
        return other

    def run(self) -> Run:
        """Starts a run of several launches and copies; see :class:`Run`."""
        return Run(self)

    def workload(self, name: str, size: str = "small", seed: int = 1) -> Result:
        """Runs a workload of the papers and checks its outputs; see :func:`warploom.workload`."""
        options = self._native_options(f"workload {name}")
        return Result(_native.run_workload(self._machine, options, name, size, seed))

    def _native_options(self, command: str | None = None) -> dict[str, Any]:
        return self._options | {"command": command or _command_line()}

    def __repr__(self) -> str:
        return f"Gpu({self.name!r}, {self._settings})" if self._settings else f"Gpu({self.name!r})"


def _command_line() -> str:
    """How the script was started, for the report."""
    return shlex.join(sys.argv) or "python"


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _count(name: str, value: Any) -> int:
    """A whole number above 0. Floats such as ``1e6`` are whole numbers, too."""
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    try:
        count = operator.index(whole)
    except TypeError:
        count = 0
    if count > 0:
        return count
    raise InputError(f"`{name}` is {value!r}; write a whole number above 0")


def _checks(checks: Iterable[str]) -> list[str]:
    names = [checks] if isinstance(checks, str) else list(checks)
    for name in names:
        if name not in _CHECKS:
            raise InputError(f"no check is called `{name}`; there are: {', '.join(_CHECKS)}")
    return names
