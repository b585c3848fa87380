"""Kernels of Triton on the simulated driver: the examples compare their results with numpy."""

import pathlib
import subprocess
import sys

import pytest

from warploom import _command

pytest.importorskip("triton")
pytestmark = pytest.mark.skipif(
    not (_command.FOLDER / "warploom").is_file(), reason="the package has no program"
)
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "triton"


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_an_example_is_right(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code = "from warploom._command import main; main()"
    options = ["--gpu", "rtx3070-ampere"]
    script = str(EXAMPLES / f"{name}.py")
    command = [sys.executable, "-c", code, "python", *options, "--", script]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.startswith(f"{name}: ") and ran.stdout.endswith("are right\n")
    # The report of the run names the kernel and its cycles.
    assert "rtx3070-ampere" in ran.stderr and " cycles" in ran.stderr
