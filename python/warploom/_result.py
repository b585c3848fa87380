"""Results of runs."""

from __future__ import annotations

import base64
import difflib
import functools
import html
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from . import _native
from ._frame import Frame
from .errors import InputError

#: Largest number of launches with a bar of their own in the stall chart.
_MOST_BARS = 12
#: Largest timeline in characters that a notebook gets.
_LARGEST_LINK = 4_000_000


class StatisticFacts(NamedTuple):
    """Description of a statistic."""

    #: Unit, for example ``cycles`` or ``bytes``.
    unit: str
    #: Sentence that says what is counted.
    sentence: str
    #: Name of the same statistic in GPGPU-Sim, if it has one.
    gpgpusim: str | None


class Statistics(Mapping[str, int]):
    """Counters by name. A counter that is 0 is in the mapping only if its name is known.

    >>> result.statistics["dram.reads"], result.statistics.unit("dram.reads")
    """

    def __init__(self, counts: Mapping[str, int]):
        self._counts = dict(counts)

    def __getitem__(self, name: str) -> int:
        count = self._counts.get(name)
        if count is None:
            self.facts(name)
            return 0
        return count

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def facts(self, name: str) -> StatisticFacts:
        """Unit, sentence and GPGPU-Sim's name of a statistic.

        Raises:
            KeyError: no statistic has this name; the message names similar ones.
        """
        for pattern, facts in _patterns():
            if pattern.fullmatch(name):
                return facts
        names = [*self._counts, *(row[0] for row in _native.statistics())]
        similar = difflib.get_close_matches(name, names, n=3)
        hint = f"similar ones: {', '.join(dict.fromkeys(similar))}; " if similar else ""
        raise KeyError(f"no statistic is called `{name}`; {hint}`warploom list stats` lists all")

    def unit(self, name: str) -> str:
        """Unit of a statistic."""
        return self.facts(name).unit

    def to_frame(self) -> Frame:
        """A row for each counter that is not 0: name, value, unit."""
        names = list(self._counts)
        units = [self.unit(name) for name in names]
        return Frame({"name": names, "value": list(self._counts.values()), "unit": units})

    def __repr__(self) -> str:
        return f"Statistics({len(self)} counters that are not 0)"

    def _repr_html_(self) -> str:
        return self.to_frame()._repr_html_()


@functools.cache
def _patterns() -> list[tuple[re.Pattern[str], StatisticFacts]]:
    return [
        (_pattern(name), StatisticFacts(unit, sentence, gpgpusim))
        for name, unit, sentence, gpgpusim in _native.statistics()
    ]


def _pattern(name: str) -> re.Pattern[str]:
    """Expression for a name whose dimensions are labels in braces: ``{a,b}`` or ``{a..z}``."""
    parts = re.split(r"(\{[^}]*\})", name)
    return re.compile("".join(map(_part, parts)))


def _part(part: str) -> str:
    if not part.startswith("{"):
        return re.escape(part)
    labels = part[1:-1]
    return r"[^.]+" if ".." in labels else f"(?:{'|'.join(map(re.escape, labels.split(',')))})"


class _Figures:
    """Figures of a launch or of a whole run."""

    def __init__(self, data: Mapping[str, Any]):
        self._data = data

    @property
    def cycles(self) -> int:
        """Core cycles; 0 in a run without timing."""
        return self._data["cycles"]

    @property
    def warp_instructions(self) -> int:
        """Instructions issued, one for up to 32 threads."""
        return self._data["warp_instructions"]

    @property
    def thread_instructions(self) -> int:
        """Instructions issued, one for each active thread."""
        return self._data["thread_instructions"]

    @property
    def ipc(self) -> float:
        """Thread instructions per core cycle."""
        return self._data["ipc"]

    @property
    def l1d_hit_rate(self) -> float | None:
        """Hits over accesses of all L1 data caches, from 0 to 1; ``None`` without accesses."""
        return self._data["l1d"]["hit_rate"]

    @property
    def l2_hit_rate(self) -> float | None:
        """Hits over accesses of all L2 banks, from 0 to 1; ``None`` without accesses."""
        return self._data["l2"]["hit_rate"]

    @property
    def dram_utilisation(self) -> float | None:
        """Share of DRAM's command cycles in which data moved, from 0 to 1."""
        return self._data["dram"]["utilisation"]

    @property
    def stalls(self) -> dict[str, float]:
        """Shares of the scheduler cycles by cause, issue included; their sum is 1."""
        return dict(self._data["stalls"])

    @property
    def statistics(self) -> Statistics:
        """All counters."""
        return Statistics(self._data["statistics"])

    @property
    def energy(self) -> dict[str, Any] | None:
        """Energy in joules by component, power in watts; ``None`` unless it was asked for."""
        return self._data.get("energy")

    def _row(self) -> dict[str, Any]:
        row = {
            "cycles": self.cycles,
            "ipc": self.ipc,
            "warp_instructions": self.warp_instructions,
            "l1d_hit_rate": self.l1d_hit_rate,
            "l2_hit_rate": self.l2_hit_rate,
            "dram_utilisation": self.dram_utilisation,
        }
        if self.energy:
            row |= {"joules": self.energy["joules"], "watts": self.energy["watts"]}
        return row


