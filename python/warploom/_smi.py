"""Stand-in for ``nvidia-smi``, which describes the simulated GPU.

It answers the table, ``-L`` and ``--query-gpu``. What a simulated GPU does not have, such as a
temperature, is ``[N/A]``. Every process has a GPU of its own, so that no memory is used.
"""

from __future__ import annotations

import datetime
import sys
from typing import NamedTuple

from ._nvml import Device, query

#: Exit status for a wrong argument, for an unknown device and without a driver, as of nvidia-smi.
_WRONG, _NO_DEVICE, _NO_DRIVER = 2, 6, 9
_NONE = "[N/A]"

_HELP = """\
Describes the simulated GPU, as nvidia-smi describes GPUs.

  nvidia-smi                                        a table
  nvidia-smi -L                                     a line for each device
  nvidia-smi --query-gpu=FIELD,... --format=csv[,noheader][,nounits]
  nvidia-smi --help-query-gpu                       the fields
  nvidia-smi --query-compute-apps=FIELD,... --format=csv    no process
  nvidia-smi -i 0 ...                               the device by its number, UUID or bus address
"""


class Failed(Exception):
    """Failure with a text for the standard output, where nvidia-smi writes it, and a status."""

    def __init__(self, text: str, status: int):
        super().__init__(text)
        self.status = status


class Field(NamedTuple):
    """Value of a field and its unit."""

    value: object
    unit: str = ""


def fields(device: Device) -> dict[str, Field]:
    """Values of all fields by their names."""
    domain, bus, number = device.numbers
    total, free, used = (Field(mib, "MiB") for mib in device.memory)
    one = {
        "timestamp": Field(f"{datetime.datetime.now():%Y/%m/%d %H:%M:%S.%f}"[:-3]),
        "driver_version": Field(device.driver),
        "count": Field(1),
        "name": Field(device.name),
        "uuid": Field(device.uuid),
        "pci.bus_id": Field(device.address),
        "pci.domain": Field(f"0x{domain:04X}"),
        "pci.bus": Field(f"0x{bus:02X}"),
        "pci.device": Field(f"0x{number:02X}"),
        "index": Field(0),
        "compute_cap": Field(device.capability),
        "memory.total": total,
        "memory.free": free,
        "memory.used": used,
        "memory.reserved": Field(0, "MiB"),
        "utilization.gpu": Field(0, "%"),
        "utilization.memory": Field(0, "%"),
        "compute_mode": Field("Default"),
        "pstate": Field("P0"),
        "persistence_mode": Field("Disabled"),
        "display_active": Field("Disabled"),
        "display_mode": Field("Disabled"),
    }
    for clock, short in {"graphics": "gr", "sm": "sm", "memory": "mem"}.items():
        mhz = Field(device.clocks[clock], "MHz")
        names = (f"clocks.{short}", f"clocks.current.{clock}")
        one |= dict.fromkeys((*names, f"clocks.max.{short}", f"clocks.max.{clock}"), mhz)
    # What a GPU of silicon has, with the unit that a value would have.
    without = {"temperature.gpu": "", "fan.speed": "%", "power.draw": "W", "power.limit": "W"}
    one |= {name: Field(_NONE, unit) for name, unit in without.items()}
    absent = ("serial", "vbios_version", "ecc.mode.current", "mig.mode.current")
    one |= {name: Field(_NONE) for name in absent}
    also = {"gpu_name": "name", "gpu_uuid": "uuid", "gpu_bus_id": "pci.bus_id"}
    return one | {name: one[of] for name, of in also.items()}


def rows(device: Device, asked: str, form: str) -> str:
    """Header and row of a query of fields.

    Raises:
        Failed: a field or a part of the format is unknown.
    """
    parts = form.split(",")
    for part in parts:
        if part not in ("csv", "noheader", "nounits"):
            raise Failed(f'"{part}" is not a valid format.', _WRONG)
    known, chosen = fields(device), []
    for name in (name.strip() for name in asked.split(",")):
        if name not in known:
            raise Failed(f'Field "{name}" is not a valid field to query.\n', _WRONG)
        chosen.append((name, known[name]))
    units = "nounits" not in parts
    header = [f"{name} [{field.unit}]" if field.unit else name for name, field in chosen]
    values = [
        f"{field.value} {field.unit}" if units and field.unit and field.value != _NONE
        else str(field.value)
        for _, field in chosen
    ]  # fmt: skip
    lines = [] if "noheader" in parts else [", ".join(header)]
    return "\n".join([*lines, ", ".join(values)])


