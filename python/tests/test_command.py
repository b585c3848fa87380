"""The command `warploom` of the package."""

import json
import subprocess
import sys

import pytest

import warploom
from warploom import _command

pytestmark = pytest.mark.skipif(
    not (_command.FOLDER / "warploom").is_file(), reason="the package has no program"
)


def command(*args):
    code = "from warploom._command import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False
    )


def test_the_command_is_of_the_same_version():
    assert command("--version").stdout.split() == ["warploom", warploom.__version__]


def test_command_and_package_have_equal_results():
    there = json.loads(command("run", "vectoradd", "--size", "test", "--json").stdout)
    here = warploom.workload("vectoradd", size="test").run()
    assert here.digest == there["digest"]
    assert here.cycles == there["totals"]["cycles"]


def test_the_commands_exit_status_is_its_own():
    failed = command("run", "bsf")
    assert failed.returncode == 2 and "bfs" in failed.stderr
