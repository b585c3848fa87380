// Surface objects: arrays of one to three dimensions and layers that kernels write, read and reduce,
// and what accesses outside them do.
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

// Formatted stores and reductions have no names in C++.
__global__ void formatted(cudaSurfaceObject_t bytes, cudaSurfaceObject_t halves) {
    int x = threadIdx.x, y = blockIdx.x;
    asm volatile("sust.p.2d.v4.b32.zero [%0, {%1, %2}], {%3, %4, %5, %6};" ::"l"(bytes), "r"(x - 1),
                 "r"(y), "r"(100 * x), "r"(y), "r"(-1), "r"(300 - x));
    asm volatile("sust.p.1d.v2.b32.clamp [%0, {%1}], {%2, %3};" ::"l"(halves), "r"(x), "f"(x / 8.0f),
                 "f"(1e6f));
}

__global__ void reduced(cudaSurfaceObject_t sums, cudaSurfaceObject_t least) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    asm volatile("sured.b.add.1d.u32.trap [%0, {%1}], %2;" ::"l"(sums), "r"(i % 4 * 4), "r"(i));
    asm volatile("sured.p.min.1d.b32.zero [%0, {%1}], %2;" ::"l"(least), "r"(i % 5), "r"(100 - i));
}

__global__ void beyond(cudaSurfaceObject_t s) { surf2Dwrite(1.0f, s, 1 << 20, 0); }

__global__ void reduced_beyond(cudaSurfaceObject_t s) {
    asm volatile("sured.p.add.2d.b32.trap [%0, {%1, %1}], 1;" ::"l"(s), "r"(1 << 20));
}

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

    unsigned zeros[16] = {};
    cudaArray_t packed, pair, counts, signs;
    OK(cudaMallocArray(&packed, &quads, 7, 2, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(packed, 0, 0, zeros, 28, 28, 2, cudaMemcpyHostToDevice));
    cudaChannelFormatDesc halves = {16, 16, 0, 0, cudaChannelFormatKindFloat};
    OK(cudaMallocArray(&pair, &halves, 8, 0, cudaArraySurfaceLoadStore));
    formatted<<<2, 8>>>(surface_of(packed), surface_of(pair));
    OK(cudaMemcpy2DFromArray(colours, 28, packed, 0, 0, 28, 2, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 14; i++) {
        int x = i % 7 + 1;
        CHECK(colours[i].x == (x < 3 ? 100 * x : 255) && colours[i].y == i / 7);
        CHECK(colours[i].z == 255 && colours[i].w == 255);
    }
    unsigned short bits[16], eighths[8] = {0,      0x3000, 0x3400, 0x3600,
                                           0x3800, 0x3900, 0x3a00, 0x3b00};
    OK(cudaMemcpy2DFromArray(bits, 32, pair, 0, 0, 32, 1, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++) CHECK(bits[2 * i] == eighths[i] && bits[2 * i + 1] == 0x7bff);

    cudaChannelFormatDesc words = cudaCreateChannelDesc<unsigned>();
    cudaChannelFormatDesc integers = cudaCreateChannelDesc<int>();
    OK(cudaMallocArray(&counts, &words, 4, 0, cudaArraySurfaceLoadStore));
    OK(cudaMallocArray(&signs, &integers, 4, 0, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(counts, 0, 0, zeros, 16, 16, 1, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DToArray(signs, 0, 0, zeros, 16, 16, 1, cudaMemcpyHostToDevice));
    reduced<<<8, 100>>>(surface_of(counts), surface_of(signs));
    unsigned sums[4];
    int least[4];
    OK(cudaMemcpy2DFromArray(sums, 16, counts, 0, 0, 16, 1, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy2DFromArray(least, 16, signs, 0, 0, 16, 1, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 4; i++) CHECK(sums[i] == 200 * (i + 398) && least[i] == 100 - 795 - i);

    cudaResourceDesc what = {}, same = {};
    OK(cudaGetSurfaceObjectResourceDesc(&what, surface));
    CHECK(what.resType == cudaResourceTypeArray && what.res.array.array == plane);
    cudaTextureDesc how = {};
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &what, &how, 0));
    OK(cudaGetTextureObjectResourceDesc(&same, texture));
    CHECK(same.resType == cudaResourceTypeArray && same.res.array.array == plane);
    OK(cudaDestroySurfaceObject(surface));
    GIVES(cudaErrorInvalidValue, cudaGetSurfaceObjectResourceDesc(&what, surface));
    GIVES(cudaErrorInvalidValue, cudaDestroySurfaceObject(surface));
    (void)cudaGetLastError();
    if (count > 1 && !strcmp(arguments[1], "outside")) {
        beyond<<<1, 1>>>(surface_of(plane));
        GIVES(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    }
    if (count > 1 && !strcmp(arguments[1], "reduced")) {
        reduced_beyond<<<1, 1>>>(surface_of(signs));
        GIVES(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    }
    return end();
}
