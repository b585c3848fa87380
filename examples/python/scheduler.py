"""A warp scheduler in Python beside two built-in ones, as a table of pandas.

    python examples/python/scheduler.py
"""

import pandas
import warploom


class FewestIssues(warploom.WarpScheduler):
    """The warp that has issued the fewest instructions goes first, as in `examples/policy`."""

    def __init__(self):
        self.issued = {}

    def pick(self, view, ready):
        return min(ready, key=lambda slot: (self.issued.get(slot, 0), slot))

    def on_issue(self, slot):
        self.issued[slot] = self.issued.get(slot, 0) + 1

    def on_start(self, slot):
        self.issued[slot] = 0


program = warploom.workload("vectoradd", size="test")
table = warploom.compare(program, vary={"sm.warp_scheduler": ["lrr", "gto"]}).to_pandas()
own = warploom.compare(program, warploom.Gpu().options(warp_scheduler=FewestIssues)).to_pandas()
own["sm.warp_scheduler"] = "fewest-issues"
table = pandas.concat([table, own])
print(table[["sm.warp_scheduler", "cycles", "ipc", "passed"]].to_string(index=False))
