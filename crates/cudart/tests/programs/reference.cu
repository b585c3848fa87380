// Texture references, which CUDA has up to release 11.
#include "check.h"

texture<float, 1, cudaReadModeElementType> line;
texture<uchar4, 2, cudaReadModeNormalizedFloat> image;
texture<float, 2> grid;

__global__ void read_line(float *out) { out[threadIdx.x] = 2 * tex1Dfetch(line, threadIdx.x); }
__global__ void read_image(float4 *out) { out[0] = tex2D(image, 1.5f, 0.5f); }
__global__ void read_grid(float *out) { out[0] = tex2D(grid, 0.5f, 1.0f); }

int main() {
    float host[32], got[32], *device, *out;
    for (int i = 0; i < 32; i++) host[i] = i;
    OK(cudaMalloc(&device, sizeof host));
    OK(cudaMalloc(&out, sizeof host));
    OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    size_t offset = 99;
    OK(cudaBindTexture(&offset, line, device, sizeof host));
    CHECK(offset == 0);
    read_line<<<1, 32>>>(out);
    OK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got[0] == 0 && got[31] == 62);
    OK(cudaUnbindTexture(line));

    uchar4 colours[2] = {{1, 2, 3, 4}, {255, 0, 51, 102}};
    cudaArray *array;
    OK(cudaMallocArray(&array, &image.channelDesc, 2, 1));
    OK(cudaMemcpyToArray(array, 0, 0, colours, sizeof colours, cudaMemcpyHostToDevice));
    OK(cudaBindTextureToArray(image, array));
    read_image<<<1, 1>>>((float4 *)out);
    OK(cudaMemcpy(got, out, 16, cudaMemcpyDeviceToHost));
    CHECK(got[0] == 1 && got[1] == 0 && got[2] == 51 / 255.0f);

    size_t pitch;
    float *rows;
    OK(cudaMallocPitch(&rows, &pitch, 16, 2));
    OK(cudaMemcpy2D(rows, pitch, host, 16, 16, 2, cudaMemcpyHostToDevice));
    grid.filterMode = cudaFilterModeLinear;
    grid.addressMode[0] = grid.addressMode[1] = cudaAddressModeClamp;
    OK(cudaBindTexture2D(0, grid, rows, grid.channelDesc, 4, 2, pitch));
    read_grid<<<1, 1>>>(out);
    OK(cudaMemcpy(got, out, 4, cudaMemcpyDeviceToHost));
    CHECK(got[0] == 2);
    const textureReference *known;
    OK(cudaGetTextureReference(&known, &grid));
    CHECK(known == &grid);
    return end();
}
