"""The examples in Python run and print what they promise."""

import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"


def lines(name):
    command = [sys.executable, str(EXAMPLES / f"{name}.py")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_a_kernel_on_arrays():
    assert any(line.startswith("saxpy") for line in lines("saxpy"))


def test_a_scheduler_beside_others():
    pytest.importorskip("pandas")
    rows = [line.split() for line in lines("scheduler")]
    assert [row[0] for row in rows] == ["sm.warp_scheduler", "lrr", "gto", "fewest-issues"]
    assert all(row[-1] == "True" for row in rows[1:])
