"""Kernels and machines of the tests."""

import subprocess
import sys

import pytest

import warploom

SAXPY = """.version 7.0
.target sm_70
.address_size 64
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n) {
    .reg .pred %p;
    .reg .f32 %f<4>;
    .reg .b32 %r<5>;
    .reg .b64 %d<6>;
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [y];
    ld.param.f32 %f1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r2, %r2, %r3, %r4;
    setp.ge.u32 %p, %r2, %r1;
    @%p bra done;
    mul.wide.u32 %d3, %r2, 4;
    add.u64 %d4, %d1, %d3;
    add.u64 %d5, %d2, %d3;
    ld.global.f32 %f2, [%d4];
    ld.global.f32 %f3, [%d5];
    fma.rn.f32 %f3, %f1, %f2, %f3;
    st.global.f32 [%d5], %f3;
done:
    ret;
}
"""

#: Stores each parameter behind the other, so that a test sees what arrived.
STORE = """.version 7.0
.target sm_70
.address_size 64
.global .u32 counter = 7;
.visible .entry store(.param .u64 out, .param .s32 i, .param .u8 b, .param .f64 d,
                      .param .b16 h, .param .align 4 .b8 pair[8]) {
    .reg .b16 %h<3>;
    .reg .b32 %r<4>;
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [out];
    ld.param.u32 %r1, [i];
    ld.param.u8 %h1, [b];
    ld.param.b64 %d2, [d];
    ld.param.b16 %h2, [h];
    ld.param.u32 %r2, [pair];
    ld.param.u32 %r3, [pair+4];
    st.global.u64 [%d1], %d2;
    st.global.u32 [%d1+8], %r1;
    st.global.u32 [%d1+12], %r2;
    st.global.u32 [%d1+16], %r3;
    st.global.b16 [%d1+20], %h2;
    st.global.u8 [%d1+22], %h1;
    ret;
}
"""

#: Counts down for ever.
FOREVER = """.version 7.0
.target sm_70
.address_size 64
.visible .entry forever(.param .u64 out) {
    .reg .b64 %d;
    .reg .b32 %r;
    ld.param.u64 %d, [out];
again:
    ld.volatile.global.u32 %r, [%d];
    add.u32 %r, %r, 1;
    st.volatile.global.u32 [%d], %r;
    bra again;
}
"""


@pytest.fixture(scope="session")
def gpu():
    return warploom.Gpu("gtx480")


@pytest.fixture(scope="session")
def saxpy(gpu):
    return warploom.Module.from_ptx(SAXPY, gpu).saxpy


@pytest.fixture
def simulated(tmp_path, monkeypatch):
    """Runs a script by `warploom python` with options, and caches of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def run(script, *options):
        code = "from warploom._command import main; main()"
        command = [sys.executable, "-c", code, "python", *options, "--", str(script)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run
