"""Runs of several launches, options, signals, and schedulers in Python."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from conftest import FOREVER, SAXPY, STORE

import warploom
from warploom import Gpu, InputError, Module, WarpScheduler


def test_launches_of_a_run_share_memory(gpu, saxpy):
    with gpu.run() as run:
        x = run.array(np.ones(256, np.float32))
        y = run.zeros(256, np.float32)
        for _ in range(3):
            saxpy[1, 256](x, y, 2.0, 256)
        np.testing.assert_array_equal(y.get(), np.full(256, 6, np.float32))
        x.set(np.full(256, 5))
        saxpy[1, 256](x, y, 1.0, 256)
        out = np.empty(256, np.float32)
        assert y.get(out=out) is out and out[0] == 11
    assert len(run.result.kernels) == 4
    assert run.result.cycles >= sum(kernel.cycles for kernel in run.result.kernels[:1])


def test_arrays_of_host_and_device_mix(gpu, saxpy):
    with gpu.run() as run:
        x = run.array(np.ones(32, np.float32))
        y = np.zeros(32, np.float32)
        saxpy[1, 32](x, y, 4.0, 32)
    assert y.sum() == 128


def test_numpy_takes_arrays_of_the_device(gpu):
    with gpu.run() as run:
        x = run.array(np.arange(4, dtype=np.float32))
        np.testing.assert_array_equal(x, [0, 1, 2, 3])
        assert np.asarray(x, dtype=np.int64).sum() == 6
        with pytest.raises(ValueError, match="copied"):
            np.array(x, copy=False)


def least(clock, action, times=20):
    """Least time that an action takes, in seconds."""
    spans = []
    for _ in range(times):
        begun = clock()
        action()
        spans.append(clock() - begun)
    return min(spans)


def test_a_call_takes_less_than_5_ms_beside_the_simulation():
    # The simulation has a thread of its own, and this clock counts the processor time of the
    # caller alone: conversion of arguments, waits and the result.
    kernel = Module.from_ptx(SAXPY, Gpu("qv100-volta")).saxpy
    x, y = np.ones(1024, np.float32), np.zeros(1024, np.float32)
    assert least(time.thread_time, lambda: kernel[4, 256](x, y, 2.0, 1024).cycles) < 0.005


def test_a_launch_does_not_compile_its_module_again():
    header, entry = SAXPY.split(".visible", 1)
    kernels = [".visible" + entry.replace("saxpy", f"saxpy{number}") for number in range(300)]
    text = header + "".join(kernels)
    compiling = least(time.process_time, lambda: Module.from_ptx(text), 3)
    kernel = Module.from_ptx(text, Gpu("gtx480").options(functional=True)).saxpy7
    x, y = np.ones(32, np.float32), np.zeros(32, np.float32)
    assert least(time.process_time, lambda: kernel[1, 32](x, y, 1.0, 32)) < compiling / 2


def test_streams_run_at_the_same_time():
    gpu = Gpu("gtx480", gpu__max_concurrent_kernels=8)
    kernel = Module.from_ptx(SAXPY, gpu).saxpy

    def cycles(streams):
        with gpu.run() as run:
            made = [run.stream() for _ in range(2)] if streams else [None, None]
            for stream in made:
                x = run.array(np.ones(64, np.float32))
                y = run.zeros(64, np.float32)
                kernel[2, 32, stream](x, y, 1.0, 64)
            run.synchronize()
        return run.result.cycles

    assert cycles(streams=True) < cycles(streams=False)


def test_variables_of_modules(gpu):
    store = Module.from_ptx(STORE, gpu).store
    with gpu.run() as run:
        counter = run.variable(store, "counter", np.uint32, 1)
        assert counter.get()[0] == 7
        counter.set([9])
        assert counter.get()[0] == 9
        with pytest.raises(InputError, match="no variable `count`"):
            run.variable(store, "count", np.uint32)


def test_arrays_belong_to_their_run(gpu, saxpy):
    with gpu.run() as one, gpu.run() as other:
        x, y = one.zeros(32, np.float32), other.zeros(32, np.float32)
        with pytest.raises(InputError, match="another run"):
            saxpy[1, 32](x, y, 1.0, 32)


def test_a_run_that_ended_refuses_launches(gpu, saxpy):
    with gpu.run() as run:
        x = run.zeros(32, np.float32)
    with pytest.raises(InputError, match="has ended"):
        saxpy[1, 32](x, x, 1.0, 32)


def test_freed_memory_is_a_fault(gpu, saxpy):
    run = gpu.run()
    x, y = run.zeros(32, np.float32), run.zeros(32, np.float32)
    x.free()
    with pytest.raises(warploom.Fault, match="freed"):
        saxpy[1, 32](x, y, 1.0, 32)


def test_a_functional_run_has_outputs_and_no_cycles(gpu, saxpy):
    x = y = np.ones(32, np.float32)
    result = saxpy.on(gpu.options(functional=True))[1, 32](x, y, 1.0, 32)
    assert result.cycles == 0 and result.warp_instructions > 0 and y[0] == 2


def test_the_limit_of_cycles(gpu):
    kernel = Module.from_ptx(FOREVER, gpu.options(max_cycles=5000)).forever
    with pytest.raises(warploom.CycleLimit, match="max_cycles"):
        kernel[1, 1](np.zeros(1, np.uint32))


@pytest.mark.parametrize("name, problem", [("races", "no check"), ("shared-races", None)])
def test_names_of_checks(gpu, name, problem):
    if problem:
        with pytest.raises(InputError, match=problem):
            gpu.options(checks=[name])
    else:
        assert gpu.options(checks=name)


@pytest.fixture
def interruptible():
    """Ctrl-C raises an exception also where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("functional", [False, True])
