// Calls of releases 11 and 12 that release 13 does not have.
#include "check.h"

// Names that programs ask for which their headers put in the place of others, or that are in headers
// of their own.
#if CUDART_VERSION < 12000
extern "C" cudaError_t cudaProfilerInitialize(const char *, const char *, int);

texture<float, 1, cudaReadModeElementType> line;

__global__ void read_line(float *out) { out[threadIdx.x] = 2 * tex1Dfetch(line, threadIdx.x); }
#else
extern "C" cudaError_t cudaEventElapsedTime_v2(float *, cudaEvent_t, cudaEvent_t);
extern "C" cudaError_t cudaMemPrefetchAsync_v2_ptsz(const void *, size_t, cudaMemLocation, unsigned,
                                                    cudaStream_t);
extern "C" cudaError_t cudaStreamGetCaptureInfo_v3_ptsz(cudaStream_t, cudaStreamCaptureStatus *);
extern "C" cudaError_t cudaStreamUpdateCaptureDependencies_v2_ptsz(cudaStream_t, cudaGraphNode_t *,
                                                                   const cudaGraphEdgeData *, size_t,
                                                                   unsigned);
#endif

extern "C" cudaError_t cudaStreamGetCaptureInfo_v2_ptsz(cudaStream_t, cudaStreamCaptureStatus *);
extern "C" cudaError_t cudaMemPrefetchAsync_ptsz(const void *, size_t, int, cudaStream_t);

__global__ void set(int *out) { out[threadIdx.x] = threadIdx.x; }

static void threads() {
    size_t bytes = 0;
    cudaFuncCache cache = cudaFuncCachePreferL1;
    double number = 1.5;
    OK(cudaThreadSetLimit(cudaLimitPrintfFifoSize, 4096));
    OK(cudaThreadGetLimit(&bytes, cudaLimitPrintfFifoSize));
    CHECK(bytes == 4096);
    OK(cudaThreadSetCacheConfig(cudaFuncCachePreferShared));
    OK(cudaThreadGetCacheConfig(&cache));
    CHECK(cache == cudaFuncCachePreferNone);
    OK(cudaSetDoubleForDevice(&number));
    OK(cudaSetDoubleForHost(&number));
    CHECK(number == 1.5);
    OK(cudaThreadSynchronize());
}

static void managed() {
    int *memory, value = 9;
    OK(cudaMallocManaged((void **)&memory, 128));
    OK(cudaMemAdvise(memory, 128, cudaMemAdviseSetReadMostly, 0));
    OK(cudaMemPrefetchAsync(memory, 128, 0, 0));
    OK(cudaMemPrefetchAsync_ptsz(memory, 128, 0, 0));
#if CUDART_VERSION >= 12000
    cudaMemLocation where = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemAdvise_v2(memory, 128, cudaMemAdviseSetReadMostly, where));
    OK(cudaMemPrefetchAsync_v2(memory, 128, where, 0, 0));
    OK(cudaMemPrefetchAsync_v2_ptsz(memory, 128, where, 0, 0));
#endif
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, memory, 128));
    CHECK(value == 0);
    set<<<1, 32>>>(memory);
    OK(cudaDeviceSynchronize());
    CHECK(memory[31] == 31);
    OK(cudaFree(memory));
}

static void capture() {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    OK(cudaStreamGetCaptureInfo_v2(0, &status, 0));
    CHECK(status == cudaStreamCaptureStatusNone);
    OK(cudaStreamGetCaptureInfo_v2_ptsz(0, &status));
#if CUDART_VERSION >= 12000
    OK(cudaStreamGetCaptureInfo_v3(0, &status));
    OK(cudaStreamGetCaptureInfo_v3_ptsz(0, &status));
    cudaEvent_t one, two;
    float time = -1;
    OK(cudaEventCreate(&one));
    OK(cudaEventCreate(&two));
    OK(cudaEventRecord(one));
    OK(cudaEventRecord(two));
    OK(cudaEventElapsedTime_v2(&time, one, two));
    CHECK(time >= 0);
#endif
}

__global__ void add(int *out, int value) { out[threadIdx.x] += value; }

// Graphs, with the arguments that these releases have.
static void graphs() {
    cudaStream_t stream;
    cudaGraph_t graph, under_way;
    cudaGraphNode_t one, two, three, both[2], others[2];
    const cudaGraphNode_t *before;
    cudaGraphExec_t ready;
    cudaStreamCaptureStatus status;
    unsigned long long id;
    size_t count;
    int *device, host = 0;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&device, 128));
    OK(cudaMemset(device, 0, 128));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<1, 1, 0, stream>>>(device, 3);
    OK(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &under_way, &before, &count));
    CHECK(status == cudaStreamCaptureStatusActive && count == 1);
    one = before[0];
    OK(cudaStreamUpdateCaptureDependencies(stream, 0, 0, cudaStreamSetCaptureDependencies));
#if CUDART_VERSION >= 12000
    const cudaGraphEdgeData *data = (const cudaGraphEdgeData *)1;
    OK(cudaStreamUpdateCaptureDependencies_v2(stream, &one, 0, 1, cudaStreamSetCaptureDependencies));
    OK(cudaStreamUpdateCaptureDependencies_v2_ptsz(stream, &one, 0, 1,
                                                   cudaStreamSetCaptureDependencies));
    OK(cudaStreamGetCaptureInfo_v3(stream, &status, &id, &under_way, &before, &data, &count));
    CHECK(count == 1 && before[0] == one && data == 0);
