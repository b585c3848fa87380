"""The examples in Python run and print what they promise."""

import json
import pathlib
import subprocess
import sys

import pytest

from warploom import _command

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def lines(script, *arguments):
    command = [sys.executable, str(script), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_a_kernel_on_arrays():
    assert any(line.startswith("saxpy") for line in lines(EXAMPLES / "python/saxpy.py"))


def test_kernels_in_cuda():
    pytest.importorskip("nvidia.cuda_nvrtc")
    printed = lines(EXAMPLES / "kernels/check.py")
    names = [line.split(":")[0] for line in printed]
    assert names == ["gemm_mma", "gemm_tma", "sgemm", "transpose"]
    assert all(line.endswith("are right") for line in printed)


def test_a_scheduler_beside_others():
    pytest.importorskip("pandas")
    rows = [line.split() for line in lines(EXAMPLES / "python/scheduler.py")]
    assert [row[0] for row in rows] == ["sm.warp_scheduler", "lrr", "gto", "fewest-issues"]
    assert all(row[-1] == "True" for row in rows[1:])


def test_a_sweep_is_plotted(tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    if not (_command.FOLDER / "warploom").is_file():
        pytest.skip("the package has no program")
    header, *rows = lines(EXAMPLES / "python/sweep.py", str(tmp_path))
    assert header.split() == ["sm.warp_scheduler", "gto", "lrr", "oldest"]
    assert [row.split()[0] for row in rows[1:]] == ["1", "2", "4", "6"]
    assert (tmp_path / "saxpy.png").stat().st_size > 1000


def test_the_notebook_of_policies(tmp_path):
    pytest.importorskip("pandas")
    book = json.loads((EXAMPLES / "notebook/policies.ipynb").read_text())
    cells = [cell["source"] for cell in book["cells"] if cell["cell_type"] == "code"]
    assert len(cells) == 3
    script = tmp_path / "cells.py"
    script.write_text("\n".join("".join(cell) + "\n" for cell in cells))
    printed = lines(script)
    assert printed[0].split() == ["sm.warp_scheduler", "gto", "lrr"]
    assert printed[-1].startswith("{32: ") and "64: " in printed[-1]
