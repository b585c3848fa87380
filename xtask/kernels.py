"""Makes the kernels of today, `xtask/data/kernels`: PTX and a launch file for each of them.

Usage: kernels.py make [NAME]...          writes NAME.ptx and NAME.toml
       kernels.py check PROGRAM [NAME]... runs them and compares the outputs with numpy

The kernels are those of `examples/triton` and `examples/kernels`. Needs warploom, numpy, Triton
3.9.0 and `xtask/nvrtc-requirements.txt`, but no GPU. PROGRAM is the command `warploom`.
"""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import numpy
import nvrtc
import triton
from triton.backends import nvidia
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

ROOT = pathlib.Path(__file__).parents[1]
FOLDER = ROOT / "xtask/data/kernels"
MACHINE = "h200-hopper"
ARCHITECTURE = 90
#: Version of PTX that drivers of CUDA 12.9 and later take, in Triton's form.
PTX = 88
#: Multiprocessors of the machine.
SMS = 132
#: Triton's names of types by those of launch files.
TYPES = {"f16": "fp16", "f32": "fp32", "i32": "i32", "u8": "u8"}
#: Attribute of Triton's arguments that are multiples of 16.
MULTIPLE = [["tt.divisibility", 16]]


@dataclass
class Buffer:
    """Memory of a launch: type and shape, and further keys of its table in the launch file."""

    type: str
    shape: tuple
    keys: dict = field(default_factory=dict)


@dataclass
class Kernel:
    """One kernel with its launch. Arguments are names of buffers or numbers, in order."""

    file: str
    function: str
    grid: tuple
    arguments: list
    buffers: dict
    #: Expected outputs by numpy, from the buffers' contents: pairs of buffer and array.
    reference: object
    #: Permitted difference, as a multiple of the larger of 1 and the expected value.
    tolerance: float
    #: Of a kernel in CUDA C++: threads of a block. One of Triton has it from its warps.
    block: tuple = ()
    #: Of a kernel in CUDA C++: dynamic shared memory in bytes.
    shared: int = 0
    constants: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)


