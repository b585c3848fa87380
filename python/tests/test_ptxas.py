"""The stand-in for ptxas: PTX stays as it is, unless a thread has too few registers for it."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest

from warploom import _command
from warploom._ptxas import limit

pytestmark = pytest.mark.skipif(
    not (_command.FOLDER / "warploom").is_file(), reason="the package has no program"
)


def sums(count):
    """A kernel that holds as many values at once."""
    loads = "\n".join(f"ld.global.u32 %r{n}, [%d1+{4 * n}];" for n in range(count))
    adds = "\n".join(f"add.u32 %r{n}, %r{n - 1}, %r{n};" for n in range(1, count))
    return f""".version 7.0
.target sm_80
.address_size 64
.visible .entry sums(.param .u64 x) .reqntid 128, 1, 1 {{
    .reg .b32 %r<{count}>;
    .reg .b64 %d<2>;
    ld.param.u64 %d1, [x];
    {loads}
    bar.sync 0;
    {adds}
    st.global.u32 [%d1], %r{count - 1};
    ret;
}}
"""


def assembled(tmp_path, text):
    source, target = tmp_path / "in.ptx", tmp_path / "out.cubin"
    source.write_text(text)
    command = [_command.STANDINS / "ptxas", "-lineinfo", "-v", "--gpu-name=sm_80", source]
    environment = os.environ | {"WARPLOOM_PYTHON": sys.executable}
    subprocess.run([*command, "-o", target], env=environment, check=True)
    return target.read_text()


@pytest.mark.parametrize("count", [20, 240])
def test_what_fits_stays(tmp_path, count):
    assert assembled(tmp_path, sums(count)) == sums(count)


def test_values_are_spilled_where_a_thread_has_too_few_registers(tmp_path):
    text = assembled(tmp_path, sums(400))
    assert "ld.local" in text and "st.local" in text
    (tmp_path / "out.ptx").write_text(text)
    ask = [_command.program(), "check", "--json", tmp_path / "out.ptx"]
    asked = subprocess.run(ask, capture_output=True, text=True, check=True)
    kernel = json.loads(asked.stdout)["kernels"][0]
    # To what lives at once, the estimate adds loads in flight (8) and the calling convention (3).
    assert kernel["registers_per_thread"] <= 255 + 8 + 3 and kernel["local_bytes"] > 0


def test_text_that_is_wrong_stays(tmp_path):
    wrong = sums(400).replace("bar.sync 0", "bar.sink 0")
    assert assembled(tmp_path, wrong) == wrong


@pytest.mark.parametrize(
    ("directives", "most"),
    [
        ("", 255),
        (".reqntid 128, 1, 1", 255),
        (".maxntid 32, 4, 4", 128),
        (".reqntid 1024", 64),
        (".maxntid 512 .maxnreg 40", 40),
    ],
)
def test_directives_limit_the_registers(directives, most):
    assert limit(f".entry k() {directives} {{ }}") == most


SCRIPT = """import sys, numpy, triton, triton.language as tl
from warploom import cuda

@triton.jit
def product(a, b, c, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr):
    i, j, k = tl.arange(0, rows), tl.arange(0, columns), tl.arange(0, depth)
    x = tl.load(a + i[:, None] * depth + k[None, :])
    y = tl.load(b + k[:, None] * columns + j[None, :])
    tl.store(c + i[:, None] * columns + j[None, :], tl.dot(x, y))

rows, columns, depth = 128, 256, 32
random = numpy.random.default_rng(3)
x, y = random.random((rows, depth), "f4"), random.random((depth, columns), "f4")
x, y = x.astype("f2"), y.astype("f2")
a, b, c = cuda.array(x), cuda.array(y), cuda.zeros((rows, columns), "f4")
kernel = product[(1,)](a, b, c, rows, columns, depth, num_warps=4)
numpy.testing.assert_allclose(c.numpy(), x.astype("f4") @ y.astype("f4"), rtol=1e-3)
assert "torch" not in sys.modules
print(kernel.n_regs, kernel.n_spills > 0)
"""


def test_a_large_kernel_of_triton_spills(tmp_path, simulated):
    if importlib.util.find_spec("triton") is None:
        pytest.skip("triton is not installed")
    script = tmp_path / "product.py"
    script.write_text(SCRIPT)
    ran = simulated(script, "--gpu", "rtx3070-ampere", "--functional")
    assert ran.stdout == "255 True\n", ran.stdout + ran.stderr
