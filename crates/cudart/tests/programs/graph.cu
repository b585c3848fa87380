// Stream capture and graphs: what comes of them, how they are changed, and what CUDA does not
// permit. Built twice, with the process's default stream and with a thread's own.
#include "check.h"
#include <pthread.h>

__global__ void add(int *data, int value) { data[threadIdx.x] += value; }
__global__ void times(int *data, int value) { data[threadIdx.x] *= value; }
__global__ void sum(int *out, const int *a, const int *b) {
    out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
__global__ void spin(int *out, int turns) {
    int value = out[threadIdx.x];
    for (int i = 0; i < turns; i++) value = value * 3 + 1;
    out[threadIdx.x] = value;
}

// No header puts it in the other's place.
extern "C" cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t, cudaStream_t);

__device__ int symbol[32];

static cudaStream_t stream, other;
static int *device, *second, host[32], got[32];
static const size_t bytes = sizeof host;

static int first_of(int *from) {
    OK(cudaMemcpy(got, from, bytes, cudaMemcpyDeviceToHost));
    for (int i = 1; i < 32; i++) CHECK(got[i] == got[0]);
    return got[0];
}

static void set(int *to, int value) {
    for (int i = 0; i < 32; i++) host[i] = value;
    OK(cudaMemcpy(to, host, bytes, cudaMemcpyHostToDevice));
}

static size_t nodes_of(cudaGraph_t graph) {
    size_t count = 99;
    OK(cudaGraphGetNodes(graph, 0, &count));
    return count;
}

static void CUDART_CB note(void *data) { *(int *)data += 1; }

static void CUDART_CB called(cudaStream_t, cudaError_t, void *) {}

// A chain of launches, copies and fills is replayed.
static void chains() {
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    int called = 0;
    cudaStreamCaptureStatus status;
    set(device, 1);
    OK(cudaStreamIsCapturing(stream, &status));
    CHECK(status == cudaStreamCaptureStatusNone);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaStreamIsCapturing(stream, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    add<<<1, 32, 0, stream>>>(device, 2);
    times<<<1, 32, 0, stream>>>(device, 3);
    OK(cudaMemcpyAsync(second, device, bytes, cudaMemcpyDeviceToDevice, stream));
    OK(cudaMemsetAsync(device, 0, 4, stream));
    OK(cudaLaunchHostFunc(stream, note, &called));
    OK(cudaStreamEndCapture(stream, &graph));
    CHECK(called == 0 && nodes_of(graph) == 5);
    CHECK(first_of(device) == 1);  // Nothing was done.
    OK(cudaGraphInstantiateWithFlags(&ready, graph, 0));
    OK(cudaGraphUpload(ready, stream));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(called == 1 && first_of(second) == 9);
    OK(cudaMemcpy(got, device, bytes, cudaMemcpyDeviceToHost));
    CHECK(got[0] == 0 && got[1] == 9);
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(got, device, bytes, cudaMemcpyDeviceToHost));
    CHECK(called == 3 && got[0] == 0 && got[31] == ((9 + 2) * 3 + 2) * 3);
    // What was made of it knows the graph no longer.
    OK(cudaGraphDestroy(graph));
    GIVES(cudaErrorInvalidValue, cudaGraphDestroy(graph));
    (void)cudaGetLastError();
    OK(cudaGraphLaunch(ready, 0));
    OK(cudaDeviceSynchronize());
    CHECK(called == 4);
    OK(cudaGraphExecDestroy(ready));
}

