// The less usual members of the runtime's families: every call that the other programs do not make.
// Built twice, with the process's default stream and with a thread's own.
#include "check.h"

__constant__ int table[32];
__device__ int counter = 5;

__managed__ int both = 7;

__global__ void sum(int *out) { *out = counter + both; }

struct pair {
    char tag;
    double value;
};

__global__ void add(int *out, pair p) {
    out[threadIdx.x] += table[threadIdx.x] + counter + p.tag + (int)p.value;
}

__global__ void dynamic(int *out) {
    extern __shared__ int shared[];
    shared[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = shared[31 - threadIdx.x];
}

static cudaStream_t stream;

static void planes() {
    int host[6][10], back[6][10], *device;
    size_t pitch;
    for (int i = 0; i < 60; i++) host[i / 10][i % 10] = i;
    OK(cudaMallocPitch(&device, &pitch, sizeof host[0], 6));
    OK(cudaMemcpy2DAsync(device, pitch, host, 40, 40, 6, cudaMemcpyHostToDevice, stream));
    OK(cudaMemset2DAsync(device, pitch, 0x22, 4, 6, stream));
    OK(cudaMemset2D((char *)device + 8, pitch, 0x33, 4, 6));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy2D(back, 40, device, pitch, 40, 6, cudaMemcpyDeviceToHost));
    for (int y = 0; y < 6; y++) {
        CHECK(back[y][0] == 0x22222222 && back[y][1] == 10 * y + 1);
        CHECK(back[y][2] == 0x33333333 && back[y][9] == 10 * y + 9);
    }
    OK(cudaFree(device));
}

static void boxes() {
    int host[2][3][4], back[2][3][4];
    for (int i = 0; i < 24; i++) ((int *)host)[i] = i;
    cudaExtent extent = make_cudaExtent(16, 3, 2);
    cudaPitchedPtr one, other;
    OK(cudaMalloc3D(&one, extent));
    OK(cudaMalloc3D(&other, extent));
    cudaMemcpy3DParms in = {};
    in.srcPtr = make_cudaPitchedPtr(host, 16, 4, 3);
    in.dstPtr = one;
    in.extent = extent;
    in.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3DAsync(&in, stream));
    cudaMemcpy3DPeerParms across = {};
    across.srcPtr = one;
    across.dstPtr = other;
    across.extent = extent;
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy3DPeer(&across));
    OK(cudaMemset3D(one, 0, extent));
    OK(cudaMemset3DAsync(one, 1, make_cudaExtent(4, 1, 1), stream));
    across.dstPtr = one;
    across.srcPtr = other;
    across.srcPos.z = across.dstPos.z = 1;
    across.extent.depth = 1;
    OK(cudaMemcpy3DPeerAsync(&across, stream));
    OK(cudaStreamSynchronize(stream));
    cudaMemcpy3DParms out = {};
    out.srcPtr = one;
    out.dstPtr = make_cudaPitchedPtr(back, 16, 4, 3);
    out.extent = extent;
    out.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&out));
    CHECK(back[0][0][0] == 0x01010101 && back[0][0][1] == 0 && back[0][2][3] == 0);
    for (int i = 12; i < 24; i++) CHECK(((int *)back)[i] == i);
    across.dstDevice = 1;
    GIVES(cudaErrorInvalidDevice, cudaMemcpy3DPeer(&across));
    (void)cudaGetLastError();
    OK(cudaFree(one.ptr));
    OK(cudaFree(other.ptr));
}

