// Potential on a lattice of points, of charges within a cutoff. Atoms lie in bins of 4 Angstrom,
// up to eight a bin. A block computes a cube of 8 x 8 x 8 lattice points, four a thread: it loads
// the bins around it into shared memory, 32 at a time, and every thread adds up all their atoms.

#define BIN_DEPTH 8
#define BIN_FLOATS 32
#define BIN_INVERSE 0.25f
#define CACHED_BINS 32
#define REGION 8
#define MAX_NEIGHBOURS 1331

__constant__ int neighbour_count;
__constant__ int3 neighbours[MAX_NEIGHBOURS];

__device__ __forceinline__ float contribution(float charge, float r2, float inverse_cutoff2)
{
    const float s = 1.0f - r2 * inverse_cutoff2;
    return charge * rsqrtf(r2) * s * s;
}

// `bins` points to the bin at the lattice's origin; there are bins at negative coordinates too.
extern "C" __global__ void cutoff_potential(int bins_x, int bins_y, const float *bins,
                                            float spacing, float cutoff2,
                                            float inverse_cutoff2, float *regions, int region_z)
{
    __shared__ float cache[CACHED_BINS * BIN_FLOATS];
    __shared__ float *region;
    __shared__ int3 centre;
    const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;

    region = regions + ((region_z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) *
                           (REGION * REGION * REGION);
    centre.x = (int)floorf((REGION * blockIdx.x + REGION / 2) * spacing * BIN_INVERSE);
    centre.y = (int)floorf((REGION * blockIdx.y + REGION / 2) * spacing * BIN_INVERSE);
    centre.z = (int)floorf((REGION * region_z + REGION / 2) * spacing * BIN_INVERSE);
    const float x = (REGION * blockIdx.x + threadIdx.x) * spacing;
    const float y = (REGION * blockIdx.y + threadIdx.y) * spacing;
    const float z = (REGION * region_z + threadIdx.z) * spacing;

    float sum0 = 0.0f, sum1 = 0.0f, sum2 = 0.0f, sum3 = 0.0f;
    int neighbour = thread >> 4;
    int cached = CACHED_BINS;
    for (int done = 0; done < neighbour_count; done += cached) {
        // Each half-warp loads every eighth bin.
        for (int i = 0; i < 4 && neighbour < neighbour_count; ++i, neighbour += 8) {
            const int bx = centre.x + neighbours[neighbour].x;
            const int by = centre.y + neighbours[neighbour].y;
            const int bz = centre.z + neighbours[neighbour].z;
            const float *bin = bins + ((bz * bins_y + by) * bins_x + bx) * BIN_FLOATS;
            const int to = BIN_FLOATS * ((thread >> 4) + 8 * i) + (thread & 15);
            cache[to] = bin[thread & 15];
            cache[to + 16] = bin[(thread & 15) + 16];
        }
        __syncthreads();
        if (done + CACHED_BINS > neighbour_count) {
            cached = neighbour_count - done;
        }
        for (int bin = 0; bin < cached * BIN_FLOATS; bin += BIN_FLOATS) {
            for (int i = 0; i < BIN_DEPTH; ++i) {
                const float charge = cache[bin + 4 * i + 3];
                if (charge == 0.0f) {
                    break;
                }
                const float dx = cache[bin + 4 * i] - x;
                const float dz = cache[bin + 4 * i + 2] - z;
                const float dxz2 = dx * dx + dz * dz;
                float dy = cache[bin + 4 * i + 1] - y;
                float r2 = dy * dy + dxz2;
                if (r2 < cutoff2) {
                    sum0 += contribution(charge, r2, inverse_cutoff2);
                }
                dy -= 2.0f * spacing;
                r2 = dy * dy + dxz2;
                if (r2 < cutoff2) {
                    sum1 += contribution(charge, r2, inverse_cutoff2);
                }
                dy -= 2.0f * spacing;
                r2 = dy * dy + dxz2;
                if (r2 < cutoff2) {
                    sum2 += contribution(charge, r2, inverse_cutoff2);
                }
                dy -= 2.0f * spacing;
                r2 = dy * dy + dxz2;
                if (r2 < cutoff2) {
                    sum3 += contribution(charge, r2, inverse_cutoff2);
                }
            }
        }
        __syncthreads();
    }
    const int at = (thread >> 4) * 64 + (thread & 15);
    region[at] = sum0;
    region[at + 16] = sum1;
    region[at + 32] = sum2;
    region[at + 48] = sum3;
}
