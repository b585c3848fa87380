"""A kernel on numpy's arrays, and its report.

    python examples/python/saxpy.py
"""

from pathlib import Path

import numpy
import warploom

ptx = Path(__file__).parent.parent / "saxpy" / "saxpy.ptx"
x, y = numpy.ones(1024, "f4"), numpy.zeros(1024, "f4")
module = warploom.Module.from_ptx(ptx, warploom.Gpu("qv100-volta"))
print(module.saxpy[4, 256](1024, 2.0, x, y))
assert (y == 2).all()