// Arrays of 5 and of 7 numbers a row: what is copied by bytes goes on in the next row of each.
static void arrays() {
    int host[35], back[35];
    for (int i = 0; i < 35; i++) host[i] = i;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>(), known;
    cudaArray_t five, seven;
    OK(cudaMallocArray(&five, &format, 5, 7));
    OK(cudaMallocArray(&seven, &format, 7, 5));
    OK(cudaGetChannelDesc(&known, seven));
    CHECK(known.x == 32 && known.y == 0 && known.f == cudaChannelFormatKindSigned);
    OK(cudaMemcpyToArray(five, 0, 0, host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaMemcpyArrayToArray(seven, 0, 0, five, 0, 0, sizeof host, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyFromArray(back, seven, 0, 0, sizeof back, cudaMemcpyDeviceToHost));
    CHECK(!memcmp(host, back, sizeof back));
    // From the third number of a row on, and over the end of the next.
    OK(cudaMemcpyArrayToArray(seven, 4, 1, five, 8, 0, 40));
    OK(cudaMemcpyFromArray(back, seven, 0, 0, sizeof back, cudaMemcpyDeviceToHost));
    CHECK(back[7] == 7 && back[8] == 2 && back[17] == 11 && back[18] == 18);
    GIVES(cudaErrorInvalidValue, cudaMemcpyArrayToArray(seven, 0, 4, five, 0, 0, 40));
    (void)cudaGetLastError();
    OK(cudaMemcpyToArrayAsync(seven, 0, 1, host, 28, cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpyFromArrayAsync(back, seven, 4, 0, 32, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(back[0] == 1 && back[5] == 6 && back[6] == 0 && back[7] == 1);

    OK(cudaMemcpy2DToArrayAsync(five, 4, 1, host, 12, 12, 3, cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpy2DFromArrayAsync(back, 20, five, 0, 0, 20, 4, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(back[5] == 5 && back[6] == 0 && back[8] == 2 && back[9] == 9 && back[16] == 6);
    OK(cudaMemcpy2DToArray(five, 0, 0, host, 20, 20, 7, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DArrayToArray(seven, 8, 2, five, 4, 1, 16, 3));
    OK(cudaMemcpy2DFromArray(back, 28, seven, 0, 2, 28, 3, cudaMemcpyDeviceToHost));
    CHECK(back[2] == 6 && back[5] == 9 && back[9] == 11 && back[19] == 19);
    GIVES(cudaErrorInvalidValue, cudaMemcpy2DArrayToArray(seven, 8, 2, five, 8, 1, 16, 3));
    GIVES(cudaErrorInvalidPitchValue,
          cudaMemcpy2DToArray(five, 0, 0, host, 16, 20, 7, cudaMemcpyHostToDevice));
    (void)cudaGetLastError();
    OK(cudaFreeArray(five));
    OK(cudaFreeArray(seven));
}

static void symbols() {
    int values[32], got[32];
    for (int i = 0; i < 32; i++) values[i] = 3 * i;
    OK(cudaMemcpyToSymbolAsync(table, values, sizeof values, 0, cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpyFromSymbolAsync(got, table, 64, 64, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(got[0] == 48 && got[15] == 93);
    int six = 6;
    OK(cudaMemcpyToSymbol(counter, &six, sizeof six));
    OK(cudaMemcpyFromSymbol(&got[1], counter, sizeof six));
    CHECK(got[1] == 6);
    GIVES(cudaErrorInvalidMemcpyDirection,
          cudaMemcpyToSymbol(counter, &six, 4, 0, cudaMemcpyDeviceToHost));
    GIVES(cudaErrorInvalidMemcpyDirection,
          cudaMemcpyFromSymbol(&six, counter, 4, 0, cudaMemcpyHostToHost));
    (void)cudaGetLastError();
}

static void ordered() {
    int host[32], back[32], *device, *other;
    for (int i = 0; i < 32; i++) host[i] = i;
    OK(cudaMallocAsync((void **)&device, sizeof host, stream));
    OK(cudaMalloc(&other, sizeof host));
    OK(cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, stream));
    OK(cudaMemsetAsync(device, 0, 8, stream));
    OK(cudaMemcpyPeerAsync(other, 0, device, 0, sizeof host, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemset(device, 0xff, sizeof host));
    OK(cudaMemcpy(back, other, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(back[1] == 0 && back[2] == 2 && back[31] == 31);
    OK(cudaMemcpyPeer(other, 0, device, 0, 8));
    OK(cudaMemcpy(back, other, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(back[1] == -1 && back[2] == 2);
    GIVES(cudaErrorInvalidDevice, cudaMemcpyPeer(other, 1, device, 0, 8));
    GIVES(cudaErrorInvalidResourceHandle, cudaFreeAsync(device, (cudaStream_t)host));
    (void)cudaGetLastError();
    OK(cudaFreeAsync(device, stream));
    OK(cudaFree(other));
}

static void wishes() {
    char *managed, *mapped;
    OK(cudaMallocManaged((void **)&managed, 10000));
    cudaMemLocation where = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemAdvise(managed, 10000, cudaMemAdviseSetReadMostly, where));
    OK(cudaMemPrefetchAsync(managed, 10000, where, 0, stream));
    int value = 9, values[2] = {9, 9};
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributePreferredLocation, managed, 100));
    CHECK(value == cudaInvalidDeviceId);
    OK(cudaMemRangeGetAttribute(values, 8, cudaMemRangeAttributeAccessedBy, managed, 100));
    CHECK(values[0] == cudaInvalidDeviceId && values[1] == cudaInvalidDeviceId);
    OK(cudaStreamAttachMemAsync(stream, managed, 0, cudaMemAttachGlobal));
    GIVES(cudaErrorInvalidValue, cudaMemPrefetchAsync(managed, 20000, where, 0, stream));
    GIVES(cudaErrorInvalidValue, cudaMallocManaged((void **)&managed, 100, 8));
    GIVES(cudaErrorInvalidValue, cudaHostAlloc((void **)&mapped, 100, 64));
    GIVES(cudaErrorInvalidValue, cudaMalloc((void **)0, 100));
    (void)cudaGetLastError();
    unsigned flags = 9;
    OK(cudaHostAlloc((void **)&mapped, 100, cudaHostAllocMapped | cudaHostAllocPortable));
    OK(cudaHostGetFlags(&flags, mapped));
    CHECK(flags == (cudaHostAllocMapped | cudaHostAllocPortable));
    GIVES(cudaErrorInvalidValue, cudaHostGetFlags(&flags, managed));
    (void)cudaGetLastError();
    OK(cudaFreeHost(mapped));
    OK(cudaFree(managed));
}

static void streams() {
    cudaStream_t high;
    cudaEvent_t event;
    int least = 9, greatest = 9, value = 9;
    unsigned flags = 9;
    unsigned long long id = 0, another = 0;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(least >= greatest);
    OK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
    OK(cudaStreamGetPriority(high, &value));
    CHECK(value == greatest);
    OK(cudaStreamGetFlags(high, &flags));
    CHECK(flags == cudaStreamNonBlocking);
    OK(cudaStreamGetDevice(high, &value));
    CHECK(value == 0);
    OK(cudaStreamGetId(high, &id));
    OK(cudaStreamGetId(stream, &another));
    CHECK(id != another);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    OK(cudaStreamIsCapturing(high, &status));
    CHECK(status == cudaStreamCaptureStatusNone);
    status = cudaStreamCaptureStatusActive;
    OK(cudaStreamGetCaptureInfo(high, &status));
    CHECK(status == cudaStreamCaptureStatusNone);
    OK(cudaEventCreate(&event));
    OK(cudaEventRecord(event, high));
    OK(cudaStreamWaitEvent(stream, event, 0));
    OK(cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault));
    OK(cudaEventSynchronize(event));
    OK(cudaStreamQuery(high));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(high));
}

__global__ void spin(int *out, int turns) {
    int sum = 0;
    for (int i = 0; i < turns; i++) sum = sum * 3 + out[threadIdx.x];
    out[threadIdx.x] = sum;
}

// The process's default stream waits for others, a thread's own does not.
static void overlap() {
    cudaEvent_t events[4];
    float alone = 0, both = 0;
    int *device;
    OK(cudaMalloc((void **)&device, 256));
    for (int i = 0; i < 4; i++) OK(cudaEventCreate(&events[i]));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 2; i++) {
        OK(cudaEventRecord(events[2 * i], stream));
        spin<<<1, 32, 0, stream>>>(device, 1000);
        if (i) spin<<<1, 32>>>(device + 32, 1000);
        OK(cudaEventRecord(events[2 * i + 1], i ? 0 : stream));
        OK(cudaDeviceSynchronize());
    }
    OK(cudaEventElapsedTime(&alone, events[0], events[1]));
    OK(cudaEventElapsedTime(&both, events[2], events[3]));
    printf("overlap: %s\n", both < 1.5f * alone ? "yes" : "no");
    // Either of the two by its name.
    OK(cudaMemsetAsync(device, 1, 128, cudaStreamPerThread));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    OK(cudaMemsetAsync(device, 2, 64, cudaStreamLegacy));
    int got[32];
    OK(cudaMemcpyAsync(got, device, 128, cudaMemcpyDeviceToHost, cudaStreamLegacy));
    OK(cudaStreamSynchronize(cudaStreamLegacy));
    CHECK(got[0] == 0x02020202 && got[31] == 0x01010101);
    OK(cudaFree(device));
}

static void CUDART_CB asks(void *data) {
    *(int *)data = cudaFree(0);
}

static void CUDART_CB told(cudaStream_t, cudaError_t status, void *data) {
    *(int *)data = status == cudaSuccess ? 100 + cudaDeviceSynchronize() : -1;
}

static void launches() {
    int host[32] = {}, *device, code = 0;
    OK(cudaMalloc(&device, sizeof host));
    OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    pair p = {1, 2.5};
    void *arguments[] = {&device, &p};
    cudaLaunchAttribute attribute[1] = {};
    attribute[0].id = cudaLaunchAttributeCooperative;
    attribute[0].val.cooperative = 1;
    cudaLaunchConfig_t how = {};
    how.gridDim = dim3(1);
    how.blockDim = dim3(32);
    how.stream = stream;
    how.attrs = attribute;
    how.numAttrs = 1;
    OK(cudaLaunchKernelExC(&how, (void *)add, arguments));
    OK(cudaLaunchKernel((void *)add, dim3(1), dim3(32), arguments, 0, stream));
    OK(cudaLaunchCooperativeKernel((void *)add, dim3(1), dim3(32), arguments, 0, stream));
    add<<<1, 32, 0, stream>>>(device, p);
    // Functions of the host must not call the runtime, and leave no error behind.
    OK(cudaLaunchHostFunc(stream, asks, &code));
    OK(cudaStreamSynchronize(stream));
    CHECK(code == 800);
    OK(cudaStreamAddCallback(stream, told, &code, 0));
    OK(cudaStreamSynchronize(stream));
    CHECK(code == 900);
    OK(cudaGetLastError());
    GIVES(cudaErrorInvalidValue, cudaLaunchHostFunc(stream, 0, 0));
    (void)cudaGetLastError();
    OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 4 * (6 + 1 + 2) && host[31] == 4 * (93 + 9));
    how.attrs[0].id = cudaLaunchAttributeClusterDimension;
    how.attrs[0].val.clusterDim.x = 2;
    how.attrs[0].val.clusterDim.y = how.attrs[0].val.clusterDim.z = 1;
    GIVES(cudaErrorNotSupported, cudaLaunchKernelExC(&how, (void *)add, arguments));
    (void)cudaGetLastError();
    OK(cudaFree(device));
}

static void functions() {
    size_t count = 0, offset = 0, size = 0;
    const char *name = 0;
    OK(cudaFuncGetParamCount((void *)add, &count));
    CHECK(count == 2);
    OK(cudaFuncGetParamInfo((void *)add, 1, &offset, &size));
    CHECK(offset == 8 && size == sizeof(pair));
    GIVES(cudaErrorInvalidValue, cudaFuncGetParamInfo((void *)add, 2, &offset, &size));
    OK(cudaFuncGetName(&name, (void *)add));
    CHECK(!strcmp(name, "_Z3addPi4pair"));
    GIVES(cudaErrorInvalidDeviceFunction, cudaFuncGetName(&name, (void *)end));
    (void)cudaGetLastError();
    cudaFunction_t function;
    cudaKernel_t kernel;
    OK(cudaGetFuncBySymbol(&function, (void *)add));
    OK(cudaGetKernel(&kernel, (void *)add));
    OK(cudaFuncSetSharedMemConfig((void *)add, cudaSharedMemBankSizeEightByte));
    cudaFuncAttributes known;
    OK(cudaFuncGetAttributes(&known, (void *)add));
    CHECK(known.constSizeBytes == sizeof table);
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&size, (void *)dynamic, 2, 32));
    int one = 0, two = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&one, (const void *)dynamic, 32, size));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&two, dynamic, 32, size, 0));
    CHECK(size > 0 && one >= 2 && one == two);
    // As far as one function goes, the program may choose.
    OK(cudaFuncSetAttribute((void *)dynamic, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    GIVES(cudaErrorInvalidValue,
          cudaFuncSetAttribute((void *)dynamic, (cudaFuncAttribute)99, 50));
    (void)cudaGetLastError();
}

static void device() {
    int value = 9;
    unsigned flags = 0;
    cudaDeviceProp wanted = {};
    size_t width = 0;
    cudaFuncCache cache = cudaFuncCachePreferL1;
    cudaSharedMemConfig banks = cudaSharedMemBankSizeEightByte;
    OK(cudaInitDevice(0, 0, 0));
    OK(cudaChooseDevice(&value, &wanted));
    CHECK(value == 0);
    OK(cudaSetValidDevices(&value, 1));
    OK(cudaSetDeviceFlags(cudaDeviceScheduleYield | cudaDeviceMapHost));
    OK(cudaGetDeviceFlags(&flags));
    CHECK(flags == (cudaDeviceScheduleYield | cudaDeviceMapHost));
    GIVES(cudaErrorInvalidValue, cudaSetDeviceFlags(1 << 20));
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferShared));
    OK(cudaDeviceGetCacheConfig(&cache));
    CHECK(cache == cudaFuncCachePreferNone);
    OK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeFourByte));
    OK(cudaDeviceGetSharedMemConfig(&banks));
    CHECK(banks == cudaSharedMemBankSizeDefault);
    OK(cudaCtxResetPersistingL2Cache());
    OK(cudaDeviceCanAccessPeer(&value, 0, 0));
    CHECK(value == 0);
    GIVES(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&value, 0, 1));
    GIVES(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(1, 0));
    GIVES(cudaErrorInvalidDevice, cudaDeviceDisablePeerAccess(1));
    GIVES(cudaErrorInvalidDevice,
          cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1));
    (void)cudaGetLastError();
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    OK(cudaDeviceGetTexture1DLinearMaxWidth(&width, &format, 0));
    CHECK(width >= 1 << 27);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSurface2DWidth, 0));
    cudaDeviceProp is;
    OK(cudaGetDeviceProperties(&is, 0));
    CHECK(value == is.maxSurface2D[0] && value > 0 && is.maxSurfaceCubemapLayered[1] > 0);
}