def example(name):
    """A script of `examples/triton` as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"examples/triton/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def normal(kind, shape, seed, deviation=1.0):
    return Buffer(kind, shape, {"init": "normal", "deviation": deviation, "seed": seed})


def uniform(kind, shape, seed, low, high):
    return Buffer(kind, shape, {"init": "uniform", "low": low, "high": high, "seed": seed})


def vector_add():
    n = 8 * SMS * 4096
    buffers = {
        "x": normal("f32", (n,), 1),
        "y": normal("f32", (n,), 2),
        "out": Buffer("f32", (n,)),
    }
    return Kernel(
        "triton/vector_add.py",
        "add",
        (n // 4096,),
        ["x", "y", "out", n],
        buffers,
        lambda given: {"out": given["x"] + given["y"]},
        0.0,
        constants={"BLOCK": 4096},
        options={"num_warps": 8},
    )


def transpose():
    rows, columns = 1024, 66 * 32
    buffers = {"from": normal("f32", (rows, columns), 1), "to": Buffer("f32", (columns, rows))}
    return Kernel(
        "kernels/transpose.cu",
        "transpose",
        (columns // 32, rows // 32),
        ["from", "to", rows, columns],
        buffers,
        lambda given: {"to": given["from"].T},
        0.0,
        block=(32, 8),
    )


def softmax():
    rows, columns = 16 * SMS, 2048
    buffers = {
        "x": normal("f32", (rows, columns), 1, deviation=3.0),
        "out": Buffer("f32", (rows, columns)),
    }

    def reference(given):
        x = given["x"].astype("f8")
        powers = numpy.exp(x - x.max(axis=1, keepdims=True))
        return {"out": powers / powers.sum(axis=1, keepdims=True)}

    return Kernel(
        "triton/softmax.py",
        "softmax",
        (rows,),
        ["x", "out", columns, columns],
        buffers,
        reference,
        1e-6,
        constants={"BLOCK": columns},
    )


def layer_norm():
    rows, columns, epsilon = 16 * SMS, 4096, 1e-5
    buffers = {
        "x": normal("f16", (rows, columns), 1, deviation=3.0),
        "weight": normal("f32", (columns,), 2),
        "bias": normal("f32", (columns,), 3),
        "out": Buffer("f16", (rows, columns)),
    }
    reference = example("layer_norm").reference
    return Kernel(
        "triton/layer_norm.py",
        "layer_norm",
        (rows,),
        ["x", "weight", "bias", "out", columns, epsilon],
        buffers,
        lambda given: {"out": reference(given["x"], given["weight"], given["bias"], epsilon)},
        2e-3,
        constants={"BLOCK": columns},
        options={"num_warps": 8},
    )


def product(m, n, k, out, **of):
    """A product of matrices c = a b of 16-bit floats."""
    buffers = {
        "a": normal("f16", (m, k), 1),
        "b": normal("f16", (k, n), 2),
        "c": Buffer(out, (m, n)),
    }

    def reference(given):
        return {"c": given["a"].astype("f4") @ given["b"].astype("f4")}

    return Kernel(buffers=buffers, reference=reference, tolerance=2e-2, **of)


def gemm_mma():
    m, n, k = 12 * 128, 22 * 128, 320
    return product(
        m,
        n,
        k,
        "f32",
        file="kernels/gemm_mma.cu",
        function="gemm_mma",
        grid=(n // 128, m // 128),
        arguments=["a", "b", "c", n, k],
        block=(256,),
    )


def gemm_tma():
    m, n, k = 12 * 128, 22 * 128, 512
    buffers = {
        "a": normal("f16", (m, k), 1),
        "b": normal("f16", (n, k), 2),
        "c": Buffer("f32", (m, n)),
        "maps": Buffer("u8", (m // 128 * (n // 128) * 256,)),
    }
    return Kernel(
        "kernels/gemm_tma.cu",
        "gemm_tma",
        (n // 128, m // 128),
        ["a", "b", "c", "maps", m, n, k],
        buffers,
        lambda given: {"c": given["a"].astype("f4") @ given["b"].astype("f4").T},
        1e-3,
        block=(288,),
        shared=132_416,
    )


def sgemm():
    m, n, k = 12 * 64, 11 * 64, 256
    buffers = {
        "a": normal("f32", (m, k), 1),
        "b": normal("f32", (k, n), 2),
        "c": Buffer("f32", (m, n)),
    }
    return Kernel(
        "kernels/sgemm.cu",
        "sgemm",
        (n // 64, m // 64),
        ["a", "b", "c", n, k],
        buffers,
        lambda given: {"c": given["a"].astype("f8") @ given["b"].astype("f8")},
        1e-4,
        block=(128,),
    )


def matmul_pointers():
    m, n, k = 12 * 128, 22 * 128, 512
    return product(
        m,
        n,
        k,
        "f32",
        file="triton/matmul.py",
        function="matmul",
        grid=(m // 128, n // 128),
        arguments=["a", "b", "c", n, k],
        constants={"TILE_M": 128, "TILE_N": 128, "TILE_K": 64},
        options={"num_warps": 8, "num_stages": 3},
    )


def matmul_descriptors():
    m, n, k = 12 * 128, 11 * 256, 512
    return product(
        m,
        n,
        k,
        "f16",
        file="triton/descriptors.py",
        function="product",
        grid=(m // 128, n // 256),
        arguments=["a", "b", "c", m, n, k],
        constants={"TILE_M": 128, "TILE_N": 256, "TILE_K": 64},
        options={"num_warps": 8, "num_stages": 3},
    )


def matmul_persistent(special=False):
    m, n, k = 12 * 128, 22 * 128, 512
    return product(
        m,
        n,
        k,
        "f16",
        file="triton/descriptors.py",
        function="persistent",
        grid=(SMS,),
        arguments=["a", "b", "c", m, n, k],
        constants={"TILE_M": 128, "TILE_N": 128, "TILE_K": 64, "SPECIAL": special},
        options={"num_warps": 4 if special else 8, "num_stages": 3},
    )


def matmul_fp8():
    m, n, k = 12 * 128, 22 * 128, 1024
    module = example("matmul_fp8")
    # Codes of 1/64 up to 1, so that sums of their products fit in 16 bits.
    buffers = {
        "a": uniform("u8", (m, k), 1, 0x08, 0x38),
        "b": uniform("u8", (n, k), 2, 0x08, 0x38),
        "c": Buffer("f16", (m, n)),
    }

    def reference(given):
        a, b = (module.values(given[name]).astype("f4") for name in "ab")
        return {"c": a @ b.T}

    return Kernel(
        "triton/matmul_fp8.py",
        "matmul_fp8",
        (m // 128, n // 128),
        ["a", "b", "c", n, k],
        buffers,
        reference,
        2e-2,
        constants={"TILE_M": 128, "TILE_N": 128, "TILE_K": 128},
        options={"num_warps": 8, "num_stages": 3},
    )


def attention(d, heads, n, causal=False, tile=64):
    buffers = {name: normal("f16", (heads, n, d), seed) for seed, name in enumerate("qkv", 1)}
    buffers["out"] = Buffer("f16", (heads, n, d))
    reference = example("attention").reference
    return Kernel(
        "triton/attention.py",
        "attend",
        (n // 128, heads),
        ["q", "k", "v", "out", d**-0.5, n],
        buffers,
        lambda given: {"out": reference(*(given[name] for name in "qkv"), causal)},
        4e-3,
        constants={"D": d, "ROWS": 128, "TILE": tile, "CAUSAL": causal},
        options={"num_warps": 8, "num_stages": 3},
    )


def decode(sequences, n, spans):
    d = 128
    buffers = {
        "q": normal("f16", (sequences, d), 1),
        "k": normal("f16", (sequences, n, d), 2),
        "v": normal("f16", (sequences, n, d), 3),
        "sums": Buffer("f32", (sequences, spans, d)),
        "most": Buffer("f32", (sequences, spans)),
        "total": Buffer("f32", (sequences, spans)),
    }

    def reference(given):
        q, k, v = (given[name].astype("f8") for name in "qkv")
        scores = numpy.einsum("sd,snd->sn", q, k) / numpy.sqrt(d) * numpy.log2(numpy.e)
        scores = scores.reshape(sequences, spans, n // spans)
        most = scores.max(axis=2)
        weights = numpy.exp2(scores - most[:, :, None])
        values = v.reshape(sequences, spans, n // spans, d)
        sums = numpy.einsum("spn,spnd->spd", weights, values)
        return {"sums": sums, "most": most, "total": weights.sum(axis=2)}

    return Kernel(
        "triton/decode.py",
        "decode",
        (sequences, spans),
        ["q", "k", "v", "sums", "most", "total", d**-0.5, n, n // spans],
        buffers,
        reference,
        2e-4,
        constants={"D": d, "TILE": 64},
    )


def grouped():
    groups, n, k, rows = 16, 768, 512, 512
    module = example("grouped")
    buffers = {
        "a": normal("f16", (groups * rows, k), 1),
        "b": normal("f16", (groups, k, n), 2),
        "c": Buffer("f16", (groups * rows, n)),
        "sizes": uniform("i32", (groups,), 3, 1, rows),
    }
    return Kernel(
        "triton/grouped.py",
        "grouped",
        (SMS,),
        ["a", "b", "c", "sizes", groups, n, k],
        buffers,
        lambda given: {"c": module.reference(given["a"], given["b"], given["sizes"])},
        2e-2,
        constants={"TILE_M": 128, "TILE_N": 128, "TILE_K": 64},
        options={"num_warps": 8, "num_stages": 3},
    )


#: Each kernel by the name of its files.
KERNELS = {
    "vector-add": vector_add,
    "transpose": transpose,
    "softmax": softmax,
    "layer-norm": layer_norm,
    "sgemm": sgemm,
    "gemm-mma": gemm_mma,
    "gemm-tma": gemm_tma,
    "matmul-pointers": matmul_pointers,
    "matmul-descriptors": matmul_descriptors,
    "matmul-persistent": matmul_persistent,
    "matmul-specialised": lambda: matmul_persistent(special=True),
    "matmul-fp8": matmul_fp8,
    "attention-64": lambda: attention(64, 88, 384),
    "attention-128": lambda: attention(128, 33, 512),
    "attention-causal": lambda: attention(64, 66, 512, causal=True),
    "decode": lambda: decode(2 * SMS, 256, 1),
    "decode-split": lambda: decode(33, 2048, 16),
    "grouped": grouped,
}


def compiled(kernel):
    """PTX of a kernel, and of one of Triton what its compiler states."""
    source = ROOT / "examples" / kernel.file
    if source.suffix == ".cu":
        return nvrtc.compile_kernel(nvrtc.load_library(), f"compute_{ARCHITECTURE}a", source), None
    function = getattr(example(source.stem), kernel.function)
    signature, attributes = {}, {}
    for place, (name, argument) in enumerate(
        zip(function.arg_names, kernel.arguments, strict=False)
    ):
        if isinstance(argument, str):
            signature[name] = "*" + TYPES[kernel.buffers[argument].type]
        else:
            signature[name] = "fp32" if isinstance(argument, float) else "i32"
        if isinstance(argument, str) or isinstance(argument, int) and argument % 16 == 0:
            attributes[place,] = MULTIPLE
    signature |= dict.fromkeys(kernel.constants, "constexpr")
    made = triton.compile(
        ASTSource(function, signature, kernel.constants, attributes),
        target=GPUTarget("cuda", ARCHITECTURE, 32),
        options={"ptx_version": PTX, "enable_fp_fusion": True} | kernel.options,
    )
    return made.asm["ptx"], made.metadata


def registers(ptx):
    """Registers per thread that the assembler allocates."""
    assembler = pathlib.Path(nvidia.__path__[0]) / "bin/ptxas"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernel.ptx"
        path.write_text(ptx)
        command = [assembler, "-v", f"-arch=sm_{ARCHITECTURE}a", path, "-o", "/dev/null"]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(re.search(r"Used (\d+) registers", ran.stderr)[1])


def launch_file(name, kernel, ptx, metadata):
    """Text of the launch file: buffers, and the launch with what the compilers state."""
    buffers, arguments, shared = dict(kernel.buffers), list(kernel.arguments), kernel.shared
    block = kernel.block
    if metadata is not None:
        block, shared = (32 * metadata.num_warps,), metadata.shared
        # Two parameters more: the kernel's own memory, here for descriptors, and a profiler's.
        scratch = metadata.global_scratch_size * int(numpy.prod(kernel.grid))
        if scratch:
            buffers["scratch"] = Buffer("u8", (scratch,))
        arguments += ["scratch" if scratch else 0, 0]
    lines = ["# Made by xtask/kernels.py.", f'module = "{name}.ptx"']
    for label, buffer in buffers.items():
        lines += ["", "[[buffer]]", f'name = "{label}"', f'type = "{buffer.type}"']
        lines.append(f"shape = {list(buffer.shape)}")
        lines += [f"{key} = {json.dumps(value)}" for key, value in buffer.keys.items()]
    lines += ["", "[[launch]]", f'kernel = "{kernel.function}"', f"grid = {list(kernel.grid)}"]
    lines += [f"block = {list(block)}", f"args = {json.dumps(arguments)}"]
    lines += [f"dynamic_shared_bytes = {shared}"] if shared else []
    lines.append(f"registers_per_thread = {registers(ptx)}")
    return "\n".join(lines) + "\n"


def make(names):
    # Lines of the source would contain its path.
    triton.knobs.compilation.disable_line_info = True
    for name in names:
        kernel = KERNELS[name]()
        ptx, metadata = compiled(kernel)
        (FOLDER / f"{name}.ptx").write_text(ptx)
        (FOLDER / f"{name}.toml").write_text(launch_file(name, kernel, ptx, metadata))
        print(name)


def check(program, names):
    for name in names:
        kernel = KERNELS[name]()
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            text = (FOLDER / f"{name}.toml").read_text()
            text = text.replace('module = "', f'module = "{FOLDER}/')
            for label in kernel.buffers:
                text += f'\n[[dump]]\nbuffer = "{label}"\nnpy = "{label}.npy"\n'
            path = folder / "dumps.toml"
            path.write_text(text)
            subprocess.run([program, "run", path, "--gpu", MACHINE, "--functional"], check=True)
            contents = {label: numpy.load(folder / f"{label}.npy") for label in kernel.buffers}
        for label, expected in kernel.reference(contents).items():
            error = numpy.abs(contents[label] - expected) / numpy.maximum(1, numpy.abs(expected))
            print(f"{name}: {label} differs by at most {error.max():.1e}")
            assert error.max() <= kernel.tolerance, f"more than {kernel.tolerance}"


def main(action, *arguments):
    if action == "check":
        program, *names = arguments
        check(program, names or KERNELS)
    else:
        make(arguments or KERNELS)


if __name__ == "__main__":
    main(*sys.argv[1:])
