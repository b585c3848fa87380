#!/usr/bin/env python3
"""Compiles cuda/*.cu to PTX with NVRTC (into nvrtc/) and, where clang is installed, clang/*.cu with clang.

The PTX is checked in; this script only says how it came about. Needs `pip install nvidia-cuda-nvrtc-cu12`.
"""
import ctypes
import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ARCHITECTURES = ["50", "75", "90"]


def load():
    import nvidia.cuda_nvrtc
    return ctypes.CDLL(glob.glob(os.path.join(list(nvidia.cuda_nvrtc.__path__)[0], "lib", "libnvrtc.so*"))[0])


def compile(nvrtc, text, name, options):
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
    array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    status = nvrtc.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if status != 0:
        sys.exit(f"{name} {options}: {log.value.decode()}")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.value.decode()


def main():
    nvrtc = load()
    os.chdir("/")  # NVRTC writes the working directory into debug sections.
    for path in sorted(glob.glob(os.path.join(HERE, "cuda", "*.cu"))):
        stem = os.path.basename(path)[:-3]
        text = open(path).read()
        jobs = [(f"{stem}.sm_{arch}", [f"--gpu-architecture=compute_{arch}"]) for arch in ARCHITECTURES]
        if stem == "control":
            jobs.append((f"{stem}.debug", ["--gpu-architecture=compute_75", "--device-debug"]))
            jobs.append((f"{stem}.lineinfo", ["--gpu-architecture=compute_75", "--generate-line-info"]))
        if stem == "arith":
            jobs.append((f"{stem}.fast", ["--gpu-architecture=compute_75", "--use_fast_math"]))
        bodies = set()
        for name, options in jobs:
            ptx = compile(nvrtc, text, stem + ".cu", options)
            body = ptx.split(".address_size", 1)[1]
            if body in bodies:
                continue  # Differs from an earlier one in .target only.
            bodies.add(body)
            open(os.path.join(HERE, "nvrtc", name + ".ptx"), "w").write(ptx)
    for path in sorted(glob.glob(os.path.join(HERE, "clang", "*.cu"))):
        for name, options in [("sm_50", ["--cuda-gpu-arch=sm_50", "-O2"]), ("debug", ["--cuda-gpu-arch=sm_75", "-O0", "-g", "-fdebug-compilation-dir=."])]:
            subprocess.run(["clang-14", "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", *options,
                            "-S", os.path.basename(path), "-o", f"{os.path.basename(path)[:-3]}.{name}.ptx"],
                           cwd=os.path.dirname(path), check=True)


if __name__ == "__main__":
    main()
