"""Warp schedulers in Python, to try an idea before it is written in Rust.

The simulation calls the scheduler in every cycle in which it could issue, so it runs many times
slower than with a built-in one. Docs: "Adding a policy" shows the same in Rust.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._native import View

__all__ = ["WarpScheduler"]


class WarpScheduler:
    """A warp scheduler; one object serves one scheduler of one SM.

    A derived class may also have the methods ``on_issue(slot)``, ``on_start(slot)`` and
    ``on_exit(slot)``, which are called when a warp issues, starts or has exited.

    >>> class Youngest(WarpScheduler):
    ...     def pick(self, view, ready):
    ...         return max(ready, key=view.by_age.index)
    >>> gpu = Gpu().options(warp_scheduler=Youngest)
    """

    def pick(self, view: View, ready: list[int]) -> int | None:
        """The slot in ``ready`` that issues; ``None`` lets the cycle pass."""
        raise NotImplementedError
