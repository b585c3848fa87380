"""What the simulated GPU answers to queries of NVIDIA's management library (NVML)."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
from typing import NamedTuple

from ._command import SETTINGS_VARIABLE

_LIBRARY = "libnvidia-ml.so.1"
#: Settings that describe the machine. Others, such as files of results, are the program's own.
_OF_MACHINE = {"gpu", "set", "memory_mib", "capability"}
#: Numbers of clocks in NVML: graphics, streaming multiprocessors, memory.
_CLOCKS = {"graphics": 0, "sm": 1, "memory": 2}


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("total", "free", "used")]


class _Pci(ctypes.Structure):
    _fields_ = [
        ("legacy", ctypes.c_char * 16),
        ("numbers", ctypes.c_uint32 * 5),
        ("address", ctypes.c_char * 32),
    ]


class Device(NamedTuple):
    """The one device and its driver."""

    name: str
    uuid: str
    #: Release of the driver, and of CUDA with which it came.
    driver: str
    cuda: str
    #: Compute capability, such as ``8.6``.
    capability: str
    #: Address on the bus, such as ``00000000:01:00.0``, and its domain, bus and number.
    address: str
    numbers: tuple[int, int, int]
    #: Memory in MiB: all, free and used.
    memory: tuple[int, int, int]
    #: Clocks in MHz by the names graphics, sm and memory.
    clocks: dict[str, int]


def _describe_machine_only() -> None:
    """Leaves of the program's settings those of the machine, so that a query writes no result."""
    text = os.environ.get(SETTINGS_VARIABLE, "{}")
    if not text.lstrip().startswith("{"):
        text = pathlib.Path(text).read_text()
    settings = {key: value for key, value in json.loads(text).items() if key in _OF_MACHINE}
    os.environ[SETTINGS_VARIABLE] = json.dumps(settings | {"quiet": True})


def query() -> Device:
    """Asks the library, which must be in the folders of the dynamic linker.

    Raises:
        OSError: there is no such library, or it does not start.
    """
    library = ctypes.CDLL(_LIBRARY)
    _describe_machine_only()

    def call(name: str, *arguments: object) -> None:
        if getattr(library, f"nvml{name}")(*arguments):
            raise OSError(f"the query {name} failed")

    def text(name: str, *arguments: object) -> str:
        buffer = ctypes.create_string_buffer(96)
        call(name, *arguments, buffer, len(buffer))
        return buffer.value.decode()

    call("Init_v2")
    device, pci, memory = ctypes.c_void_p(), _Pci(), _Memory()
    major, minor, release = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    call("DeviceGetHandleByIndex_v2", 0, ctypes.byref(device))
    call("DeviceGetPciInfo_v3", device, ctypes.byref(pci))
    call("DeviceGetMemoryInfo", device, ctypes.byref(memory))
    call("DeviceGetCudaComputeCapability", device, ctypes.byref(major), ctypes.byref(minor))
    call("SystemGetCudaDriverVersion_v2", ctypes.byref(release))
    clocks, mhz = {}, ctypes.c_uint()
    for name, number in _CLOCKS.items():
        call("DeviceGetClockInfo", device, number, ctypes.byref(mhz))
        clocks[name] = mhz.value
    return Device(
        name=text("DeviceGetName", device),
        uuid=text("DeviceGetUUID", device),
        driver=text("SystemGetDriverVersion"),
        cuda=f"{release.value // 1000}.{release.value % 1000 // 10}",
        capability=f"{major.value}.{minor.value}",
        address=pci.address.decode(),
        numbers=tuple(pci.numbers[:3]),
        memory=tuple(getattr(memory, name) >> 20 for name in ("total", "free", "used")),
        clocks=clocks,
    )