// Streams join by events; branches meet again.
static void branches() {
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaEvent_t fork, join;
    OK(cudaEventCreate(&fork));
    OK(cudaEventCreate(&join));
    set(device, 1);
    set(second, 1);
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    add<<<1, 32, 0, stream>>>(device, 1);
    OK(cudaEventRecord(fork, stream));
    OK(cudaStreamWaitEvent(other, fork, 0));
    cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(other, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    times<<<1, 32, 0, stream>>>(device, 5);
    add<<<1, 32, 0, other>>>(second, 6);
    OK(cudaEventRecord(join, other));
    OK(cudaStreamWaitEvent(stream, join, 0));
    // It has joined: what was asked of it stays.
    OK(cudaStreamDestroy(other));
    OK(cudaStreamCreate(&other));
    unsigned long long id = 0;
    cudaGraph_t under_way;
    const cudaGraphNode_t *before;
    size_t count;
    OK(cudaStreamGetCaptureInfo(stream, &status, &id, &under_way, &before, 0, &count));
    CHECK(status == cudaStreamCaptureStatusActive && id != 0 && count == 2);
    CHECK(nodes_of(under_way) == 3);
    sum<<<1, 32, 0, stream>>>(device, device, second);
    OK(cudaStreamEndCapture(stream, &graph));
    CHECK(graph == under_way);
    size_t roots = 0, edges = 0;
    OK(cudaGraphGetRootNodes(graph, 0, &roots));
    OK(cudaGraphGetEdges(graph, 0, 0, 0, &edges));
    CHECK(roots == 1 && edges == 4 && nodes_of(graph) == 4);
    cudaGraphNode_t from[4], to[4], all[4];
    OK(cudaGraphGetEdges(graph, from, to, 0, &edges));
    size_t four = 4;
    OK(cudaGraphGetNodes(graph, all, &four));
    CHECK(four == 4 && from[0] == all[0] && to[0] == all[1]);
    OK(cudaGraphInstantiate(&ready, graph, 0));
    for (int turn = 0; turn < 3; turn++) {
        set(device, 1);
        set(second, turn);
        OK(cudaGraphLaunch(ready, stream));
        OK(cudaStreamSynchronize(stream));
        CHECK(first_of(device) == 10 + turn + 6);
    }
    // The events were captured: nobody can wait for them.
    GIVES(cudaErrorCapturedEvent, cudaEventQuery(fork));
    GIVES(cudaErrorCapturedEvent, cudaEventSynchronize(join));
    (void)cudaGetLastError();
    OK(cudaEventRecord(fork, stream));
    OK(cudaEventSynchronize(fork));
    OK(cudaGraphExecDestroy(ready));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
}

// Independent branches run at the same time.
static float time_of(int count, bool chained) {
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaEvent_t start, stop;
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&stop));
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t last = 0;
    for (int i = 0; i < count; i++) {
        int turns = 2000, *out = device;
        void *arguments[] = {&out, &turns};
        cudaKernelNodeParams what = {};
        what.func = (void *)spin;
        what.gridDim = what.blockDim = 1;
        what.kernelParams = arguments;
        cudaGraphNode_t node;
        OK(cudaGraphAddKernelNode(&node, graph, &last, chained && last != 0, &what));
        last = node;
    }
    OK(cudaGraphInstantiate(&ready, graph, 0));
    OK(cudaEventRecord(start, stream));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaEventRecord(stop, stream));
    OK(cudaStreamSynchronize(stream));
    float milliseconds = 0;
    OK(cudaEventElapsedTime(&milliseconds, start, stop));
    OK(cudaGraphExecDestroy(ready));
    OK(cudaGraphDestroy(graph));
    return milliseconds;
}

