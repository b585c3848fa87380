// Texture and surface objects.
extern "C" __global__ void textures(float *o, float4 *q, int *n, cudaTextureObject_t t)
{
    float x = o[0], y = o[1], z = o[2];
    int k = 3;
    o[k++] = tex1Dfetch<float>(t, n[0]); o[k++] = tex1D<float>(t, x); o[k++] = tex2D<float>(t, x, y); o[k++] = tex3D<float>(t, x, y, z);
    o[k++] = tex1DLod<float>(t, x, y); o[k++] = tex2DLod<float>(t, x, y, z); o[k++] = tex3DLod<float>(t, x, y, z, 1.0f);
    o[k++] = tex2DGrad<float>(t, x, y, make_float2(1, 2), make_float2(3, 4));
    o[k++] = tex1DLayered<float>(t, x, 3); o[k++] = tex2DLayered<float>(t, x, y, 3);
    o[k++] = texCubemap<float>(t, x, y, z); o[k++] = texCubemapLayered<float>(t, x, y, z, 2);
    q[0] = tex2D<float4>(t, x, y); q[1] = tex2Dgather<float4>(t, x, y, 1);
    n[1] = tex2D<int4>(t, x, y).w; n[2] = tex2D<uchar2>(t, x, y).y; n[3] = tex1Dfetch<unsigned>(t, 5);
}

extern "C" __global__ void surfaces(float *o, cudaSurfaceObject_t s)
{
    int x = threadIdx.x, y = threadIdx.y;
    float v = surf2Dread<float>(s, x * 4, y); surf2Dwrite(v + 1, s, x * 4, y);
    float4 w = surf3Dread<float4>(s, x * 16, y, 2, cudaBoundaryModeClamp); surf1Dwrite(w, s, x * 16, cudaBoundaryModeZero);
    o[x] = surf2DLayeredread<float>(s, x * 4, y, 3);
}
