"""Heat that spreads in a plate: a stencil by a Numba kernel on a simulated GPU.

    pip install numba-cuda nvidia-nvvm nvidia-cuda-nvrtc
    warploom python --gpu rtx3070-ampere -- examples/numba/stencil.py

Each block loads its part of the plate, with a border of one cell, into shared memory.
"""

import numpy
from numba import cuda, float32

TILE = 8
BORDERED = TILE + 2


@cuda.jit
def spread(now, after):
    tile = cuda.shared.array((BORDERED, BORDERED), float32)
    row, column = cuda.grid(2)
    y, x = cuda.threadIdx.x + 1, cuda.threadIdx.y + 1
    rows, columns = now.shape
    inside = row < rows and column < columns
    if inside:
        tile[y, x] = now[row, column]
        if y == 1 and row > 0:
            tile[0, x] = now[row - 1, column]
        if y == TILE and row + 1 < rows:
            tile[TILE + 1, x] = now[row + 1, column]
        if x == 1 and column > 0:
            tile[y, 0] = now[row, column - 1]
        if x == TILE and column + 1 < columns:
            tile[y, TILE + 1] = now[row, column + 1]
    cuda.syncthreads()
    if inside:
        if 0 < row < rows - 1 and 0 < column < columns - 1:
            around = tile[y - 1, x] + tile[y + 1, x] + tile[y, x - 1] + tile[y, x + 1]
            after[row, column] = around * float32(0.25)
        else:
            after[row, column] = tile[y, x]


def main():
    shape, steps = (41, 30), 4
    plate = numpy.random.default_rng(3).random(shape, dtype="f4")
    now, after = cuda.to_device(plate), cuda.device_array(shape, "f4")
    grid = tuple(-(-length // TILE) for length in shape)
    for _ in range(steps):
        spread[grid, (TILE, TILE)](now, after)
        now, after = after, now
    expected = plate.astype("f8")
    for _ in range(steps):
        around = expected[:-2, 1:-1] + expected[2:, 1:-1] + expected[1:-1, :-2] + expected[1:-1, 2:]
        expected[1:-1, 1:-1] = around / 4
    numpy.testing.assert_allclose(now.copy_to_host(), expected, rtol=1e-5)
    print(f"stencil: {steps} steps on {shape[0]} x {shape[1]} cells are right")


if __name__ == "__main__":
    main()
