"""Particles that fall and bounce, by a Warp kernel on a simulated GPU.

    pip install warp-lang
    warploom python --gpu rtx3070-ampere -- examples/warp/particles.py
"""

import numpy
import warp

# Warploom runs PTX. Warp compiles to machine code otherwise.
warp.config.cuda_output = "ptx"
warp.config.log_level = warp.LOG_WARNING

COUNT = 256
STEPS = 3
STEP = 0.125


@warp.kernel
def fall(heights: warp.array(dtype=float), speeds: warp.array(dtype=float), step: float):
    i = warp.tid()
    speed = speeds[i] - 8.0 * step
    height = heights[i] + speed * step
    if height < 0.0:
        height, speed = -height, -speed
    heights[i] = height
    speeds[i] = speed


def main():
    start = numpy.linspace(0, 2, COUNT, dtype="f4")
    heights = warp.array(start, dtype=float, device="cuda:0")
    speeds = warp.zeros(COUNT, dtype=float, device="cuda:0")
    for _ in range(STEPS):
        warp.launch(fall, dim=COUNT, inputs=[heights, speeds, STEP], device="cuda:0")
    height, speed = start.astype("f8"), numpy.zeros(COUNT)
    for _ in range(STEPS):
        speed = speed - 8 * STEP
        height = height + speed * STEP
        below = height < 0
        height, speed = numpy.where(below, -height, height), numpy.where(below, -speed, speed)
    numpy.testing.assert_allclose(heights.numpy(), height, atol=1e-5)
    print(f"particles: {COUNT} heights after {STEPS} steps are right")


if __name__ == "__main__":
    main()
