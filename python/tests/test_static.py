"""A program that contains CUDA's runtime runs over the simulated driver."""

import importlib.util
import pathlib
import shutil
import subprocess

import pytest

from warploom import _command

#: Stores 6. Prototypes are those of cuda_runtime_api.h.
PROGRAM = r"""
#include <stdio.h>
#include <string.h>
typedef struct { unsigned x, y, z; } dim3;
int cudaGetDeviceCount(int *), cudaMalloc(void **, size_t), cudaMemcpy(void *, void *, size_t, int);
int cudaLibraryLoadData(void **, const char *, void *, void *, int, void *, void *, int);
int cudaLibraryGetKernel(void **, void *, const char *);
int cudaLaunchKernel(void *, dim3, dim3, void **, size_t, void *);
int cudaDeviceReset(void);
static const char PTX[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry six(.param .u64 x) { .reg .b64 %d; .reg .b32 %r; ld.param.u64 %d, [x];\n"
    "mov.u32 %r, 6; st.global.u32 [%d], %r; ret; }\n";
int main(void) {
    int count = 0, got = 0;
    void *device = 0, *library = 0, *kernel = 0, *arguments[] = {&device};
    dim3 one = {1, 1, 1};
    int codes = cudaGetDeviceCount(&count) + cudaMalloc(&device, 4) +
                cudaLibraryLoadData(&library, PTX, 0, 0, 0, 0, 0, 0) +
                cudaLibraryGetKernel(&kernel, library, "six") +
                cudaLaunchKernel(kernel, one, one, arguments, 0, 0) +
                cudaMemcpy(&got, device, 4, 2) + cudaDeviceReset();
    printf("%d %d %d\n", codes, count, got);
    return 0;
}
"""


def runtime():
    """Folder of NVIDIA's package with the runtime as an archive, where it is installed."""
    found = importlib.util.find_spec("nvidia")
    folders = found.submodule_search_locations if found else []
    archives = (pathlib.Path(folder) / "cuda_runtime/lib/libcudart_static.a" for folder in folders)
    return next((path.parent for path in archives if path.is_file()), None)


HAS_PROGRAM = (_command.FOLDER / "warploom").is_file()


@pytest.mark.skipif(not HAS_PROGRAM, reason="the package has no program")
@pytest.mark.skipif(runtime() is None, reason="nvidia-cuda-runtime-cu12 is not installed")
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_program_with_the_runtime_inside(tmp_path):
    (tmp_path / "six.c").write_text(PROGRAM)
    libraries = [f"{runtime()}/libcudart_static.a", f"{runtime()}/libculibos.a"]
    built = ["cc", "six.c", "-o", "six", *libraries, "-lstdc++", "-ldl", "-lrt", "-lpthread"]
    subprocess.run(built, cwd=tmp_path, check=True)
    command = [_command.program(), "app", "--gpu", "rtx3070-ampere", "--", "./six"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stdout == "0 1 6\n", ran.stderr
    assert "six" in ran.stderr and ran.returncode == 0