static void textures() {
    cudaResourceDesc what = {};
    cudaTextureDesc how = {}, same;
    cudaTextureObject_t texture;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    OK(cudaMallocArray(&array, &format, 8, 8));
    what.resType = cudaResourceTypeArray;
    what.res.array.array = array;
    how.addressMode[0] = cudaAddressModeMirror;
    how.filterMode = cudaFilterModeLinear;
    how.normalizedCoords = 1;
    how.maxAnisotropy = 4;
    how.mipmapLevelBias = 0.5f;
    how.seamlessCubemap = 1;
    OK(cudaCreateTextureObject(&texture, &what, &how, 0));
    memset(&same, 0xee, sizeof same);
    OK(cudaGetTextureObjectTextureDesc(&same, texture));
    CHECK(!memcmp(&how, &same, sizeof how));
    cudaResourceViewDesc view;
    GIVES(cudaErrorInvalidValue, cudaGetTextureObjectResourceViewDesc(&view, texture));
    GIVES(cudaErrorInvalidValue, cudaGetTextureObjectTextureDesc(&same, texture + 1));
    (void)cudaGetLastError();
    // What no texture is, and what is none here.
    cudaChannelFormatDesc whole = cudaCreateChannelDesc<int>();
    OK(cudaMallocArray(&what.res.array.array, &whole, 8, 8));
    GIVES(cudaErrorInvalidFilterSetting, cudaCreateTextureObject(&texture, &what, &how, 0));
    how.readMode = cudaReadModeNormalizedFloat;
    GIVES(cudaErrorInvalidNormSetting, cudaCreateTextureObject(&texture, &what, &how, 0));
    how.sRGB = 1;
    GIVES(cudaErrorNotSupported, cudaCreateTextureObject(&texture, &what, &how, 0));
    (void)cudaGetLastError();
}

