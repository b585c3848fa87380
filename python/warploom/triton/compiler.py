"""Compiler of Triton's backend ``warploom``: Triton's own for NVIDIA up to PTX, which stays PTX."""

from __future__ import annotations

from typing import Any

from triton.backends.nvidia import compiler as nvidia

from .._command import TRITON_BACKEND
from .._native import __version__
from .._ptxas import allocated

#: Version of PTX, which Triton otherwise asks of an installed ptxas (87 for 8.7).
_PTX = 87


class Backend(nvidia.CUDABackend):
    """Compiles for the simulated device."""

    @staticmethod
    def supports_target(target: Any) -> bool:
        """True for NVIDIA's architectures from when on the driver runs in the place of NVIDIA's."""
        from triton.backends import backends

        return target.backend == "cuda" and "nvidia" not in backends

    def hash(self) -> str:
        """Identifier of this compiler in Triton's cache of kernels."""
        return f"{TRITON_BACKEND}-{__version__}-{self.target.arch}"

    def parse_options(self, opts: dict[str, Any]) -> Any:
        """Options of a kernel."""
        if opts.get("ptx_version") is None:
            opts = opts | {"ptx_version": _PTX}
        return super().parse_options(opts)

    def make_cubin(self, src: str, metadata: Any, opt: Any, capability: int) -> bytes:
        """The last stage, which is machine code elsewhere: PTX, with spills where it needs them."""
        return allocated(src).encode()
