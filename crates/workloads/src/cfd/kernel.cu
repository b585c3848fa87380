// Fluxes of the three-dimensional Euler equations over an unstructured mesh of tetrahedra: one cell a
// thread, four faces, finite volumes with artificial viscosity. Fields lie one after the other, so that
// a cell's own values are coalesced; its neighbours' are as near as the mesh's numbering makes them.

#define GAMMA 1.4f
#define FACES 4
#define DENSITY 0
#define MOMENTUM 1
#define ENERGY 4
#define WALL -1
#define FAR_FIELD -2

// The flow far away: its state, and its fluxes of momentum in x, y and z and of energy.
__constant__ float far_state[5];
__constant__ float3 far_flux[4];

struct State {
    float density;
    float3 momentum;
    float energy;
    float pressure;
    float speed_squared;
    float speed_of_sound;
    // Fluxes of momentum in x, y and z and of energy.
    float3 flux[4];
};

__device__ __forceinline__ State load_state(const float *variables, int cell, int cells)
{
    State s;
    s.density = variables[cell + DENSITY * cells];
    s.momentum.x = variables[cell + (MOMENTUM + 0) * cells];
    s.momentum.y = variables[cell + (MOMENTUM + 1) * cells];
    s.momentum.z = variables[cell + (MOMENTUM + 2) * cells];
    s.energy = variables[cell + ENERGY * cells];

    float3 v;
    v.x = s.momentum.x / s.density;
    v.y = s.momentum.y / s.density;
    v.z = s.momentum.z / s.density;
    s.speed_squared = fmaf(v.z, v.z, fmaf(v.y, v.y, v.x * v.x));
    s.pressure = (GAMMA - 1.0f) * fmaf(-(0.5f * s.density), s.speed_squared, s.energy);
    s.speed_of_sound = sqrtf(GAMMA * s.pressure / s.density);

    s.flux[0].x = fmaf(v.x, s.momentum.x, s.pressure);
    s.flux[0].y = v.x * s.momentum.y;
    s.flux[0].z = v.x * s.momentum.z;
    s.flux[1].x = s.flux[0].y;
    s.flux[1].y = fmaf(v.y, s.momentum.y, s.pressure);
    s.flux[1].z = v.y * s.momentum.z;
    s.flux[2].x = s.flux[0].z;
    s.flux[2].y = s.flux[1].z;
    s.flux[2].z = fmaf(v.z, s.momentum.z, s.pressure);
    const float enthalpy = s.energy + s.pressure;
    s.flux[3].x = v.x * enthalpy;
    s.flux[3].y = v.y * enthalpy;
    s.flux[3].z = v.z * enthalpy;
    return s;
}

// Adds half the sum of two states' fluxes through one component of a face.
struct Sum {
    float density;
    float3 momentum;
    float energy;

    __device__ __forceinline__ void add(float factor, float mass, float x, float y, float z,
                                        float heat)
    {
        density = fmaf(factor, mass, density);
        energy = fmaf(factor, heat, energy);
        momentum.x = fmaf(factor, x, momentum.x);
        momentum.y = fmaf(factor, y, momentum.y);
        momentum.z = fmaf(factor, z, momentum.z);
    }
};

__device__ __forceinline__ void add_face(Sum &sum, const State &own, const float3 &normal,
                                         const float3 &momentum, const float3 *flux)
{
    sum.add(0.5f * normal.x, momentum.x + own.momentum.x, flux[0].x + own.flux[0].x,
            flux[1].x + own.flux[1].x, flux[2].x + own.flux[2].x, flux[3].x + own.flux[3].x);
    sum.add(0.5f * normal.y, momentum.y + own.momentum.y, flux[0].y + own.flux[0].y,
            flux[1].y + own.flux[1].y, flux[2].y + own.flux[2].y, flux[3].y + own.flux[3].y);
    sum.add(0.5f * normal.z, momentum.z + own.momentum.z, flux[0].z + own.flux[0].z,
            flux[1].z + own.flux[1].z, flux[2].z + own.flux[2].z, flux[3].z + own.flux[3].z);
}

extern "C" __global__ void compute_flux(int cells, const int *neighbours, const float *normals,
                                        const float *variables, float *fluxes)
{
    const float smoothing = 0.2f;
    const int cell = blockDim.x * blockIdx.x + threadIdx.x;
    const State own = load_state(variables, cell, cells);
    const float own_speed = sqrtf(own.speed_squared);
    Sum sum = {0.0f, {0.0f, 0.0f, 0.0f}, 0.0f};

#pragma unroll
    for (int face = 0; face < FACES; ++face) {
        const int neighbour = neighbours[cell + face * cells];
        float3 normal;
        normal.x = normals[cell + (face + 0 * FACES) * cells];
        normal.y = normals[cell + (face + 1 * FACES) * cells];
        normal.z = normals[cell + (face + 2 * FACES) * cells];
        const float area =
            sqrtf(fmaf(normal.z, normal.z, fmaf(normal.y, normal.y, normal.x * normal.x)));

        if (neighbour >= 0) {
            const State other = load_state(variables, neighbour, cells);
            const float viscosity =
                -area * smoothing * 0.5f *
                (own_speed + sqrtf(other.speed_squared) + own.speed_of_sound +
                 other.speed_of_sound);
            sum.add(viscosity, own.density - other.density, own.momentum.x - other.momentum.x,
                    own.momentum.y - other.momentum.y, own.momentum.z - other.momentum.z,
                    own.energy - other.energy);
            add_face(sum, own, normal, other.momentum, other.flux);
        } else if (neighbour == WALL) {
            sum.momentum.x = fmaf(normal.x, own.pressure, sum.momentum.x);
            sum.momentum.y = fmaf(normal.y, own.pressure, sum.momentum.y);
            sum.momentum.z = fmaf(normal.z, own.pressure, sum.momentum.z);
        } else if (neighbour == FAR_FIELD) {
            const float3 momentum = {far_state[MOMENTUM], far_state[MOMENTUM + 1],
                                     far_state[MOMENTUM + 2]};
            add_face(sum, own, normal, momentum, far_flux);
        }
    }

    fluxes[cell + DENSITY * cells] = sum.density;
    fluxes[cell + (MOMENTUM + 0) * cells] = sum.momentum.x;
    fluxes[cell + (MOMENTUM + 1) * cells] = sum.momentum.y;
    fluxes[cell + (MOMENTUM + 2) * cells] = sum.momentum.z;
    fluxes[cell + ENERGY * cells] = sum.energy;
}