// Nodes of every kind, put together by hand.
static void by_hand() {
    cudaGraph_t graph, inner;
    cudaGraphExec_t ready;
    cudaEvent_t event;
    cudaGraphNode_t in, fill, kernel, child, call, out, record, wait, empty, inner_node;
    int called = 0, value = 7, *where = device;
    OK(cudaEventCreate(&event));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&inner, 0));
    GIVES(cudaErrorInvalidValue, cudaGraphCreate(&inner, 1));
    (void)cudaGetLastError();
    for (int i = 0; i < 32; i++) host[i] = i;
    OK(cudaGraphAddMemcpyNode1D(&in, graph, 0, 0, device, host, bytes, cudaMemcpyHostToDevice));
    cudaMemsetParams fills = {};
    fills.dst = second;
    fills.elementSize = 4;
    fills.value = 0x01020304;
    fills.width = 32;
    fills.height = 1;
    OK(cudaGraphAddMemsetNode(&fill, graph, 0, 0, &fills));
    void *arguments[] = {&where, &value};
    cudaKernelNodeParams what = {};
    what.func = (void *)add;
    what.gridDim = 1;
    what.blockDim = 32;
    what.kernelParams = arguments;
    cudaGraphNode_t both[] = {in, fill};
    OK(cudaGraphAddKernelNode(&kernel, graph, both, 2, &what));
    // Arguments are those of now.
    value = 1000;
    what.func = (void *)times;
    int three = 3;
    void *others[] = {&where, &three};
    what.kernelParams = others;
    OK(cudaGraphAddKernelNode(&inner_node, inner, 0, 0, &what));
    OK(cudaGraphAddChildGraphNode(&child, graph, &kernel, 1, inner));
    OK(cudaGraphDestroy(inner));
    cudaHostNodeParams hosts = {note, &called};
    OK(cudaGraphAddHostNode(&call, graph, &child, 1, &hosts));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(device, bytes, bytes, 1);
    copy.dstPtr = make_cudaPitchedPtr(got, bytes, bytes, 1);
    copy.extent = make_cudaExtent(bytes, 1, 1);
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaGraphAddMemcpyNode(&out, graph, &call, 1, &copy));
    OK(cudaGraphAddEventRecordNode(&record, graph, &out, 1, event));
    OK(cudaGraphAddEventWaitNode(&wait, graph, 0, 0, event));
    OK(cudaGraphAddEmptyNode(&empty, graph, 0, 0));
    OK(cudaGraphAddDependencies(graph, &record, &empty, 0, 1));
    GIVES(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &record, &empty, 0, 1));
    OK(cudaGraphRemoveDependencies(graph, &record, &empty, 0, 1));
    GIVES(cudaErrorInvalidValue, cudaGraphRemoveDependencies(graph, &record, &empty, 0, 1));
    (void)cudaGetLastError();
    OK(cudaGraphInstantiate(&ready, graph, 0));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < 32; i++) CHECK(got[i] == 3 * (i + 7));
    CHECK(called == 1);
    OK(cudaEventSynchronize(event));
    CHECK(first_of(second) == 0x01020304);

    // What is known of nodes.
    cudaGraphNodeType kind;
    cudaGraphNode_t nodes[] = {kernel, in, fill, call, child, empty, wait, record};
    for (int i = 0; i < 8; i++) {
        OK(cudaGraphNodeGetType(nodes[i], &kind));
        CHECK(kind == i);
    }
    cudaKernelNodeParams known = {};
    OK(cudaGraphKernelNodeGetParams(kernel, &known));
    CHECK(known.func == (void *)add && known.blockDim.x == 32 && known.sharedMemBytes == 0);
    CHECK(*(int **)known.kernelParams[0] == device && *(int *)known.kernelParams[1] == 7);
    cudaMemcpy3DParms copied;
    OK(cudaGraphMemcpyNodeGetParams(out, &copied));
    CHECK(copied.dstPtr.ptr == got && copied.extent.width == bytes);
    CHECK(copied.kind == cudaMemcpyDeviceToHost);
    cudaMemsetParams filled;
    OK(cudaGraphMemsetNodeGetParams(fill, &filled));
    CHECK(filled.dst == second && filled.elementSize == 4 && filled.width == 32);
    cudaHostNodeParams calls;
    OK(cudaGraphHostNodeGetParams(call, &calls));
    CHECK(calls.fn == note && calls.userData == &called);
    cudaEvent_t events[2];
    OK(cudaGraphEventRecordNodeGetEvent(record, &events[0]));
    OK(cudaGraphEventWaitNodeGetEvent(wait, &events[1]));
    CHECK(events[0] == event && events[1] == event);
    GIVES(cudaErrorInvalidValue, cudaGraphEventWaitNodeGetEvent(record, &events[1]));
    (void)cudaGetLastError();
    size_t count = 2;
    OK(cudaGraphNodeGetDependencies(kernel, both, 0, &count));
    CHECK(count == 2 && both[0] == in && both[1] == fill);
    count = 2;
    OK(cudaGraphNodeGetDependentNodes(kernel, both, 0, &count));
    CHECK(count == 1 && both[0] == child && both[1] == 0);
    cudaGraph_t of;
    unsigned int number, first_number;
    unsigned long long tool;
    OK(cudaGraphNodeGetContainingGraph(kernel, &of));
    CHECK(of == graph);
    OK(cudaGraphNodeGetLocalId(kernel, &number));
    CHECK(number == 2);
    OK(cudaGraphNodeGetToolsId(kernel, &tool));
    OK(cudaGraphGetId(graph, &first_number));
    OK(cudaGraphExecGetId(ready, &number));
    CHECK(number != first_number);
    unsigned long long flags = 9;
    OK(cudaGraphExecGetFlags(ready, &flags));
    CHECK(flags == 0);

    // What was made stays as it is; nodes are changed for what is made next.
    what.func = (void *)add;
    int ten = 10, five = 5;
    void *tens[] = {&where, &ten};
    what.kernelParams = tens;
    OK(cudaGraphKernelNodeSetParams(kernel, &what));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(got[0] == 3 * 7);
    cudaGraphExec_t newer;
    OK(cudaGraphInstantiate(&newer, graph, 0));
    OK(cudaGraphLaunch(newer, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(got[0] == 3 * 10);

    // And single steps of what was made.
    void *fives[] = {&where, &five};
    what.kernelParams = fives;
    OK(cudaGraphExecKernelNodeSetParams(ready, kernel, &what));
    fills.value = 3;
    OK(cudaGraphExecMemsetNodeSetParams(ready, fill, &fills));
    int elsewhere = 0;
    hosts.userData = &elsewhere;
    OK(cudaGraphExecHostNodeSetParams(ready, call, &hosts));
    int back[32];
    copy.dstPtr.ptr = back;
    OK(cudaGraphExecMemcpyNodeSetParams(ready, out, &copy));
    OK(cudaGraphExecMemcpyNodeSetParams1D(ready, in, device, host, bytes, cudaMemcpyHostToDevice));
    cudaEvent_t later;
    OK(cudaEventCreate(&later));
    OK(cudaGraphExecEventRecordNodeSetEvent(ready, record, later));
    OK(cudaGraphExecEventWaitNodeSetEvent(ready, wait, later));
    GIVES(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(ready, fill, &what));
    (void)cudaGetLastError();
    OK(cudaGraphCreate(&inner, 0));
    void *fours[] = {&where, &ten};
    what.func = (void *)times;
    what.kernelParams = fours;
    OK(cudaGraphAddKernelNode(&inner_node, inner, 0, 0, &what));
    OK(cudaGraphExecChildGraphNodeSetParams(ready, child, inner));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(back[0] == 50 && elsewhere == 1 && called == 3 && first_of(second) == 3);
    OK(cudaEventSynchronize(later));
    // A step can be left out.
    unsigned int enabled = 9;
    OK(cudaGraphNodeGetEnabled(ready, kernel, &enabled));
    CHECK(enabled == 1);
    OK(cudaGraphNodeSetEnabled(ready, kernel, 0));
    OK(cudaGraphNodeGetEnabled(ready, kernel, &enabled));
    CHECK(enabled == 0);
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(back[1] == 10);
    GIVES(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(ready, call, 0));
    (void)cudaGetLastError();

    // A clone is a graph of its own, and what was made can take over what another has.
    cudaGraph_t clone, embedded;
    cudaGraphNode_t cloned;
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphNodeFindInClone(&cloned, kernel, clone));
    CHECK(cloned != kernel);
    GIVES(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&cloned, kernel, graph));
    (void)cudaGetLastError();
    OK(cudaGraphNodeFindInClone(&cloned, kernel, clone));
    what.func = (void *)add;
    what.kernelParams = fives;
    OK(cudaGraphKernelNodeSetParams(cloned, &what));
    cudaGraphExecUpdateResultInfo update = {};
    OK(cudaGraphExecUpdate(newer, clone, &update));
    CHECK(update.result == cudaGraphExecUpdateSuccess);
    OK(cudaGraphLaunch(newer, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(got[0] == 3 * 5);
    OK(cudaGraphChildGraphNodeGetGraph(child, &embedded));
    CHECK(nodes_of(embedded) == 1);
    GIVES(cudaErrorInvalidValue, cudaGraphDestroy(embedded));
    (void)cudaGetLastError();
    OK(cudaGraphDestroyNode(cloned));
    CHECK(nodes_of(clone) + 1 == nodes_of(graph));
    GIVES(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(newer, clone, &update));
    CHECK(update.result != cudaGraphExecUpdateSuccess);
    (void)cudaGetLastError();

    // Nodes that come after each other in a circle.
    OK(cudaGraphAddDependencies(graph, &out, &in, 0, 1));
    cudaGraphExec_t none;
    GIVES(cudaErrorInvalidValue, cudaGraphInstantiate(&none, graph, 0));
    (void)cudaGetLastError();
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroy(inner));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphExecDestroy(ready));
    OK(cudaGraphExecDestroy(newer));
}

