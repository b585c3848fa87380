"""Attention of several heads, softmax(q k' / sqrt(d)) v, by a Triton kernel that never stores the
scores. With CAUSAL a row attends only to rows up to its own.

    warploom python --gpu rtx3070-ampere -- examples/triton/attention.py
    warploom python --gpu h100-hopper -- examples/triton/attention.py         with wgmma
"""

import math

import numpy
import triton
import triton.language as tl

from warploom import cuda


@triton.jit
def attend(
    q,
    k,
    v,
    out,
    scale,
    N,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    first = tl.program_id(0) * ROWS
    head = tl.program_id(1) * N * D
    rows = first + tl.arange(0, ROWS)
    columns = tl.arange(0, D)
    query = tl.load(q + head + rows[:, None] * D + columns[None, :])
    most = tl.full((ROWS,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    sums = tl.zeros((ROWS, D), dtype=tl.float32)
    # Powers of two are cheaper than those of e.
    factor = scale * 1.4426950408889634
    end = first + ROWS if CAUSAL else N
    for start in range(0, end, TILE):
        keys = start + tl.arange(0, TILE)
        key = tl.load(k + head + keys[None, :] * D + columns[:, None])
        scores = tl.dot(query, key) * factor
        if CAUSAL:
            scores = tl.where(rows[:, None] >= keys[None, :], scores, -float("inf"))
        higher = tl.maximum(most, tl.max(scores, axis=1))
        weights = tl.exp2(scores - higher[:, None])
        # Sums of earlier tiles were made with another maximum.
        shrink = tl.exp2(most - higher)
        total = total * shrink + tl.sum(weights, axis=1)
        value = tl.load(v + head + keys[:, None] * D + columns[None, :])
        sums = tl.dot(weights.to(tl.float16), value, sums * shrink[:, None])
        most = higher
    result = (sums / total[:, None]).to(tl.float16)
    tl.store(out + head + rows[:, None] * D + columns[None, :], result)


def reference(q, k, v, causal):
    """Attention by numpy, in 64 bits."""
    scores = q.astype("f8") @ k.astype("f8").swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        scores = numpy.where(numpy.tri(scores.shape[-1], dtype=bool), scores, -numpy.inf)
    weights = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v.astype("f8")


def main():
    rng = numpy.random.default_rng(4)
    heads, n, d = 2, 128, 64
    q, k, v = (rng.normal(size=(heads, n, d)).astype("f2") for _ in range(3))
    arrays = [cuda.array(each) for each in (q, k, v)]
    for causal in False, True:
        out = cuda.zeros(q.shape, "f2")
        attend[(n // 64, heads)](
            *arrays, out, 1 / math.sqrt(d), n, D=d, ROWS=64, TILE=32, CAUSAL=causal
        )
        numpy.testing.assert_allclose(out.numpy(), reference(q, k, v, causal), atol=4e-3)
    print(f"attention: {heads} heads of {n} rows of {d} are right")


if __name__ == "__main__":
    main()
