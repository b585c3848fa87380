// One iteration of speckle-reducing anisotropic diffusion. `srad_cuda_1`: differences to the four
// neighbours and from them the diffusion coefficient; `srad_cuda_2`: divergence and the new image. Tiles of
// 16 x 16 in shared memory, with the neighbours beyond each edge in tiles of their own. Constants without
// suffix are doubles, and with them the expressions that they stand in.

#define TILE 16

extern "C" __global__ void srad_cuda_1(float *east_c, float *west_c, float *north_c, float *south_c,
                                       const float *image, float *coefficient, int columns,
                                       int rows, float q0_squared)
{
    __shared__ float tile[TILE][TILE];
    __shared__ float result[TILE][TILE];
    __shared__ float north[TILE][TILE];
    __shared__ float south[TILE][TILE];
    __shared__ float east[TILE][TILE];
    __shared__ float west[TILE][TILE];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int x = TILE * blockIdx.x;
    const int y = TILE * blockIdx.y;
    const int index = columns * (y + ty) + x + tx;

    // Beyond the image's edge stands the edge itself.
    north[ty][tx] = image[columns * (y == 0 ? 0 : y - 1) + x + tx];
    south[ty][tx] = image[columns * (y + TILE == rows ? rows - 1 : y + TILE) + x + tx];
    __syncthreads();
    west[ty][tx] = image[columns * (y + ty) + (x == 0 ? 0 : x - 1)];
    east[ty][tx] = image[columns * (y + ty) + (x + TILE == columns ? columns - 1 : x + TILE)];
    __syncthreads();
    tile[ty][tx] = image[index];
    __syncthreads();

    const float here = tile[ty][tx];
    const float n = (ty == 0 ? north[ty][tx] : tile[ty - 1][tx]) - here;
    const float s = (ty == TILE - 1 ? south[ty][tx] : tile[ty + 1][tx]) - here;
    const float w = (tx == 0 ? west[ty][tx] : tile[ty][tx - 1]) - here;
    const float e = (tx == TILE - 1 ? east[ty][tx] : tile[ty][tx + 1]) - here;

    const float gradient_squared =
        fmaf(e, e, fmaf(w, w, fmaf(s, s, n * n))) / (here * here);
    const float laplacian = (n + s + w + e) / here;
    const float numerator =
        fma(-(1.0 / 16.0), (double)(laplacian * laplacian), 0.5 * gradient_squared);
    const float denominator = fma(0.25, (double)laplacian, 1.0);
    const float q_squared = numerator / (denominator * denominator);
    const float excess = (q_squared - q0_squared) / (q0_squared * (1 + q0_squared));
    const float c = 1.0 / (1.0 + excess);
    if (c < 0) {
        result[ty][tx] = 0;
    } else if (c > 1) {
        result[ty][tx] = 1;
    } else {
        result[ty][tx] = c;
    }
    __syncthreads();

    coefficient[index] = result[ty][tx];
    east_c[index] = e;
    west_c[index] = w;
    south_c[index] = s;
    north_c[index] = n;
}

extern "C" __global__ void srad_cuda_2(const float *east_c, const float *west_c,
                                       const float *north_c, const float *south_c, float *image,
                                       const float *coefficient, int columns, int rows,
                                       float lambda)
{
    __shared__ float south[TILE][TILE];
    __shared__ float east[TILE][TILE];
    __shared__ float own[TILE][TILE];
    __shared__ float result[TILE][TILE];
    __shared__ float tile[TILE][TILE];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int x = TILE * blockIdx.x;
    const int y = TILE * blockIdx.y;
    const int index = columns * (y + ty) + x + tx;

    tile[ty][tx] = image[index];
    __syncthreads();
    south[ty][tx] = coefficient[columns * (y + TILE == rows ? rows - 1 : y + TILE) + x + tx];
    __syncthreads();
    east[ty][tx] = coefficient[columns * (y + ty) + (x + TILE == columns ? columns - 1 : x + TILE)];
    __syncthreads();
    own[ty][tx] = coefficient[index];
    __syncthreads();

    const float c = own[ty][tx];
    const float cs = ty == TILE - 1 ? south[ty][tx] : own[ty + 1][tx];
    const float ce = tx == TILE - 1 ? east[ty][tx] : own[ty][tx + 1];
    const float divergence =
        fmaf(ce, east_c[index], fmaf(c, west_c[index], fmaf(cs, south_c[index], c * north_c[index])));
    result[ty][tx] = fma(0.25 * lambda, (double)divergence, (double)tile[ty][tx]);
    __syncthreads();
    image[index] = result[ty][tx];
}