// Other ways to the same nodes.
static void variants() {
    cudaGraph_t graph;
    cudaGraphNode_t to, from, kernel, node;
    OK(cudaGraphCreate(&graph, 0));
    for (int i = 0; i < 32; i++) host[i] = 40 + i;
    OK(cudaGraphAddMemcpyNodeToSymbol(&to, graph, 0, 0, symbol, host, 64, 64,
                                      cudaMemcpyHostToDevice));
    OK(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &to, 1, got, symbol, 64, 64,
                                        cudaMemcpyDeviceToHost));
    cudaGraphExec_t ready;
    cudaGraphInstantiateParams how = {};
    OK(cudaGraphInstantiateWithParams(&ready, graph, &how));
    CHECK(how.result_out == cudaGraphInstantiateSuccess);
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(got[0] == 40 && got[15] == 55);
    OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(ready, to, symbol, host + 1, 64, 0,
                                                cudaMemcpyHostToDevice));
    OK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(ready, from, got, symbol, 64, 0,
                                                  cudaMemcpyDeviceToHost));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(got[0] == 41 && got[15] == 56);
    OK(cudaGraphExecDestroy(ready));
    OK(cudaGraphMemcpyNodeSetParamsToSymbol(to, symbol, host + 2, 64, 0, cudaMemcpyHostToDevice));
    OK(cudaGraphMemcpyNodeSetParamsFromSymbol(from, got, symbol, 64, 0, cudaMemcpyDeviceToHost));
    OK(cudaGraphInstantiate(&ready, graph, 0));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(got[0] == 42);
    OK(cudaGraphMemcpyNodeSetParams1D(from, got, device, 4, cudaMemcpyDeviceToHost));
    cudaMemcpy3DParms copy;
    OK(cudaGraphMemcpyNodeGetParams(from, &copy));
    CHECK(copy.srcPtr.ptr == device && copy.extent.width == 4);
    OK(cudaGraphMemcpyNodeSetParams(from, &copy));
    OK(cudaGraphExecDestroy(ready));

    // Nodes by their kind.
    cudaGraphNodeParams any = {};
    any.type = cudaGraphNodeTypeMemset;
    any.memset.dst = device;
    any.memset.elementSize = 2;
    any.memset.value = 0x0102;
    any.memset.width = 64;
    any.memset.height = 1;
    OK(cudaGraphAddNode(&node, graph, &from, 0, 1, &any));
    int nine = 9, *where = device;
    void *arguments[] = {&where, &nine};
    any = {};
    any.type = cudaGraphNodeTypeKernel;
    any.kernel.func = (void *)add;
    any.kernel.gridDim = 1;
    any.kernel.blockDim = 32;
    any.kernel.kernelParams = arguments;
    OK(cudaGraphAddNode(&kernel, graph, &node, 0, 1, &any));
    any = {};
    OK(cudaGraphNodeGetParams(kernel, &any));
    CHECK(any.type == cudaGraphNodeTypeKernel && *(int *)any.kernel.kernelParams[1] == 9);
    nine = 8;
    any.kernel.kernelParams = arguments;
    OK(cudaGraphNodeSetParams(kernel, &any));
    OK(cudaGraphInstantiate(&ready, graph, 0));
    nine = 1;
    OK(cudaGraphExecNodeSetParams(ready, kernel, &any));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(first_of(device) == 0x01020103);
    // Arguments in one buffer.
    struct {
        int *where;
        int value;
    } packed = {device, 5};
    size_t size = sizeof packed;
    void *extra[] = {(void *)1, &packed, (void *)2, &size, 0};
    cudaKernelNodeParams what = {};
    what.func = (void *)add;
    what.gridDim = 1;
    what.blockDim = 32;
    what.extra = extra;
    OK(cudaGraphExecKernelNodeSetParams(ready, kernel, &what));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(first_of(device) == 0x01020107);
    OK(cudaGraphExecDestroy(ready));

    // Attributes of kernels.
    cudaKernelNodeAttrValue value = {}, told = {};
    value.cooperative = 1;
    OK(cudaGraphKernelNodeSetAttribute(kernel, cudaLaunchAttributeCooperative, &value));
    OK(cudaGraphKernelNodeGetAttribute(kernel, cudaLaunchAttributeCooperative, &told));
    CHECK(told.cooperative == 1);
    cudaGraphNode_t twin;
    OK(cudaGraphAddKernelNode(&twin, graph, 0, 0, &what));
    OK(cudaGraphKernelNodeCopyAttributes(twin, kernel));
    told.cooperative = 0;
    OK(cudaGraphKernelNodeGetAttribute(twin, cudaLaunchAttributeCooperative, &told));
    CHECK(told.cooperative == 1);
    cudaMemsetParams fills;
    OK(cudaGraphMemsetNodeGetParams(node, &fills));
    CHECK(fills.elementSize == 2 && fills.width == 64);
    fills.width = 1;
    OK(cudaGraphMemsetNodeSetParams(node, &fills));
    cudaHostNodeParams hosts = {note, &nine};
    cudaGraphNode_t call, record, wait;
    cudaEvent_t one, two;
    OK(cudaEventCreate(&one));
    OK(cudaEventCreate(&two));
    OK(cudaGraphAddHostNode(&call, graph, 0, 0, &hosts));
    hosts.userData = 0;
    OK(cudaGraphHostNodeSetParams(call, &hosts));
    OK(cudaGraphHostNodeGetParams(call, &hosts));
    CHECK(hosts.userData == 0);
    OK(cudaGraphAddEventRecordNode(&record, graph, 0, 0, one));
    OK(cudaGraphAddEventWaitNode(&wait, graph, 0, 0, one));
    OK(cudaGraphEventRecordNodeSetEvent(record, two));
    OK(cudaGraphEventWaitNodeSetEvent(wait, two));
    OK(cudaGraphDestroy(graph));
}

