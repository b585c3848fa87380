"""Kernels of other packages on the simulated driver: the examples compare results with numpy."""

import importlib.util
import pathlib
import re

import pytest

from warploom import _command

pytestmark = pytest.mark.skipif(
    not (_command.FOLDER / "warploom").is_file(), reason="the package has no program"
)
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
#: Folder of examples and the module that they need.
PACKAGES = {
    "triton": "triton",
    "numba": "numba_cuda",
    "cuda_core": "cuda.core",
    "tinygrad": "tinygrad",
    "cupy": "cupy",
    "warp": "warp",
    "pycuda": "pycuda",
}
SCRIPTS = [path for folder in PACKAGES for path in sorted((EXAMPLES / folder).glob("*.py"))]


def installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        # Not even the package around it is there.
        return False


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_example_is_right(script, simulated, monkeypatch):
    module = PACKAGES[script.parent.name]
    if not installed(module):
        pytest.skip(f"{module} is not installed")
    if module == "triton":
        # Our backend of Triton does without a C compiler.
        monkeypatch.setenv("CC", "/nonexistent")
    # The script's first lines name the machines that it is for.
    machines = re.findall(r"    warploom python --gpu (\S+) -- ", script.read_text())
    assert machines
    for machine in machines:
        ran = simulated(script, "--gpu", machine)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert ran.stdout.startswith(f"{script.stem}: ") and ran.stdout.endswith("are right\n")
        # The report of the run names the kernel and its cycles.
        assert machine in ran.stderr and " cycles" in ran.stderr


def test_queries_of_the_machine(tmp_path, simulated):
    script = tmp_path / "query.py"
    script.write_text(
        """import ctypes
nvml = ctypes.CDLL("libnvidia-ml.so.1")
device, name = ctypes.c_void_p(), ctypes.create_string_buffer(96)
assert nvml.nvmlInit_v2() == 0
assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
assert nvml.nvmlDeviceGetName(device, name, 96) == 0
print(name.value.decode())
"""
    )
    ran = simulated(script, "--gpu", "qv100-volta", "--quiet")
    assert ran.stdout == "Warploom qv100-volta\n", ran.stderr