#endif
    OK(cudaStreamEndCapture(stream, &graph));
    CHECK(graph == under_way);
    OK(cudaGraphAddEmptyNode(&two, graph, 0, 0));
    OK(cudaGraphAddDependencies(graph, &one, &two, 1));
    count = 2;
    OK(cudaGraphGetEdges(graph, both, others, &count));
    CHECK(count == 1 && both[0] == one && others[0] == two);
    OK(cudaGraphNodeGetDependencies(two, both, &count));
    CHECK(count == 1 && both[0] == one);
    OK(cudaGraphNodeGetDependentNodes(one, both, &count));
    CHECK(count == 1 && both[0] == two);
    OK(cudaGraphRemoveDependencies(graph, &one, &two, 1));
    OK(cudaGraphGetEdges(graph, 0, 0, &count));
    CHECK(count == 0);
#if CUDART_VERSION >= 12000
    cudaGraphNodeParams any = {};
    any.type = cudaGraphNodeTypeEmpty;
    OK(cudaGraphAddNode(&three, graph, &one, 1, &any));
    OK(cudaGraphDestroyNode(three));
    OK(cudaGraphAddNode_v2(&three, graph, &one, 0, 1, &any));
    OK(cudaGraphAddDependencies_v2(graph, &one, &two, 0, 1));
    OK(cudaGraphGetEdges_v2(graph, 0, 0, 0, &count));
    CHECK(count == 2);
    count = 2;
    OK(cudaGraphNodeGetDependencies_v2(two, both, 0, &count));
    CHECK(count == 1 && both[0] == one);
    count = 2;
    OK(cudaGraphNodeGetDependentNodes_v2(one, both, 0, &count));
    CHECK(count == 2 && both[1] == three);
    OK(cudaGraphRemoveDependencies_v2(graph, &one, &two, 0, 1));
    OK(cudaGraphInstantiate(&ready, graph, 0));
    cudaGraphExecUpdateResultInfo update;
    OK(cudaGraphExecUpdate(ready, graph, &update));
    CHECK(update.result == cudaGraphExecUpdateSuccess);
#else
    three = (cudaGraphNode_t)1;
    OK(cudaGraphInstantiate(&ready, graph, &three, 0, 0));
    CHECK(three == 0);
    cudaGraphExecUpdateResult update = cudaGraphExecUpdateError;
    OK(cudaGraphExecUpdate(ready, graph, &three, &update));
    CHECK(update == cudaGraphExecUpdateSuccess);
#endif
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaMemcpyAsync(&host, device, 4, cudaMemcpyDeviceToHost, stream));
    CHECK(host == 3);  // The copy has come to memory that is not pinned.
    void *function = &function;
    OK(cudaGetDriverEntryPoint("cuNothing", &function, cudaEnableDefault));
    CHECK(function == 0);
    OK(cudaGetDriverEntryPoint("cuMemAlloc", &function, cudaEnableDefault));
    unsigned long long address = 0;
    CHECK(function && ((int (*)(unsigned long long *, size_t))function)(&address, 4) == 0 && address);
}

#if CUDART_VERSION < 12000
static void textures() {
    float host[32], got[32], *device, *out;
    for (int i = 0; i < 32; i++) host[i] = i;
    OK(cudaMalloc((void **)&device, sizeof host));
    OK(cudaMalloc((void **)&out, sizeof host));
    OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    size_t offset = 9;
    OK(cudaBindTexture(&offset, &line, device, &format, sizeof host));
    OK(cudaGetTextureAlignmentOffset(&offset, &line));
    CHECK(offset == 0);

    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeLinear;
    what.res.linear.devPtr = device;
    what.res.linear.desc = format;
    what.res.linear.sizeInBytes = sizeof host;
    cudaTextureDesc how = {}, same[2];
    cudaTextureDesc_v2 newer = {}, read[2];
    how.mipmapLevelBias = 2;
    newer.maxAnisotropy = 3;
    newer.seamlessCubemap = 1;
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &what, &how, 0));
    memset(same, 0xee, sizeof same);
    OK(cudaGetTextureObjectTextureDesc(same, texture));
    CHECK(!memcmp(same, &how, sizeof how) && *(unsigned char *)&same[1] == 0xee);
    OK(cudaCreateTextureObject_v2(&texture, &what, &newer, 0));
    memset(read, 0xee, sizeof read);
    OK(cudaGetTextureObjectTextureDesc_v2(read, texture));
    CHECK(!memcmp(read, &newer, sizeof newer) && *(unsigned char *)&read[1] == 0xee);
    OK(cudaDestroyTextureObject(texture));
    read_line<<<1, 32>>>(out);
    OK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got[0] == 0 && got[31] == 62);
    OK(cudaProfilerInitialize("a", "b", 1));
}
#endif

int main() {
    threads();
    managed();
    capture();
    graphs();
#if CUDART_VERSION < 12000
    textures();
#endif
    OK(cudaThreadExit());
    OK(cudaGetLastError());
    return end();
}
