"""The stand-in for nvcc."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

from warploom import InputError, _command
from warploom._nvcc import parse


def test_arguments_of_nvcc():
    said = "--cubin -arch sm_86 -I /include -O3 -lineinfo -Xptxas -v -DN=4 kernel.cu".split()
    source, output, architecture, options = parse(said)
    assert (source, output) == (pathlib.Path("kernel.cu"), pathlib.Path("kernel.cubin"))
    assert architecture == "compute_86"
    assert options == ["-I/include", "--generate-line-info", "-DN=4"]
    assert parse("-ptx -arch=sm_90 -o out a.cu".split())[1:3] == (pathlib.Path("out"), "compute_90")


@pytest.mark.parametrize("said", ["kernel.cu", "--cubin", "-c a.cu -o a.o"])
def test_other_arguments_are_refused(said):
    with pytest.raises(InputError, match="--cubin"):
        parse(said.split())


def test_a_file_is_compiled(tmp_path):
    if importlib.util.find_spec("nvidia") is None:
        pytest.skip("NVRTC is not installed")
    (tmp_path / "a.cu").write_text('extern "C" __global__ void twice(int *x) { *x *= 2; }')
    command = [sys.executable, "-m", "warploom._nvcc", "--cubin", "-arch", "sm_86", "a.cu"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert ".entry twice" in (tmp_path / "a.cubin").read_text()
    ask = [*command[:3], "--preprocess", "-arch", "sm_86", "a.cu", "--compiler-options", "-P"]
    told = subprocess.run(ask, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert told.stdout == (tmp_path / "a.cu").read_text()
    (tmp_path / "a.cu").write_text("wrong")
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and ran.stderr.startswith("nvcc: ")


def test_the_stand_in_is_in_path_for_pycuda_only(monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin")

    def stand_ins(found):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
        folders = map(pathlib.Path, _command.environment("/libraries")["PATH"].split(":"))
        own = [folder for folder in folders if folder.is_relative_to(_command.STANDINS)]
        return [path.name for folder in own for path in folder.iterdir()]

    assert stand_ins(None) == ["nvidia-smi"]
    assert stand_ins("pycuda") == ["nvidia-smi", "nvcc"]