def test_control_c_stops_a_run(gpu, interruptible, functional):
    kernel = Module.from_ptx(FOREVER, gpu.options(functional=functional)).forever
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        kernel[1, 1](np.zeros(1, np.uint32))
    assert time.monotonic() - started < 10


def test_control_c_stops_a_comparison(gpu, interruptible):
    kernel = Module.from_ptx(FOREVER, gpu).forever
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        warploom.compare(
            lambda machine: kernel.on(machine)[1, 1](np.zeros(1, np.uint32)),
            gpu,
            vary={"sm.warp_scheduler": ["lrr", "gto"]},
        )
    assert time.monotonic() - started < 10


def test_other_threads_run_meanwhile(gpu):
    ticks = []
    done = threading.Event()

    def tick():
        while not done.wait(0.01):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    kernel = Module.from_ptx(FOREVER, gpu.options(max_cycles=200_000)).forever
    with pytest.raises(warploom.CycleLimit):
        kernel[1, 1](np.zeros(1, np.uint32))
    done.set()
    thread.join()
    assert len(ticks) > 1


class LooseRoundRobin(WarpScheduler):
    def __init__(self):
        self.last = -1

    def pick(self, view, ready):
        assert set(ready) <= set(view.own) <= set(range(128))
        assert sorted(view.by_age) == sorted(set(view.own) & set(view.live))
        return min(ready, key=lambda slot: (slot <= self.last, slot))

    def on_issue(self, slot):
        self.last = slot


def test_a_scheduler_in_python_equals_the_built_in_one():
    def run(gpu):
        x, y = np.ones(512, np.float32), np.zeros(512, np.float32)
        return Module.from_ptx(SAXPY, gpu).saxpy[4, 128](x, y, 1.0, 512)

    built_in = run(Gpu("gtx480", sm__warp_scheduler="lrr"))
    own = run(Gpu("gtx480").options(warp_scheduler=LooseRoundRobin))
    assert own.cycles == built_in.cycles


def test_exceptions_of_a_scheduler_end_the_run(saxpy):
    class Wrong(WarpScheduler):
        def pick(self, view, ready):
            raise ZeroDivisionError("in pick")

    class Absent(WarpScheduler):
        def pick(self, view, ready):
            return 127

    for scheduler, error in [(Wrong, ZeroDivisionError), (Absent, ValueError)]:
        gpu = Gpu("gtx480").options(warp_scheduler=scheduler)
        with pytest.raises(error):
            saxpy.on(gpu)[1, 32](np.ones(32, np.float32), np.ones(32, np.float32), 1.0, 32)
