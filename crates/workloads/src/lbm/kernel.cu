// A time step of the lattice-Boltzmann method, 19 velocities (D3Q19): a thread reads the
// distributions of its cell, relaxes them towards equilibrium (or reflects them at an obstacle),
// and scatters them to the neighbours. One array a velocity; rows are padded to 128 bytes. The
// extents are constants of the code, as in the public benchmark.

enum Velocity { C, N, S, E, W, T, B, NE, NW, SE, SW, NT, NB, ST, SB, ET, EB, WT, WB, FLAGS };

#define VELOCITIES 19
#define OBSTACLE 1
#define ACCELERATED 2
#define OMEGA 1.95f

__device__ __forceinline__ float relax(float f, float weight, float along, float u2)
{
    return (1.0f - OMEGA) * f + weight * (along * (4.5f * along + 3.0f) - u2);
}

__device__ __forceinline__ void swap(float &a, float &b)
{
    const float old = a;
    a = b;
    b = old;
}

__device__ __forceinline__ void reflect(float (&f)[VELOCITIES])
{
    swap(f[N], f[S]);
    swap(f[E], f[W]);
    swap(f[T], f[B]);
    swap(f[NE], f[SW]);
    swap(f[NW], f[SE]);
    swap(f[NT], f[SB]);
    swap(f[NB], f[ST]);
    swap(f[ET], f[WB]);
    swap(f[EB], f[WT]);
}

__device__ __forceinline__ void collide(float (&f)[VELOCITIES], bool accelerated)
{
    float density = f[0];
#pragma unroll
    for (int i = 1; i < VELOCITIES; ++i) {
        density += f[i];
    }
    float ux = f[E] - f[W] + f[NE] - f[NW] + f[SE] - f[SW] + f[ET] + f[EB] - f[WT] - f[WB];
    float uy = f[N] - f[S] + f[NE] + f[NW] - f[SE] - f[SW] + f[NT] + f[NB] - f[ST] - f[SB];
    float uz = f[T] - f[B] + f[NT] - f[NB] + f[ST] - f[SB] + f[ET] - f[EB] + f[WT] - f[WB];
    ux /= density;
    uy /= density;
    uz /= density;
    if (accelerated) {
        ux = 0.005f;
        uy = 0.002f;
        uz = 0.0f;
    }
    const float u2 = 1.5f * (ux * ux + uy * uy + uz * uz) - 1.0f;
    const float base = OMEGA * density;
    const float straight = base * (1.0f / 18.0f);
    const float diagonal = base * (1.0f / 36.0f);
    f[C] = (1.0f - OMEGA) * f[C] - base * (1.0f / 3.0f) * u2;
    f[N] = relax(f[N], straight, uy, u2);
    f[S] = relax(f[S], straight, -uy, u2);
    f[T] = relax(f[T], straight, uz, u2);
    f[B] = relax(f[B], straight, -uz, u2);
    f[E] = relax(f[E], straight, ux, u2);
    f[W] = relax(f[W], straight, -ux, u2);
    f[NT] = relax(f[NT], diagonal, uy + uz, u2);
    f[NB] = relax(f[NB], diagonal, uy - uz, u2);
    f[ST] = relax(f[ST], diagonal, uz - uy, u2);
    f[SB] = relax(f[SB], diagonal, -uy - uz, u2);
    f[NE] = relax(f[NE], diagonal, ux + uy, u2);
    f[SE] = relax(f[SE], diagonal, ux - uy, u2);
    f[ET] = relax(f[ET], diagonal, ux + uz, u2);
    f[EB] = relax(f[EB], diagonal, ux - uz, u2);
    f[NW] = relax(f[NW], diagonal, uy - ux, u2);
    f[SW] = relax(f[SW], diagonal, -ux - uy, u2);
    f[WT] = relax(f[WT], diagonal, uz - ux, u2);
    f[WB] = relax(f[WB], diagonal, -ux - uz, u2);
}

// Width and height of a layer, padded; the arrays of the velocities are `CELLS` apart.
template <int WIDTH, int HEIGHT, int CELLS>
__device__ __forceinline__ void stream_collide(const float *from, float *to)
{
    const int cell = threadIdx.x + blockIdx.x * WIDTH + blockIdx.y * WIDTH * HEIGHT;
    float f[VELOCITIES];
#pragma unroll
    for (int i = 0; i < VELOCITIES; ++i) {
        f[i] = from[cell + i * CELLS];
    }
    const int flags = __float_as_int(from[cell + FLAGS * CELLS]);
    if (flags & OBSTACLE) {
        reflect(f);
    } else {
        collide(f, flags & ACCELERATED);
    }
    const int y = WIDTH;
    const int z = WIDTH * HEIGHT;
    to[cell + C * CELLS] = f[C];
    to[cell + N * CELLS + y] = f[N];
    to[cell + S * CELLS - y] = f[S];
    to[cell + E * CELLS + 1] = f[E];
    to[cell + W * CELLS - 1] = f[W];
    to[cell + T * CELLS + z] = f[T];
    to[cell + B * CELLS - z] = f[B];
    to[cell + NE * CELLS + y + 1] = f[NE];
    to[cell + NW * CELLS + y - 1] = f[NW];
    to[cell + SE * CELLS - y + 1] = f[SE];
    to[cell + SW * CELLS - y - 1] = f[SW];
    to[cell + NT * CELLS + z + y] = f[NT];
    to[cell + NB * CELLS - z + y] = f[NB];
    to[cell + ST * CELLS + z - y] = f[ST];
    to[cell + SB * CELLS - z - y] = f[SB];
    to[cell + ET * CELLS + z + 1] = f[ET];
    to[cell + EB * CELLS - z + 1] = f[EB];
    to[cell + WT * CELLS + z - 1] = f[WT];
    to[cell + WB * CELLS - z - 1] = f[WB];
}

// Padding: 8 cells in x, 4 layers in z.
#define ENTRY(X, Y, Z)                                                                             \
    extern "C" __global__ void stream_collide_##X##x##Y##x##Z(const float *from, float *to)        \
    {                                                                                              \
        stream_collide<X + 8, Y, (X + 8) * Y * (Z + 4)>(from, to);                                 \
    }

ENTRY(24, 16, 10)
ENTRY(56, 48, 40)
ENTRY(120, 120, 150)
