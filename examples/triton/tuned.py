"""A kernel of Triton whose block size is chosen by simulated time. The script names its machine.

    python examples/triton/tuned.py
    warploom python --gpu h100-hopper -- examples/triton/tuned.py         with another machine
"""

import numpy
import triton
import triton.language as tl
import warploom
from warploom import cuda

warploom.triton.use("rtx3070-ampere")


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=4) for block in (128, 512, 2048)],
    key=["n"],
)
@triton.jit
def scale(x, out, factor, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, factor * tl.load(x + at, mask=at < n), mask=at < n)


def main():
    n = 50_000
    a = numpy.random.default_rng(5).random(n, dtype="f4")
    x, out = cuda.array(a), cuda.zeros(n, "f4")

    def launch():
        scale[lambda chosen: (triton.cdiv(n, chosen["BLOCK"]),)](x, out, 3.0, n)

    launch()
    numpy.testing.assert_array_equal(out.numpy(), numpy.float32(3) * a)
    microseconds = 1000 * triton.testing.do_bench(launch)
    block = scale.best_config.kwargs["BLOCK"]
    print(f"tuned: {n} products, {block} a block, in {microseconds:.1f} us are right")


if __name__ == "__main__":
    main()
