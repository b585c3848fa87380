// Surface objects: arrays of one to three dimensions and layers that kernels write and read, and
// what accesses outside them do.
#include "check.h"

__global__ void write_plane(cudaSurfaceObject_t s, int width) {
    int x = threadIdx.x, y = blockIdx.x;
    surf2Dwrite((float)(x + width * y), s, x * sizeof(float), y);
}

__global__ void read_plane(cudaSurfaceObject_t s, float *out, int width) {
    int x = threadIdx.x, y = blockIdx.x;
    out[x + width * y] = surf2Dread<float>(s, x * sizeof(float), y);
}

__global__ void at_the_edge(cudaSurfaceObject_t s, float *out, int width, int height) {
    out[0] = surf2Dread<float>(s, 4 * width, height + 3, cudaBoundaryModeClamp);
    out[1] = surf2Dread<float>(s, -4, 0, cudaBoundaryModeClamp);
    out[2] = surf2Dread<float>(s, 4 * width, 0, cudaBoundaryModeZero);
    surf2Dwrite(-1.0f, s, 0, height, cudaBoundaryModeZero);
    surf2Dwrite(-2.0f, s, 4 * width + 4, 1, cudaBoundaryModeClamp);
    out[3] = surf2Dread<float>(s, 4 * (width - 1), 1);
}

__global__ void bytes(cudaSurfaceObject_t s, uchar4 *out) {
    int x = threadIdx.x;
    surf1Dwrite(make_uchar4(x, 2 * x, 3 * x, 255 - x), s, x * 4);
    out[x] = surf1Dread<uchar4>(s, x * 4);
}

__global__ void box(cudaSurfaceObject_t s, int2 *out) {
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    surf3Dwrite(make_int2(x + 10 * y, 100 * z), s, x * 8, y, z);
    __syncthreads();
    out[x + 4 * (y + 3 * z)] = surf3Dread<int2>(s, (3 - x) * 8, y, 1 - z);
}

__global__ void layers(cudaSurfaceObject_t s, short *out) {
    int x = threadIdx.x, layer = threadIdx.y;
    surf2DLayeredwrite((short)(x - 100 * layer), s, x * 2, 1, layer);
    __syncthreads();
    out[x + 8 * layer] = surf2DLayeredread<short>(s, x * 2, 1, layer);
}

__global__ void beyond(cudaSurfaceObject_t s) { surf2Dwrite(1.0f, s, 1 << 20, 0); }

static cudaSurfaceObject_t surface_of(cudaArray_t array) {
    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeArray;
    what.res.array.array = array;
    cudaSurfaceObject_t surface = 0;
    OK(cudaCreateSurfaceObject(&surface, &what));
    return surface;
}

int main(int count, char **arguments) {
    const int width = 20, height = 6;
    float *out, host[width * height];
    OK(cudaMalloc(&out, 4096));
    cudaArray_t plane;
    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    OK(cudaMallocArray(&plane, &floats, width, height, cudaArraySurfaceLoadStore));
    cudaSurfaceObject_t surface = surface_of(plane);
    write_plane<<<height, width>>>(surface, width);
    read_plane<<<height, width>>>(surface, out, width);
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < width * height; i++) CHECK(host[i] == i);
    OK(cudaMemcpy2DFromArray(host, 4 * width, plane, 0, 0, 4 * width, height,
                             cudaMemcpyDeviceToHost));
    for (int i = 0; i < width * height; i++) CHECK(host[i] == i);
    at_the_edge<<<1, 1>>>(surface, out, width, height);
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[0] == width * height - 1 && host[1] == 0 && host[2] == 0 && host[3] == -2);

    cudaArray_t row;
    cudaChannelFormatDesc quads = cudaCreateChannelDesc<uchar4>();
    OK(cudaMallocArray(&row, &quads, 64, 0, cudaArraySurfaceLoadStore));
    bytes<<<1, 64>>>(surface_of(row), (uchar4 *)out);
    uchar4 colours[64];
    OK(cudaMemcpy(colours, out, sizeof colours, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        CHECK(colours[i].x == i && colours[i].y == 2 * i && colours[i].z == (3 * i & 255) &&
              colours[i].w == 255 - i);

    cudaArray_t cube;
    cudaChannelFormatDesc pairs = cudaCreateChannelDesc<int2>();
    OK(cudaMalloc3DArray(&cube, &pairs, make_cudaExtent(4, 3, 2), cudaArraySurfaceLoadStore));
    box<<<1, dim3(4, 3, 2)>>>(surface_of(cube), (int2 *)out);
    int2 found[24];
    OK(cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 24; i++)
        CHECK(found[i].x == 3 - i % 4 + 10 * (i / 4 % 3) && found[i].y == 100 * (1 - i / 12));

    cudaArray_t layered;
    cudaChannelFormatDesc shorts = cudaCreateChannelDesc<short>();
    OK(cudaMalloc3DArray(&layered, &shorts, make_cudaExtent(8, 2, 3),
                         cudaArraySurfaceLoadStore | cudaArrayLayered));
    layers<<<1, dim3(8, 3)>>>(surface_of(layered), (short *)out);
    short values[24];
    OK(cudaMemcpy(values, out, sizeof values, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 24; i++) CHECK(values[i] == i % 8 - 100 * (i / 8));

    OK(cudaDestroySurfaceObject(surface));
    GIVES(cudaErrorInvalidValue, cudaDestroySurfaceObject(surface));
    (void)cudaGetLastError();
    if (count > 1 && !strcmp(arguments[1], "outside")) {
        beyond<<<1, 1>>>(surface_of(plane));
        GIVES(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    }
    return end();
}
