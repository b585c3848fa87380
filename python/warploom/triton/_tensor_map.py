"""Tensor maps of Triton's descriptors of tensors, for machines from sm_90 on."""

from __future__ import annotations

import ctypes
from typing import Any

from .. import cuda
from ..errors import InputError

#: Size and alignment of a tensor map in bytes.
_BYTES, _ALIGNMENT = 128, 64
#: Types of elements whose numbers in PTX, which Triton states, differ from those of the driver.
_TYPES = {8: 10, 9: 8, 10: 9}
_TF32 = 11
#: Values of the driver: no interleaving, lines of 128 bytes to L2, and NaN for what lies outside.
_PLAIN, _PROMOTION, _NAN = 0, 2, 1


def encode(arg: Any, metadata: dict[str, Any]) -> Any:
    """The tensor map of a descriptor, as a parameter has it in memory."""
    if metadata.get("is_im2col", False):
        raise InputError(
            "descriptors for im2col need Triton's own backend; set TRITON_DEFAULT_BACKEND=nvidia"
        )
    shape, strides = list(arg.shape), list(arg.strides)
    if metadata["fp4_padded"]:
        shape[-1] *= 2
    bytes_of = metadata["elem_size"]
    kind = metadata["elem_type"]
    rank = len(shape)
    # The driver counts axes from the innermost one, which has no stride.
    lengths = (ctypes.c_uint64 * rank)(*reversed(shape))
    outer = [bytes_of * stride for stride in reversed(strides[:-1])]
    tensor_map = _aligned()
    cuda._call(
        "cuTensorMapEncodeTiled",
        ctypes.byref(tensor_map),
        _TF32 if arg.round_f32_to_tf32 else _TYPES.get(kind, kind),
        rank,
        ctypes.c_uint64(arg.base.data_ptr()),
        lengths,
        (ctypes.c_uint64 * max(1, rank - 1))(*outer),
        (ctypes.c_uint32 * rank)(*reversed(metadata["block_size"])),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        _PLAIN,
        metadata["swizzle"],
        _PROMOTION,
        _NAN if arg.padding == "nan" else 0,
    )
    return tensor_map


def _aligned() -> Any:
    """Memory for a tensor map."""
    memory = (ctypes.c_ubyte * (_BYTES + _ALIGNMENT))()
    start = -ctypes.addressof(memory) % _ALIGNMENT
    return (ctypes.c_ubyte * _BYTES).from_buffer(memory, start)
