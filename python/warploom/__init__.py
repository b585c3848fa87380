"""Warploom: a GPU simulator. Executes CUDA kernels as PTX and times them.

>>> import numpy, warploom
>>> module = warploom.Module.from_ptx("saxpy.ptx", warploom.Gpu("qv100-volta"))
>>> result = module.saxpy[4, 256](1024, 2.0, x, y)
>>> print(result)
"""

from . import cuda, policy, triton
from ._frame import Frame
from ._gpu import Gpu
from ._module import Kernel, Launcher, Module, Parameter
from ._native import __version__
from ._result import KernelResult, Result, StatisticFacts, Statistics
from ._run import DeviceArray, Run, Stream
from ._sweep import sweep
from ._workload import Workload, compare, workload, workloads
from .errors import CycleLimit, Fault, InputError, SimulatedError, Stuck, WarploomError
from .policy import WarpScheduler

__all__ = [
    "CycleLimit",
    "DeviceArray",
    "Fault",
    "Frame",
    "Gpu",
    "InputError",
    "Kernel",
    "KernelResult",
    "Launcher",
    "Module",
    "Parameter",
    "Result",
    "Run",
    "SimulatedError",
    "StatisticFacts",
    "Statistics",
    "Stream",
    "Stuck",
    "WarpScheduler",
    "WarploomError",
    "Workload",
    "__version__",
    "compare",
    "cuda",
    "policy",
    "sweep",
    "triton",
    "workload",
    "workloads",
]
