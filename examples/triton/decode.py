"""Attention of one new row per sequence to the keys and values of all rows before it, as a language
model decodes. Several blocks share the rows of a sequence; a second kernel combines their results.

    warploom python --gpu rtx3070-ampere -- examples/triton/decode.py
"""

import math

import numpy
import triton
import triton.language as tl

from warploom import cuda


@triton.jit
def decode(q, k, v, sums, most, total, scale, N, SPAN, D: tl.constexpr, TILE: tl.constexpr):
    """Sums of one sequence over `SPAN` of its `N` rows, with their maximum and total weight."""
    sequence = tl.program_id(0)
    span = tl.program_id(1)
    columns = tl.arange(0, D)
    cache = sequence * N * D
    factor = scale * 1.4426950408889634
    query = tl.load(q + sequence * D + columns).to(tl.float32) * factor
    highest = -float("inf")
    weight = 0.0
    result = tl.zeros((D,), dtype=tl.float32)
    for start in range(span * SPAN, (span + 1) * SPAN, TILE):
        rows = start + tl.arange(0, TILE)
        at = cache + rows[:, None] * D + columns[None, :]
        keys = tl.load(k + at).to(tl.float32)
        values = tl.load(v + at).to(tl.float32)
        scores = tl.sum(keys * query[None, :], axis=1)
        higher = tl.maximum(highest, tl.max(scores, axis=0))
        weights = tl.exp2(scores - higher)
        # Sums of earlier tiles were made with another maximum.
        shrink = tl.exp2(highest - higher)
        weight = weight * shrink + tl.sum(weights, axis=0)
        result = result * shrink + tl.sum(weights[:, None] * values, axis=0)
        highest = higher
    part = sequence * tl.num_programs(1) + span
    tl.store(sums + part * D + columns, result)
    tl.store(most + part, highest)
    tl.store(total + part, weight)


@triton.jit
def combine(sums, most, total, out, D: tl.constexpr, SPANS: tl.constexpr):
    """Result of one sequence from those of its spans."""
    sequence = tl.program_id(0)
    spans = sequence * SPANS + tl.arange(0, SPANS)
    columns = tl.arange(0, D)
    each = tl.load(most + spans)
    shrink = tl.exp2(each - tl.max(each, axis=0))
    weight = tl.sum(tl.load(total + spans) * shrink, axis=0)
    parts = tl.load(sums + spans[:, None] * D + columns[None, :])
    result = tl.sum(parts * shrink[:, None], axis=0) / weight
    tl.store(out + sequence * D + columns, result.to(tl.float16))


def reference(q, k, v):
    """Attention of one row per sequence by numpy, in 64 bits."""
    scores = numpy.einsum("sd,snd->sn", q.astype("f8"), k.astype("f8")) / math.sqrt(q.shape[1])
    weights = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return numpy.einsum("sn,snd->sd", weights, v.astype("f8"))


def main():
    rng = numpy.random.default_rng(8)
    sequences, n, d = 3, 256, 64
    q = rng.normal(size=(sequences, d)).astype("f2")
    k, v = (rng.normal(size=(sequences, n, d)).astype("f2") for _ in range(2))
    arrays = [cuda.array(each) for each in (q, k, v)]
    for spans in 1, 4:
        sums = cuda.zeros((sequences, spans, d), "f4")
        most, total = (cuda.zeros((sequences, spans), "f4") for _ in range(2))
        out = cuda.zeros(q.shape, "f2")
        decode[(sequences, spans)](
            *arrays, sums, most, total, 1 / math.sqrt(d), n, n // spans, D=d, TILE=32
        )
        combine[(sequences,)](sums, most, total, out, D=d, SPANS=spans)
        numpy.testing.assert_allclose(out.numpy(), reference(q, k, v), atol=2e-3)
    print(f"decode: {sequences} sequences of {n} rows of {d} are right")


if __name__ == "__main__":
    main()
