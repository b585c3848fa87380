"""Triton's backend of the package: chosen by the command or by `use`, without torch or a compiler."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

from warploom import _command

pytestmark = [
    pytest.mark.skipif(
        not (_command.FOLDER / "warploom").is_file(), reason="the package has no program"
    ),
    pytest.mark.skipif(
        importlib.util.find_spec("triton") is None, reason="triton is not installed"
    ),
]
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "triton"

#: Imports and a kernel for the scripts below.
START = """import sys, numpy, triton, triton.language as tl, warploom
from warploom import cuda

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n)
    tl.store(out + at, total, mask=at < n)

n = 1000
a = numpy.arange(n, dtype="f4")

def launch(warps=4):
    x, y, out = cuda.array(a), cuda.array(a), cuda.zeros(n, "f4")
    add[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256, num_warps=warps)
    return out.numpy()
"""


@pytest.fixture
def plain(tmp_path, monkeypatch):
    """Runs a script by the interpreter alone, where no C compiler is found."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    monkeypatch.setenv("CC", "/nonexistent")

    def run(script, *arguments):
        path = tmp_path / "script.py"
        path.write_text(START + script)
        command = [sys.executable, str(path), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


def test_tritons_own_backend_is_left_to_those_who_choose_it(simulated, monkeypatch):
    monkeypatch.setenv("TRITON_DEFAULT_BACKEND", "nvidia")
    script = EXAMPLES / "vector_add.py"
    ran = simulated(script, "--gpu", "rtx3070-ampere")
    assert ran.stdout.endswith("are right\n"), ran.stdout + ran.stderr
    # It has a module compiled in C, which our backend does without.
    monkeypatch.setenv("CC", "/nonexistent")
    assert simulated(script, "--gpu", "rtx3070-ampere").returncode == (0 if built() else 1)


def built():
    """True if Triton's cache has the module from the run before."""
    cache = pathlib.Path(os.environ["XDG_CACHE_HOME"]) / "warploom" / "triton"
    return any(cache.rglob("cuda_utils*.so"))


def test_a_script_chooses_the_machine(plain, tmp_path):
    script = """
warploom.triton.use(warploom.Gpu("rtx3070-ampere", sm__warp_scheduler="lrr"), stats=sys.argv[1])
numpy.testing.assert_array_equal(launch(), 2 * a)
from triton.backends import backends
from triton.runtime import driver
assert "torch" not in sys.modules
print(list(backends), driver.active.get_current_target(), type(driver.active).__module__)
"""
    ran = plain(script, tmp_path / "stats.json")
    assert ran.returncode == 0, ran.stderr
    assert "nvidia" not in ran.stdout and "arch=86" in ran.stdout
    assert ran.stdout.endswith("warploom.triton.driver\n")
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert stats["gpu"]["config"]["sm.warp_scheduler"] == "lrr"
    assert "script.py" in ran.stderr
    assert [kernel["name"] for kernel in stats["kernels"]] == ["add"]


def test_without_a_choice_there_is_no_driver(plain):
    ran = plain("triton.runtime.driver.active\n")
    assert ran.returncode == 1 and "0 active drivers" in ran.stderr
    assert "warploom.cuda.use" in plain("launch()\n").stderr


def test_times_are_simulated(plain, tmp_path):
    script = """
gpu = warploom.Gpu("rtx3070-ampere")
warploom.triton.use(gpu, stats=sys.argv[1])
x, y, out = (cuda.array(a) for _ in range(3))
time = triton.testing.do_bench(lambda: add[(4,)](x, y, out, n, BLOCK=256))
assert triton.testing.do_bench(lambda: None, quantiles=[0.5, 0.2]) == [0.0, 0.0]
print(time * gpu.keys["clocks.core_mhz"] * 1000)
"""
    ran = plain(script, tmp_path / "stats.json")
    assert ran.returncode == 0, ran.stderr
    kernels = json.loads((tmp_path / "stats.json").read_text())["kernels"]
    assert len(kernels) == 2
    assert abs(float(ran.stdout) - kernels[1]["cycles"]) <= 1


def test_the_autotuner_chooses_by_simulated_time(plain):
    script = """
warploom.triton.use("rtx3070-ampere")
choices = [triton.Config({"BLOCK": 32}, num_warps=1), triton.Config({"BLOCK": 1024}, num_warps=4)]
@triton.autotune(choices, key=["n"], restore_value=["out"])
@triton.jit
def twice(out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(out + at, mask=at < n), mask=at < n)

out = cuda.array(a)
twice[lambda chosen: (triton.cdiv(n, chosen["BLOCK"]),)](out, n)
numpy.testing.assert_array_equal(out.numpy(), 2 * a)
print({config.kwargs["BLOCK"]: time for config, time in twice.configs_timings.items()})
"""
    one, two = plain(script), plain(script)
    assert one.returncode == 0, one.stderr
    assert one.stdout == two.stdout and "1024: [" in one.stdout


def test_descriptors_of_tensors_become_tensor_maps(plain):
    script = """
from triton.tools.tensor_descriptor import TensorDescriptor
warploom.triton.use("h100-hopper", quiet=True)

@triton.jit
def product(left, right, out, K, TILE: tl.constexpr, DEPTH: tl.constexpr):
    row, column = tl.program_id(0) * TILE, tl.program_id(1) * TILE
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for k in range(0, K, DEPTH):
        total = tl.dot(left.load([row, k]), right.load([k, column]), total)
    out.store([row, column], total)

random = numpy.random.default_rng(7)
x, y = random.normal(size=(128, 96)).astype("f2"), random.normal(size=(96, 64)).astype("f2")
out = cuda.zeros((128, 64), "f4")
make = TensorDescriptor.from_tensor
kernel = product[(2, 1)](make(cuda.array(x), [64, 32]), make(cuda.array(y), [32, 64]),
                         make(out, [64, 64]), 96, TILE=64, DEPTH=32)
numpy.testing.assert_allclose(out.numpy(), x.astype("f4") @ y.astype("f4"), rtol=1e-3, atol=1e-3)
print("cp.async.bulk.tensor" in kernel.asm["ptx"])
"""
    ran = plain(script)
    assert ran.stdout == "True\n", ran.stderr


def test_arguments_of_all_types_arrive(plain):
    script = """
warploom.triton.use("rtx3070-ampere", quiet=True)

@triton.jit
def store(out, pair, large, half: tl.float16, single, none, flag):
    if none is None:
        tl.store(out, pair[0] + pair[1][0])
    tl.store(out + 1, large)
    tl.store(out + 2, half.to(tl.float64))
    tl.store(out + 3, single)
    tl.store(out + 4, flag.to(tl.float64))

out = cuda.zeros(5, "f8")
store[(1,)](out, (1, (2, tl.constexpr(5))), 2**40, 1.5, 0.25, None, True)
print(out.numpy().tolist())
"""
    ran = plain(script)
    assert ran.stdout == "[3.0, 1099511627776.0, 1.5, 0.25, 1.0]\n", ran.stderr


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ('warploom.triton.use("rtx3070")', "rtx3070-ampere"),
        (
            'launch2 = warploom.triton.use(); cuda.zeros(1, "f4"); warploom.triton.use()',
            "at the start",
        ),
        (
            "warploom.triton.use(warploom.Gpu().options(timeline=True))",
            "`timeline` is not an option",
        ),
        (
            "warploom.triton.use()\n"
            "class Host:\n    dtype, data_ptr = 'fp32', lambda self: a.ctypes.data\n"
            "add[(1,)](Host(), Host(), Host(), 1, BLOCK=32)",
            "array of the host",
        ),
    ],
)
def test_errors_have_remedies(plain, script, message):
    ran = plain(script)
    assert ran.returncode == 1
    assert "InputError" in ran.stderr and message in ran.stderr, ran.stderr


def test_control_c_ends_the_process_with_its_result(plain):
    script = """
import os, signal, threading
# Programs in the background of a shell ignore the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
warploom.triton.use("rtx3070-ampere")

@triton.jit
def count(x, n):
    for _ in range(n):
        tl.atomic_add(x, 1)

x = cuda.zeros(1, "i4")
count[(1,)](x, 1 << 30)
threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
x.numpy()
"""
    ran = plain(script)
    assert ran.returncode == 130, ran.stderr
    assert "rtx3070-ampere" in ran.stderr and "after 0 of 1 blocks" in ran.stderr


def test_a_fault_of_a_kernel_is_told(plain):
    script = """
warploom.triton.use("rtx3070-ampere")
out = cuda.zeros(1, "f4")
add[(1,)](out, out, out, 1 << 30, BLOCK=1024)
out.numpy()
"""
    ran = plain(script)
    assert ran.returncode == 1
    assert "DriverError" in ran.stderr and "kernel `add`" in ran.stderr
