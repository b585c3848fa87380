"""A sweep's table with pandas, and a plot of it.

    python examples/python/sweep.py [FOLDER]

FOLDER takes the runs, the table and the plot; it is `results` if none is given.
"""

import sys
from pathlib import Path

import warploom

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
study = Path(__file__).parent.parent / "sweep" / "saxpy-sweep.toml"
table = warploom.sweep(study, folder).to_pandas()
cycles = table.pivot(index="gpu.max_blocks_per_sm", columns="sm.warp_scheduler", values="cycles")
print(cycles)

axes = cycles.plot(marker="o", xlabel="blocks per SM", ylabel="core cycles", title="saxpy")
axes.figure.savefig(folder / "saxpy.png")