// A variable of both sides is one by its name, too; a reset gives all variables their first values.
static void modules() {
    int *address, *out, got = 0, nine = 9;
    cudaPointerAttributes known;
    CHECK(both == 7);
    OK(cudaMemcpyToSymbol(both, &nine, sizeof nine));
    CHECK(both == 9);
    OK(cudaGetSymbolAddress((void **)&address, both));
    CHECK(address == &both);
    OK(cudaPointerGetAttributes(&known, address));
    CHECK(known.type == cudaMemoryTypeManaged);
    size_t before, left, all;
    OK(cudaMemGetInfo(&before, &all));
    OK(cudaMalloc((void **)&out, 1 << 20));
    sum<<<1, 1>>>(out);
    OK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got == 6 + 9);
    OK(cudaDeviceReset());
    CHECK(both == 7);
    OK(cudaMemGetInfo(&left, &all));
    CHECK(left >= before);
    OK(cudaMalloc((void **)&out, 4));
    sum<<<1, 1>>>(out);
    OK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got == 5 + 7);
}

int main() {
    device();
    OK(cudaStreamCreate(&stream));
    planes();
    boxes();
    arrays();
    symbols();
    ordered();
    wishes();
    streams();
    overlap();
    launches();
    functions();
    textures();
    OK(cudaStreamDestroy(stream));
    modules();
    OK(cudaGetLastError());
    return end();
}