def table(device: Device) -> str:
    """The table that nvidia-smi prints without arguments."""
    total, _, used = device.memory
    line = "+" + "-" * 89 + "+"
    ends = "+" + "+".join("-" * width for width in (41, 24, 22)) + "+"
    double = "|" + "+".join("=" * width for width in (41, 24, 22)) + "|"
    versions = f" NVIDIA-SMI {device.driver:<24} Driver Version: {device.driver:<14} "

    def cells(*three: str) -> str:
        return (
            "|" + "|".join(f"{cell:{w}}" for cell, w in zip(three, (41, 24, 22), strict=True)) + "|"
        )

    return "\n".join(
        [
            f"{datetime.datetime.now():%a %b %d %H:%M:%S %Y}",
            line,
            f"|{versions + f'CUDA Version: {device.cuda}':<89}|",
            "|" + ends[1:-1] + "|",
            cells(
                " GPU  Name                 Persistence-M",
                " Bus-Id          Disp.A",
                " Volatile Uncorr. ECC",
            ),
            cells(
                " Fan  Temp   Perf          Pwr:Usage/Cap",
                "           Memory-Usage",
                " GPU-Util  Compute M.",
            ),
            cells("", "", f"{'MIG M. ':>22}"),
            double,
            cells(f"   0  {device.name:<30.30} Off", f"{device.address:>19} Off", f"{'N/A ':>22}"),
            cells(
                " N/A   N/A    P0             N/A /  N/A",
                f"{f'{used}MiB / {total:>6}MiB':>23}",
                f"{'0%      Default ':>22}",
            ),
            cells("", "", f"{'N/A ':>22}"),
            ends,
            "",
            line,
            f"| {'Processes:':<88}|",
            f"|  {'GPU   GI   CI        PID   Type   Process name':<76}GPU Memory |",
            f"|  {'      ID   ID':<76}{'Usage':<11}|",
            "|" + "=" * 89 + "|",
            f"|  {'No running processes found':<87}|",
            line,
        ]
    )


def _option(words: list[str], *names: str) -> str | None:
    """Takes an option with a value out of the arguments: ``--name=value`` or ``--name value``."""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names:
            if not equals and at + 1 == len(words):
                raise Failed(f'Option "{name}" has no value.', _WRONG)
            value = value if equals else words.pop(at + 1)
            words.pop(at)
            return value
    return None


def answer(arguments: list[str]) -> str:
    """What nvidia-smi prints for these arguments.

    Raises:
        Failed: an argument is wrong, or there is no such device or no driver.
    """
    if {"-h", "--help"} & set(arguments):
        return _HELP.rstrip()
    try:
        device = query()
    except OSError as error:
        told = "couldn't communicate with the NVIDIA driver. It is found under `warploom python`"
        raise Failed(f"NVIDIA-SMI has failed because it {told}.", _NO_DRIVER) from error
    words = list(arguments)
    form, chosen = _option(words, "--format"), _option(words, "-i", "--id")
    asked, processes = _option(words, "--query-gpu"), _option(words, "--query-compute-apps")
    if chosen not in (None, "0", device.uuid, device.address):
        raise Failed("No devices were found", _NO_DEVICE)
    if (asked or processes) and not (form and form.startswith("csv")):
        raise Failed("A query needs --format=csv.", _WRONG)
    lists = words in (["-L"], ["--list-gpus"])
    if words and not lists and words != ["--help-query-gpu"]:
        raise Failed(
            f"Option \"{words[0]}\" is not recognized. Please run 'nvidia-smi -h'.", _WRONG
        )
    if asked is not None:
        return rows(device, asked, form or "")
    if processes is not None:
        return "" if "noheader" in (form or "") else ", ".join(processes.split(","))
    if lists:
        return f"GPU 0: {device.name} (UUID: {device.uuid})"
    return "\n".join(fields(device)) if words else table(device)


def main() -> None:
    """Prints the answer to the program's arguments."""
    try:
        print(answer(sys.argv[1:]))
    except Failed as failed:
        print(failed)
        sys.exit(failed.status)


if __name__ == "__main__":
    main()
