"""Workloads of the papers, and comparisons of machines."""

from __future__ import annotations

import concurrent.futures
import itertools
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _native
from ._frame import Frame
from ._gpu import Gpu
from ._result import Result


class Workload:
    """A workload: kernels, inputs from a seed, and a reference on the CPU."""

    def __init__(self, name: str, size: str = "small", seed: int = 1):
        self.name = name
        self.size = size
        self.seed = seed

    def run(self, gpu: Gpu | str | None = None) -> Result:
        """Runs the workload on a machine (``gtx480`` if none is given) and checks its outputs."""
        return Gpu.of(gpu).workload(self.name, self.size, self.seed)

    def __call__(self, gpu: Gpu | str) -> Result:
        return self.run(gpu)

    def __repr__(self) -> str:
        return f"Workload({self.name!r}, size={self.size!r}, seed={self.seed})"


def workload(name: str, size: str = "small", seed: int = 1) -> Workload:
    """A workload of the papers.

    Args:
        name: ``bfs``, ``NAME@VARIANT``, ``NAME:KERNEL`` or ``PAPER/ABBREVIATION``;
            :func:`workloads` lists the names.
        size: ``test``, ``small`` or ``paper``.
        seed: Seed of the inputs.

    >>> print(workload("bfs").run(Gpu("qv100-volta")))
    """
    return Workload(name, size, seed)


def workloads() -> Frame:
    """All workloads: name, suite, description."""
    names, suites, about = zip(*_native.workloads())
    return Frame({"name": names, "suite": suites, "about": about})


def compare(
    program: Callable[[Gpu], Result] | str,
    gpus: Iterable[Gpu | str] | str | Gpu = "gtx480",
    vary: Mapping[str, Iterable[Any]] | None = None,
    *,
    workers: int | None = None,
) -> Frame:
    """Runs a program on several machines and returns a row for each.

    Args:
        program: A workload, its name, or a function from a machine to a result.
        gpus: Machines or names of presets.
        vary: Values of keys; every combination is a machine of its own.
        workers: Runs at the same time; as many as the host has cores if not given.

    Returns:
        The name of the machine, the varied keys, the figures of the run and ``passed``.

    >>> compare("spmv", vary={"sm.warp_scheduler": ["lrr", "gto"], "l1d.sets": [32, 64]})
    """
    run = workload(program) if isinstance(program, str) else program
    bases = [gpus] if isinstance(gpus, (str, Gpu)) else list(gpus)
    axes = {key: _values(values) for key, values in (vary or {}).items()}
    changes = [dict(zip(axes, values)) for values in itertools.product(*axes.values())]
    machines = [(_machine(base, change), change) for base in bases for change in changes]
    # Signals reach the main thread alone, which then stops the runs of the others.
    stop = _native.Stop()
    with concurrent.futures.ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        try:
            results = list(pool.map(run, [machine._stopped_by(stop) for machine, _ in machines]))
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Frame.from_rows(
        {"gpu": machine.name} | change | result._row() | {"passed": result.passed}
        for (machine, change), result in zip(machines, results)
    )


def _values(values: Any) -> list[Any]:
    """Values of a key; a text or a number is a single one."""
    return [values] if isinstance(values, (str, int, float)) else list(values)


def _machine(base: Gpu | str, change: Mapping[str, Any]) -> Gpu:
    if isinstance(base, str):
        return Gpu(base, change)
    return base.changed(change)