class KernelResult(_Figures):
    """Result of one launch of a kernel."""

    @property
    def name(self) -> str:
        """Name of the kernel in its module."""
        return self._data["name"]

    @property
    def grid(self) -> tuple[int, int, int]:
        """Blocks of the grid in x, y and z."""
        return tuple(self._data["grid"])

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block in x, y and z."""
        return tuple(self._data["block"])

    @property
    def registers_per_thread(self) -> int:
        """Registers of 32 bits per thread."""
        return self._data["registers_per_thread"]

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block in bytes, static and dynamic."""
        return self._data["shared_bytes"]

    @property
    def blocks_per_sm(self) -> int:
        """Largest number of blocks on an SM at a time."""
        return self._data["blocks_per_sm"]

    @property
    def occupancy_limit(self) -> str:
        """Resource that limits the number of blocks on an SM."""
        return self._data["occupancy_limit"]

    def __repr__(self) -> str:
        return f"KernelResult({self.name!r}, {self.cycles:,} cycles, ipc {self.ipc:.1f})"


class Result(_Figures):
    """Result of a run. Printing it gives the report of ``warploom run``."""

    def __init__(self, native: _native.Report):
        self._native = native

    @functools.cached_property
    def _whole(self) -> dict[str, Any]:
        # Made at the first use: it takes longer than a short launch.
        return json.loads(self._native.json())

    @property
    def _data(self) -> Mapping[str, Any]:  # type: ignore[override]
        return self._whole["totals"]

    @property
    def kernels(self) -> list[KernelResult]:
        """Launches in order."""
        return [KernelResult(kernel) for kernel in self._whole["kernels"]]

    @property
    def gpu(self) -> str:
        """Name of the machine."""
        return self._whole["gpu"]["name"]

    @property
    def config(self) -> dict[str, Any]:
        """Values of all keys of the machine."""
        return self._whole["gpu"]["config"]

    @property
    def outcome(self) -> str:
        """``finished`` or ``cycle-limit``. Any other end of a run raises an exception."""
        return self._whole["outcome"]["kind"]

    @property
    def findings(self) -> list[str]:
        """What the requested checks found in the simulated program, one line each."""
        return self._whole.get("findings", [])

    @property
    def checks(self) -> list[dict[str, Any]]:
        """Comparisons of a workload's outputs with references: ``name``, ``passed``, ``detail``."""
        return self._whole["checks"]

    @property
    def passed(self) -> bool:
        """True if all comparisons passed and the requested checks found nothing."""
        return all(check["passed"] for check in self.checks) and not self.findings

    @property
    def digest(self) -> str:
        """Digest of memory, outcome, cycles and counters. It does not depend on the host."""
        return self._whole["digest"]

    @property
    def seconds(self) -> float:
        """Time that the simulation took on the host, in seconds."""
        return self._whole["wall_seconds"]

    @property
    def windows(self) -> Frame | None:
        """Counters by window of core cycles: ``start``, ``end``, and a column for each counter.

        ``None`` unless the run had the option ``window``.
        """
        series = self._whole.get("series")
        if series is None:
            return None
        watts = {f"watts.{name}": values for name, values in series.get("watts", {}).items()}
        return Frame({"start": series["start"], "end": series["end"]} | series["columns"] | watts)

    def to_dict(self) -> dict[str, Any]:
        """The whole result, as ``warploom run --json`` prints it."""
        return self._whole

    def to_frame(self) -> Frame:
        """A row for each launch."""
        rows = []
        for number, kernel in enumerate(self.kernels):
            place = {
                "launch": number,
                "name": kernel.name,
                "blocks": kernel.grid[0] * kernel.grid[1] * kernel.grid[2],
                "threads": kernel.block[0] * kernel.block[1] * kernel.block[2],
                "registers": kernel.registers_per_thread,
                "blocks_per_sm": kernel.blocks_per_sm,
            }
            rows.append(place | kernel._row())
        return Frame.from_rows(rows)

    def to_arrow(self) -> Any:
        """:meth:`to_frame` as a ``pyarrow.Table`` (needs pyarrow)."""
        return self.to_frame().to_arrow()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """:meth:`to_frame` as a stream of Arrow's C interface."""
        return self.to_frame().__arrow_c_stream__(requested_schema)

    def stall_chart(self) -> str:
        """Chart of the scheduler cycles by cause as SVG."""
        return self._native.stall_chart(_MOST_BARS)

    def save_timeline(self, path: str | os.PathLike[str]) -> None:
        """Writes what every warp did in every cycle, as a file for https://ui.perfetto.dev.

        Raises:
            InputError: the run did not have the option ``timeline``.
        """
        timeline = self._native.timeline()
        if timeline is None:
            raise InputError("the run has no timeline; run it on `gpu.options(timeline=True)`")
        with open(path, "w", encoding="utf-8") as file:
            file.write(timeline)

    def _timeline_link(self) -> str:
        """A link that downloads the timeline, or how to save one that is too large for a page."""
        timeline = self._native.timeline()
        if timeline is None:
            return ""
        viewer = '<a href="https://ui.perfetto.dev">ui.perfetto.dev</a>'
        if len(timeline) > _LARGEST_LINK:
            return f"<p>Timeline for {viewer}: <code>result.save_timeline(path)</code></p>"
        data = base64.b64encode(timeline.encode()).decode()
        link = f'<a download="timeline.json" href="data:application/json;base64,{data}">Timeline</a>'
        return f"<p>{link} for {viewer}</p>"

    def _launches(self) -> str:
        count = len(self.kernels)
        return "1 launch" if count == 1 else f"{count:,} launches"

    def __str__(self) -> str:
        return self._native.text()

    def __repr__(self) -> str:
        return (
            f"Result({self._launches()} on {self.gpu}, {self.cycles:,} cycles, "
            f"ipc {self.ipc:.1f})"
        )

    def _repr_html_(self) -> str:
        title = f"{self._launches()} on {self.gpu}: {self.cycles:,} cycles"
        chart = self.stall_chart() if self.stalls else ""
        table = self.to_frame()._repr_html_()
        return f"<h4>{html.escape(title)}</h4>{table}{chart}{self._timeline_link()}"
