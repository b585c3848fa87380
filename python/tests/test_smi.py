"""The stand-in for nvidia-smi."""

import json

import pytest

from warploom import _nvml, _smi
from warploom._command import FOLDER

DEVICE = _nvml.Device(
    name="Warploom test",
    uuid="GPU-0",
    driver="600.10",
    cuda="13.5",
    capability="8.6",
    address="00000000:01:00.0",
    numbers=(0, 1, 0),
    memory=(8192, 8190, 2),
    clocks={"graphics": 1000, "sm": 1000, "memory": 7000},
)


@pytest.fixture
def answer(monkeypatch):
    monkeypatch.setattr(_smi, "query", lambda: DEVICE)
    return lambda text: _smi.answer(text.split())


def test_fields_have_a_header_and_units(answer):
    asked = "--query-gpu=name,memory.total,clocks.sm,power.draw"
    header, row = answer(f"{asked} --format=csv").split("\n")
    assert header == "name, memory.total [MiB], clocks.sm [MHz], power.draw [W]"
    assert row == "Warploom test, 8192 MiB, 1000 MHz, [N/A]"
    assert answer(f"{asked} --format=csv,noheader,nounits") == "Warploom test, 8192, 1000, [N/A]"
    assert answer("--query-gpu gpu_uuid --format csv,noheader -i 0") == "GPU-0"


def test_all_fields_that_are_listed_can_be_queried(answer):
    names = answer("--help-query-gpu").split("\n")
    row = answer(f"--query-gpu={','.join(names)} --format=csv,noheader").split(", ")
    assert len(row) == len(names) > 30


def test_the_table_has_even_lines(answer):
    lines = [line for line in answer("").split("\n")[1:] if line]
    assert {len(line) for line in lines} == {91}
    assert "2MiB /   8192MiB" in "\n".join(lines) and "Driver Version: 600.10" in lines[1]
    assert answer("-L") == "GPU 0: Warploom test (UUID: GPU-0)"
    assert answer("--query-compute-apps=pid --format=csv,noheader") == ""


@pytest.mark.parametrize(
    ("text", "told", "status"),
    [
        ("--query-gpu=nome --format=csv", 'Field "nome" is not a valid field to query.', 2),
        ("--query-gpu=name", "--format=csv", 2),
        ("--query-gpu=name --format=csv,unit", '"unit"', 2),
        ("--query-gpu", "no value", 2),
        ("--wrong", '"--wrong"', 2),
        ("-i 1", "No devices were found", 6),
    ],
)
def test_wrong_arguments_are_told(answer, text, told, status):
    with pytest.raises(_smi.Failed) as failed:
        answer(text)
    assert told in str(failed.value) and failed.value.status == status


def test_a_query_leaves_the_programs_files_alone(monkeypatch, tmp_path):
    kept = {"gpu": "gtx480", "memory_mib": 64}
    settings = json.dumps({**kept, "stats": "result.json", "ends_with": 1})
    (tmp_path / "settings").write_text(settings)
    for value in (settings, str(tmp_path / "settings")):
        monkeypatch.setenv("WARPLOOM_APP", value)
        _nvml._describe_machine_only()
        assert json.loads(_nvml.os.environ["WARPLOOM_APP"]) == kept | {"quiet": True}


def test_without_a_driver_it_fails(monkeypatch):
    monkeypatch.setattr(_nvml, "_LIBRARY", "libwarploom-nothing.so")
    with pytest.raises(_smi.Failed, match="warploom python") as failed:
        _smi.answer([])
    assert failed.value.status == 9


@pytest.mark.skipif(not (FOLDER / "warploom").is_file(), reason="the package has no program")
def test_a_script_finds_it(simulated, tmp_path):
    script = tmp_path / "query.py"
    script.write_text(
        """import subprocess
ask = ["nvidia-smi", "--query-gpu=name,compute_cap,memory.total", "--format=csv,noheader"]
print(subprocess.run(ask, capture_output=True, text=True, check=True).stdout, end="")
"""
    )
    ran = simulated(script, "--gpu", "qv100-volta", "--memory", "2048", "--quiet")
    assert ran.stdout == "Warploom qv100-volta, 7.0, 2048 MiB\n", ran.stderr
