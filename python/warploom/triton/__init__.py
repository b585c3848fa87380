"""Triton on the simulated GPU: the backend ``warploom`` of Triton, without torch and a C compiler.

Triton finds the backend by its entry point. It is chosen in a script that ``warploom python`` runs,
or after :func:`use`. Arrays are those of :mod:`warploom.cuda`.

>>> warploom.triton.use("rtx3070-ampere")
>>> x, y = warploom.cuda.array(a), warploom.cuda.zeros(a.shape, "f4")
>>> kernel[(4,)](x, y, 1024, BLOCK=256)
>>> y.numpy()
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import cuda
from .._command import TRITON_BACKEND, TRITON_VARIABLE

if TYPE_CHECKING:
    from .._gpu import Gpu

__all__ = ["do_bench", "is_chosen", "use"]


def is_chosen() -> bool:
    """True if Triton's kernels are to run on the simulated device."""
    return os.environ.get(TRITON_VARIABLE) == TRITON_BACKEND


def use(gpu: Gpu | str | None = None, **files: Any) -> None:
    """Runs Triton's kernels in this process on a machine; see :func:`warploom.cuda.use`.

    Call it before the first kernel. In a script that ``warploom python`` runs, the machine of its
    command line stays.

    Raises:
        InputError: the machine is not valid, or the device of this process was used before.
    """
    cuda.use(gpu, **files)
    os.environ[TRITON_VARIABLE] = TRITON_BACKEND
    if "triton" in sys.modules:
        from triton.runtime import driver

        from .driver import Driver

        driver.set_active(Driver())


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Any = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """Simulated time of a call in milliseconds, in the place of ``triton.testing.do_bench``.

    The call is made twice, and the second one is measured: caches have what the first one left in
    them. A simulated call takes the same time again, so that it is not repeated for `warmup` and
    `rep` milliseconds, and all quantiles are equal. The host takes no simulated time.

    Args:
        fn: Launches kernels.
        warmup: Not used.
        rep: Not used.
        grad_to_none: Tensors whose gradients are removed before the call.
        quantiles: A list with a time for each is returned.
        return_mode: ``all`` returns a list with the time.
    """
    fn()
    for tensor in grad_to_none or ():
        tensor.grad = None
    start, end = cuda.Event(), cuda.Event()
    start.record()
    fn()
    end.record()
    time = start.elapsed_time(end)
    if quantiles is not None:
        return [time] * len(quantiles) if len(quantiles) > 1 else time
    return [time] if return_mode == "all" else time