static void *end_elsewhere(void *) {
    cudaGraph_t graph;
    GIVES(cudaErrorStreamCaptureWrongThread, cudaStreamEndCapture(stream, &graph));
    return 0;
}

static void *allocate_elsewhere(void *mode) {
    cudaStreamCaptureMode own = *(cudaStreamCaptureMode *)mode;
    int *memory;
    OK(cudaThreadExchangeStreamCaptureMode(&own));
    CHECK(own == cudaStreamCaptureModeGlobal);
    OK(cudaMalloc(&memory, 4));
    return 0;
}

static void in_thread(void *(*work)(void *), void *data) {
    pthread_t thread;
    pthread_create(&thread, 0, work, data);
    pthread_join(thread, 0);
}

// What must not be asked while streams capture.
static void refused() {
    cudaGraph_t graph;
    cudaStreamCaptureStatus status;
    cudaStream_t loose;
    cudaEvent_t event, plain;
    int *memory;
    OK(cudaStreamCreateWithFlags(&loose, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    OK(cudaEventCreate(&plain));
    OK(cudaEventRecord(plain, loose));
    GIVES(cudaErrorStreamCaptureUnsupported,
          cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal));
    GIVES(cudaErrorIllegalState, cudaStreamEndCapture(loose, &graph));
    (void)cudaGetLastError();

    // Each of these makes the capture useless.
    for (int which = 0; which < 8; which++) {
        OK(cudaStreamBeginCapture(loose, cudaStreamCaptureModeGlobal));
        add<<<1, 32, 0, loose>>>(device, 1);
        cudaError_t code = cudaErrorStreamCaptureUnsupported;
        if (which == 0) GIVES(code, cudaStreamSynchronize(loose));
        if (which == 1) GIVES(code, cudaStreamQuery(loose));
        if (which == 2) GIVES(code, cudaDeviceSynchronize());
        if (which == 3) GIVES(code, cudaMalloc(&memory, 4));
        if (which == 4) GIVES(code, cudaFree(device));
        if (which == 5) GIVES(code, cudaStreamAddCallback(loose, called, 0, 0));
        if (which == 6) GIVES(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(loose, plain, 0));
        if (which == 7) {
            OK(cudaEventRecord(event, loose));
            GIVES(cudaErrorCapturedEvent, cudaEventSynchronize(event));
        }
        OK(cudaStreamIsCapturing(loose, &status));
        CHECK(status == cudaStreamCaptureStatusInvalidated);
        GIVES(cudaErrorStreamCaptureInvalidated,
              cudaMemsetAsync(device, 0, 4, loose));
        graph = (cudaGraph_t)1;
        GIVES(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(loose, &graph));
        CHECK(graph == 0);
        (void)cudaGetLastError();
        OK(cudaStreamIsCapturing(loose, &status));
        CHECK(status == cudaStreamCaptureStatusNone);
    }

    // The legacy default stream waits for blocking streams.
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    GIVES(cudaErrorStreamCaptureImplicit, cudaMemsetAsync(device, 0, 4, cudaStreamLegacy));
    GIVES(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    (void)cudaGetLastError();

    // What is unsafe depends on modes.
    OK(cudaStreamBeginCapture(loose, cudaStreamCaptureModeRelaxed));
    OK(cudaMalloc(&memory, 4));
    OK(cudaStreamEndCapture(loose, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamBeginCapture(loose, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == cudaStreamCaptureModeGlobal);
    OK(cudaMalloc(&memory, 4));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == cudaStreamCaptureModeRelaxed);
    mode = cudaStreamCaptureModeThreadLocal;
    in_thread(allocate_elsewhere, &mode);
    in_thread([](void *) -> void * {
        int *memory;
        GIVES(cudaErrorStreamCaptureUnsupported, cudaMalloc(&memory, 4));
        return 0;
    }, 0);
    GIVES(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(loose, &graph));
    OK(cudaStreamBeginCapture(loose, cudaStreamCaptureModeThreadLocal));
    mode = cudaStreamCaptureModeGlobal;
    in_thread(allocate_elsewhere, &mode);
    OK(cudaStreamEndCapture(loose, &graph));
    OK(cudaGraphDestroy(graph));

    // A capture ends where it began, with all streams joined.
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    GIVES(cudaErrorIllegalState, cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    in_thread(end_elsewhere, 0);
    add<<<1, 32, 0, stream>>>(device, 1);
    OK(cudaEventRecord(event, stream));
    OK(cudaStreamWaitEvent(other, event, 0));
    add<<<1, 32, 0, other>>>(device, 1);
    GIVES(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(event, stream));
    OK(cudaStreamWaitEvent(other, event, 0));
    GIVES(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(other, &graph));
    GIVES(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    // Two captures cannot become one.
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(event, stream));
    GIVES(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(other, event, 0));
    GIVES(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    GIVES(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(other, &graph));
    (void)cudaGetLastError();
    OK(cudaStreamDestroy(loose));
}

// Captures that go into graphs that are there, and graphs that become nodes.
static void further() {
    cudaGraph_t graph, captured;
    cudaGraphExec_t ready, outer;
    cudaGraphNode_t node;
    cudaEvent_t event;
    set(device, 1);
    OK(cudaEventCreate(&event));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&node, graph, 0, 0));
    OK(cudaStreamBeginCaptureToGraph(stream, graph, &node, 0, 1, cudaStreamCaptureModeRelaxed));
    add<<<1, 32, 0, stream>>>(device, 4);
    OK(cudaStreamUpdateCaptureDependencies(stream, &node, 0, 1, cudaStreamAddCaptureDependencies));
    times<<<1, 32, 0, stream>>>(device, 2);
    OK(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
    OK(cudaStreamEndCapture(stream, &captured));
    CHECK(captured == graph && nodes_of(graph) == 4);
    size_t edges;
    OK(cudaGraphGetEdges(graph, 0, 0, 0, &edges));
    CHECK(edges == 4);
    OK(cudaGraphInstantiate(&ready, graph, 0));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
    OK(cudaStreamEndCapture(stream, &captured));
    CHECK(nodes_of(captured) == 3);
    OK(cudaGraphInstantiate(&outer, captured, 0));
    OK(cudaGraphLaunch_ptsz(outer, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventQuery(event));
    CHECK(first_of(device) == ((1 + 4) * 2 + 4) * 2);
}

// Memory of graphs: made by nodes and by captured calls.
static void memory_nodes() {
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaGraphNode_t make, use, out, end;
    cudaMemAllocNodeParams how = {};
    how.poolProps.allocType = cudaMemAllocationTypePinned;
    how.poolProps.location.type = cudaMemLocationTypeDevice;
    how.bytesize = bytes;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemAllocNode(&make, graph, 0, 0, &how));
    CHECK(how.dptr != 0);
    cudaMemsetParams fills = {};
    fills.dst = how.dptr;
    fills.elementSize = 1;
    fills.value = 6;
    fills.width = bytes;
    fills.height = 1;
    OK(cudaGraphAddMemsetNode(&use, graph, &make, 1, &fills));
    OK(cudaGraphAddMemcpyNode1D(&out, graph, &use, 1, got, how.dptr, bytes, cudaMemcpyDeviceToHost));
    OK(cudaGraphAddMemFreeNode(&end, graph, &out, 1, how.dptr));
    void *gone = 0;
    OK(cudaGraphMemFreeNodeGetParams(end, &gone));
    cudaMemAllocNodeParams told = {};
    OK(cudaGraphMemAllocNodeGetParams(make, &told));
    CHECK(gone == how.dptr && told.dptr == how.dptr && told.bytesize == bytes);
    OK(cudaGraphInstantiate(&ready, graph, 0));
    for (int turn = 0; turn < 2; turn++) {
        got[0] = 0;
        OK(cudaGraphLaunch(ready, stream));
        OK(cudaStreamSynchronize(stream));
        CHECK(got[0] == 0x06060606);
    }
    int *captured;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync(&captured, bytes, stream));
    OK(cudaMemsetAsync(captured, 0, bytes, stream));
    add<<<1, 32, 0, stream>>>(captured, 8);
    OK(cudaMemcpyAsync(got, captured, bytes, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(captured, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    CHECK(nodes_of(graph) == 5);
    OK(cudaGraphInstantiate(&ready, graph, 0));
    OK(cudaGraphLaunch(ready, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(got[31] == 8);
}

// Objects that graphs keep: they are destroyed with the last of their users.
static void user_objects() {
    int first = 0, moved = 0;
    cudaUserObject_t one, other_one;
    cudaGraph_t graph, clone;
    cudaGraphExec_t ready;
    OK(cudaUserObjectCreate(&one, &first, note, 1, cudaUserObjectNoDestructorSync));
    OK(cudaUserObjectRetain(one, 2));
    OK(cudaUserObjectRelease(one, 2));
    GIVES(cudaErrorInvalidValue, cudaUserObjectRelease(one, 2));
    GIVES(cudaErrorInvalidValue, cudaUserObjectCreate(&other_one, &first, note, 1, 0));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphRetainUserObject(graph, one, 2, 0));
    OK(cudaGraphReleaseUserObject(graph, one, 1));
    OK(cudaUserObjectRelease(one, 1));
    CHECK(first == 0);
    OK(cudaGraphReleaseUserObject(graph, one, 1));
    CHECK(first == 1);
    OK(cudaUserObjectCreate(&other_one, &moved, note, 1, cudaUserObjectNoDestructorSync));
    OK(cudaGraphRetainUserObject(graph, other_one, 1, cudaGraphUserObjectMove));
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphInstantiate(&ready, clone, 0));
    OK(cudaGraphDestroy(clone));
    OK(cudaGraphDestroy(graph));
    CHECK(moved == 0);
    OK(cudaGraphExecDestroy(ready));
    CHECK(moved == 1);
    (void)cudaGetLastError();
}

int main() {
    OK(cudaMalloc(&device, bytes));
    OK(cudaMalloc(&second, bytes));
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreate(&other));
    chains();
    branches();
    by_hand();
    variants();
    refused();
    further();
    memory_nodes();
    user_objects();
    float one = time_of(1, false), four = time_of(4, false), chained = time_of(4, true);
    printf("at the same time: %s\n", chained > 3 * one && four < 2 * one ? "yes" : "no");
    return end();
}
