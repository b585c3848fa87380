// Surface references, which CUDA has up to release 11. Clang has none of the functions that access
// them, but keeps their names, so that accesses are written in PTX.
#include "check.h"

surface<void, cudaSurfaceType2D> plane;
surface<void, cudaSurfaceType1D> row;

__global__ void write_plane(int width) {
    int x = threadIdx.x, y = blockIdx.x;
    asm volatile("sust.b.2d.b32.trap [plane, {%0, %1}], %2;" ::"r"(4 * x), "r"(y),
                 "f"((float)(x + width * y)));
}

__global__ void read_plane(float *out, int width) {
    int x = threadIdx.x, y = blockIdx.x;
    float value;
    asm volatile("suld.b.2d.b32.trap %0, [plane, {%1, %2}];" : "=f"(value) : "r"(4 * x), "r"(y));
    out[x + width * y] = value;
}

// The reference's handle, from a register.
__global__ void count(int *width) {
    unsigned long long handle;
    asm volatile("mov.u64 %0, row;" : "=l"(handle));
    asm volatile("sured.p.add.1d.b32.trap [%0, {%1}], 1;" ::"l"(handle), "r"(threadIdx.x % 3));
    asm volatile("suq.width.b32 %0, [%1];" : "=r"(*width) : "l"(handle));
}

int main(int count_of_arguments, char **arguments) {
    const int width = 20, height = 6;
    float *out, host[width * height];
    OK(cudaMalloc(&out, sizeof host));
    const surfaceReference *known = 0;
    OK(cudaGetSurfaceReference(&known, &plane));
    CHECK(known == &plane);
    GIVES(cudaErrorInvalidSurface, cudaGetSurfaceReference(&known, 0));
    (void)cudaGetLastError();

    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    cudaArray_t arrays[2];
    for (int i = 0; i < 2; i++) {
        OK(cudaMallocArray(&arrays[i], &floats, width, height, cudaArraySurfaceLoadStore));
        OK(cudaBindSurfaceToArray(plane, arrays[i]));
        write_plane<<<height, width>>>(width + i);
    }
    // What was written lies in the array that was bound then.
    for (int i = 0; i < 2; i++) {
        OK(cudaMemcpy2DFromArray(host, 4 * width, arrays[i], 0, 0, 4 * width, height,
                                 cudaMemcpyDeviceToHost));
        for (int j = 0; j < width * height; j++)
            CHECK(host[j] == j % width + (width + i) * (j / width));
    }
    OK(cudaBindSurfaceToArray(plane, arrays[0], floats));
    read_plane<<<height, width>>>(out, width);
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < width * height; i++) CHECK(host[i] == i);

    cudaArray_t counts;
    cudaChannelFormatDesc words = cudaCreateChannelDesc<unsigned>();
    unsigned sums[3] = {10, 20, 30};
    OK(cudaMallocArray(&counts, &words, 3, 0, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(counts, 0, 0, sums, 12, 12, 1, cudaMemcpyHostToDevice));
    OK(cudaBindSurfaceToArray(row, counts));
    count<<<4, 96>>>((int *)out);
    OK(cudaMemcpy2DFromArray(sums, 12, counts, 0, 0, 12, 1, cudaMemcpyDeviceToHost));
    CHECK(sums[0] == 138 && sums[1] == 148 && sums[2] == 158);
    int found;
    OK(cudaMemcpy(&found, out, sizeof found, cudaMemcpyDeviceToHost));
    CHECK(found == 3);

    if (count_of_arguments > 1 && !strcmp(arguments[1], "outside")) {
        write_plane<<<height + 1, width>>>(width);
        GIVES(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    }
    return end();
}
