"""Tables: columns of equal length, which data-frame libraries take over by Arrow's interface."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import _native


class Frame:
    """A table of named columns.

    ``pandas.DataFrame(dict(frame))``, ``polars.DataFrame(frame)``, ``pyarrow.table(frame)`` and
    DuckDB read it; :meth:`to_pandas` is the shortest way to pandas. A missing value is ``None``.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]]):
        self._columns = {name: list(values) for name, values in columns.items()}
        if len({len(values) for values in self._columns.values()}) > 1:
            raise ValueError("the columns of a frame must have the same length")

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Frame:
        """A table with a column for each name in any of the rows, in the order of appearance."""
        rows = list(rows)
        names = dict.fromkeys(name for row in rows for name in row)
        return cls({name: [row.get(name) for row in rows] for name in names})

    @property
    def columns(self) -> list[str]:
        """Names of the columns in order."""
        return list(self._columns)

    def keys(self) -> list[str]:
        """Names of the columns, so that ``dict(frame)`` works."""
        return self.columns

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self._columns:
            raise KeyError(f"no column is called `{name}`; there are: {', '.join(self._columns)}")
        return self._columns[name]

    def __len__(self) -> int:
        return max((len(values) for values in self._columns.values()), default=0)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterates over the rows as dictionaries."""
        for at in range(len(self)):
            yield {name: values[at] for name, values in self._columns.items()}

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as a stream of Arrow's C interface. Another schema is not offered."""
        return _native.arrow_stream(list(self._columns.items()))

    def to_arrow(self) -> Any:
        """The table as a ``pyarrow.Table`` (needs pyarrow)."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame`` (needs pandas)."""
        import pandas

        return pandas.DataFrame(self._columns)

    def __repr__(self) -> str:
        return _text(self._columns, len(self), limit=20)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._columns)
        shown = list(self.rows())[:60]
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(cell))}</td>" for cell in row.values()) + "</tr>"
            for row in shown
        )
        left = len(self) - len(shown)
        more = f"<p>and {left} more rows</p>" if left else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _text(columns: Mapping[str, Sequence[Any]], rows: int, limit: int) -> str:
    lists = [[name, *map(_cell, values[:limit])] for name, values in columns.items()]
    widths = [max(map(len, cells)) for cells in lists]
    numeric = [
        all(isinstance(value, (int, float, type(None))) for value in values)
        for values in columns.values()
    ]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric)
        ).rstrip()
        for line in zip(*lists)
    ]
    more = [f"... {rows - limit} more rows"] if rows > limit else []
    return "\n".join(lines + more)
