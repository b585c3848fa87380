"""Attention of one head, softmax(q k' / sqrt(d)) v, by a Triton kernel that never stores the scores.

    warploom python --gpu rtx3070-ampere -- examples/triton/attention.py
"""

import math

import numpy
import triton
import triton.language as tl

from warploom import cuda


@triton.jit
def attend(q, k, v, out, scale, N, D: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + columns[None, :])
    most = tl.full((ROWS,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    sums = tl.zeros((ROWS, D), dtype=tl.float32)
    for start in range(0, N, TILE):
        keys = start + tl.arange(0, TILE)
        key = tl.load(k + keys[None, :] * D + columns[:, None])
        scores = tl.dot(query, key) * scale
        higher = tl.maximum(most, tl.max(scores, axis=1))
        weights = tl.exp(scores - higher[:, None])
        # Sums of earlier tiles were made with another maximum.
        shrink = tl.exp(most - higher)
        total = total * shrink + tl.sum(weights, axis=1)
        value = tl.load(v + keys[:, None] * D + columns[None, :])
        sums = tl.dot(weights.to(tl.float16), value, sums * shrink[:, None])
        most = higher
    tl.store(out + rows[:, None] * D + columns[None, :], sums / total[:, None])


def main():
    rng = numpy.random.default_rng(4)
    n, d = 64, 32
    q, k, v = (rng.normal(size=(n, d)).astype("f2") for _ in range(3))
    out = cuda.zeros((n, d), "f4")
    arrays = [cuda.array(each) for each in (q, k, v)]
    attend[(n // 32,)](*arrays, out, 1 / math.sqrt(d), n, D=d, ROWS=32, TILE=32)
    scores = q.astype("f8") @ k.astype("f8").T / math.sqrt(d)
    weights = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    expected = weights / weights.sum(axis=1, keepdims=True) @ v.astype("f8")
    numpy.testing.assert_allclose(out.numpy(), expected, atol=2e-3)
    print(f"attention: {n} rows of {d} are right")


if __name__ == "__main__":
    main()
