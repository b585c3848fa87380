// Memory pools, attributes of streams, functions of the driver. Built twice, with the process's
// default stream and with a thread's own.
#include "check.h"

__global__ void set(int *out, int value) { out[threadIdx.x] = value; }

static int first_of(int *from) {
    int got[32];
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(got, from, sizeof got, cudaMemcpyDeviceToHost));
    return got[0];
}

static unsigned long long level(cudaMemPool_t pool, cudaMemPoolAttr which) {
    unsigned long long value = ~0ull;
    OK(cudaMemPoolGetAttribute(pool, which, &value));
    return value;
}

// Memory is given again in the order of streams.
static void order(cudaStream_t one, cudaStream_t other) {
    int *a, *b, *c;
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    OK(cudaMallocAsync(&a, 4096, one));
    set<<<1, 32, 0, one>>>(a, 5);
    OK(cudaFreeAsync(a, one));
    OK(cudaMallocAsync(&b, 4096, one));
    CHECK(b == a);  // Behind it in the same stream.
    set<<<1, 32, 0, one>>>(b, 6);
    CHECK(first_of(b) == 6);
    OK(cudaFreeAsync(b, one));
    OK(cudaMallocAsync(&c, 4096, other));
    CHECK(c != b);  // Another stream may run at the same time.
    OK(cudaFreeAsync(c, other));
    OK(cudaEventRecord(event, one));
    OK(cudaStreamWaitEvent(other, event, 0));
    OK(cudaMallocAsync(&a, 4096, other));
    CHECK(a == b || a == c);
    int *d;
    OK(cudaMallocAsync(&d, 4096, other));
    CHECK(d != a && (d == b || d == c));  // Now it comes behind that.
    set<<<1, 32, 0, other>>>(d, 7);
    CHECK(first_of(d) == 7);
    OK(cudaFreeAsync(a, other));
    OK(cudaFreeAsync(d, other));
    GIVES(cudaErrorInvalidValue, cudaFreeAsync(d, other));
    GIVES(cudaErrorInvalidValue, cudaMemsetAsync(d, 0, 4, other));
    (void)cudaGetLastError();
    // Much smaller memory is not taken from it.
    OK(cudaMallocAsync(&a, 1 << 20, one));
    OK(cudaFreeAsync(a, one));
    OK(cudaMallocAsync(&b, 256, one));
    CHECK(b != a);
    OK(cudaFree(b));
    OK(cudaStreamSynchronize(one));
    // Memory that is of no pool, too.
    OK(cudaMalloc(&a, 64));
    OK(cudaFreeAsync(a, one));
    OK(cudaMallocAsync(&a, 0, one));
    CHECK(a == 0);
    OK(cudaFreeAsync(0, one));
}

static void attributes(cudaStream_t stream) {
    cudaMemPool_t standard, current, own;
    OK(cudaDeviceGetDefaultMemPool(&standard, 0));
    OK(cudaDeviceGetMemPool(&current, 0));
    CHECK(standard == current);
    GIVES(cudaErrorInvalidDevice, cudaDeviceGetDefaultMemPool(&standard, 1));
    GIVES(cudaErrorInvalidValue, cudaMemPoolDestroy(standard));
    (void)cudaGetLastError();
    cudaMemPoolProps how = {};
    how.allocType = cudaMemAllocationTypePinned;
    how.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&own, &how));
    how.allocType = cudaMemAllocationTypeInvalid;
    GIVES(cudaErrorInvalidValue, cudaMemPoolCreate(&own, &how));
    (void)cudaGetLastError();
    int reuse = 9;
    OK(cudaMemPoolGetAttribute(own, cudaMemPoolReuseAllowOpportunistic, &reuse));
    CHECK(reuse == 1);
    reuse = 0;
    OK(cudaMemPoolSetAttribute(own, cudaMemPoolReuseAllowOpportunistic, &reuse));
    reuse = 9;
    OK(cudaMemPoolGetAttribute(own, cudaMemPoolReuseAllowOpportunistic, &reuse));
    CHECK(reuse == 0);
    CHECK(level(own, cudaMemPoolAttrReleaseThreshold) == 0);
    unsigned long long most = ~0ull, none = 0;
    OK(cudaMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &most));
    int *memory, *again;
    OK(cudaMallocFromPoolAsync(&memory, 8192, own, stream));
    set<<<1, 32, 0, stream>>>(memory, 8);
    CHECK(level(own, cudaMemPoolAttrUsedMemCurrent) == 8192);
    CHECK(level(own, cudaMemPoolAttrReservedMemCurrent) >= 8192);
    CHECK(level(standard, cudaMemPoolAttrUsedMemCurrent) == 0);
    OK(cudaFreeAsync(memory, stream));
    CHECK(level(own, cudaMemPoolAttrUsedMemCurrent) == 0);
    CHECK(level(own, cudaMemPoolAttrUsedMemHigh) == 8192);
    OK(cudaMemPoolSetAttribute(own, cudaMemPoolAttrUsedMemHigh, &none));
    CHECK(level(own, cudaMemPoolAttrUsedMemHigh) == 0);
    GIVES(cudaErrorInvalidValue, cudaMemPoolSetAttribute(own, cudaMemPoolAttrUsedMemHigh, &most));
    (void)cudaGetLastError();
    // It keeps what it has up to its threshold, until it is trimmed.
    OK(cudaStreamSynchronize(stream));
    CHECK(level(own, cudaMemPoolAttrReservedMemCurrent) >= 8192);
    OK(cudaMallocFromPoolAsync(&again, 8192, own, stream));
    CHECK(again == memory);
    OK(cudaFreeAsync(again, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemPoolTrimTo(own, 0));
    CHECK(level(own, cudaMemPoolAttrReservedMemCurrent) == 0);
    OK(cudaDeviceSetMemPool(0, own));
    OK(cudaDeviceGetMemPool(&current, 0));
    CHECK(current == own);
    OK(cudaMallocAsync(&memory, 512, stream));
    CHECK(level(own, cudaMemPoolAttrUsedMemCurrent) == 512);
    cudaMemAccessDesc access = {};
    access.location = how.location;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    OK(cudaMemPoolSetAccess(own, &access, 1));
    access.flags = cudaMemAccessFlagsProtNone;
    GIVES(cudaErrorInvalidDevice, cudaMemPoolSetAccess(own, &access, 1));
    (void)cudaGetLastError();
    cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    OK(cudaMemPoolGetAccess(&flags, own, &access.location));
    CHECK(flags == cudaMemAccessFlagsProtReadWrite);
    OK(cudaMemGetDefaultMemPool(&current, &access.location, cudaMemAllocationTypePinned));
    CHECK(current == standard);
    OK(cudaMemGetMemPool(&current, &access.location, cudaMemAllocationTypePinned));
    CHECK(current == own);
    OK(cudaMemSetMemPool(&access.location, cudaMemAllocationTypePinned, standard));
    OK(cudaMemPoolDestroy(own));
    set<<<1, 32, 0, stream>>>(memory, 9);
    CHECK(first_of(memory) == 9);
    OK(cudaFreeAsync(memory, stream));
    GIVES(cudaErrorInvalidValue, cudaMallocFromPoolAsync(&memory, 4, own, stream));
    (void)cudaGetLastError();
}

// What waits goes back when memory is short.
static void short_of_memory(cudaStream_t one, cudaStream_t other) {
    size_t free, all;
    int *a, *b;
    OK(cudaDeviceSynchronize());
    OK(cudaMemGetInfo(&free, &all));
    OK(cudaMallocAsync(&a, free - (1 << 20), one));
    OK(cudaFreeAsync(a, one));
    OK(cudaMallocAsync(&b, free - (1 << 20), other));
    GIVES(cudaErrorMemoryAllocation, cudaMallocAsync(&a, free, one));
    (void)cudaGetLastError();
    OK(cudaFreeAsync(b, other));
    OK(cudaDeviceSynchronize());
    size_t later;
    OK(cudaMemGetInfo(&later, &all));
    CHECK(later == free);
}

static void of_streams(cudaStream_t one, cudaStream_t other) {
    cudaStreamAttrValue value = {}, told = {};
    OK(cudaStreamGetAttribute(one, cudaLaunchAttributeSynchronizationPolicy, &told));
    CHECK(told.syncPolicy == cudaSyncPolicyAuto);
    value.syncPolicy = cudaSyncPolicySpin;
    OK(cudaStreamSetAttribute(one, cudaLaunchAttributeSynchronizationPolicy, &value));
    value = {};
    value.accessPolicyWindow.num_bytes = 4096;
    value.accessPolicyWindow.hitRatio = 0.5f;
    OK(cudaStreamSetAttribute(one, cudaLaunchAttributeAccessPolicyWindow, &value));
    OK(cudaStreamCopyAttributes(other, one));
    told = {};
    OK(cudaStreamGetAttribute(other, cudaLaunchAttributeAccessPolicyWindow, &told));
    CHECK(told.accessPolicyWindow.num_bytes == 4096 && told.accessPolicyWindow.hitRatio == 0.5f);
    OK(cudaStreamGetAttribute(other, cudaLaunchAttributeSynchronizationPolicy, &told));
    CHECK(told.syncPolicy == cudaSyncPolicySpin);
    OK(cudaStreamSetAttribute(0, cudaLaunchAttributeAccessPolicyWindow, &value));
    told = {};
    OK(cudaStreamGetAttribute(one, cudaLaunchAttributeMemSyncDomainMap, &told));
    CHECK(told.memSyncDomainMap.default_ == 0 && told.memSyncDomainMap.remote == 1);
    GIVES(cudaErrorInvalidValue, cudaStreamGetAttribute(one, (cudaLaunchAttributeID)99, &told));
    (void)cudaGetLastError();
}

// Allocates by a function of the driver.
static void allocate_by(void *function) {
    unsigned long long address = 0;
    CHECK(function && ((int (*)(unsigned long long *, size_t))function)(&address, 4) == 0);
    OK(cudaMemset((void *)address, 0, 4));
    OK(cudaFree((void *)address));
}

static void of_the_driver() {
    void *function = 0;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    OK(cudaGetDriverEntryPoint("cuMemAlloc", &function, cudaEnableDefault, &found));
    CHECK(found == cudaDriverEntryPointSuccess);
    allocate_by(function);
    function = 0;
    OK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, &found));
    CHECK(found == cudaDriverEntryPointSuccess);
    allocate_by(function);
    OK(cudaGetDriverEntryPoint("cuMemAlloc", &function, cudaEnableDefault, 0));
    OK(cudaGetDriverEntryPoint("cuNothing", &function, cudaEnableDefault, &found));
    CHECK(function == 0 && found == cudaDriverEntryPointSymbolNotFound);
    OK(cudaGetDriverEntryPointByVersion("cuGraphAddNode", &function, 12010, cudaEnableDefault, &found));
    CHECK(function == 0 && found == cudaDriverEntryPointVersionNotSufficent);
    GIVES(cudaErrorInvalidValue, cudaGetDriverEntryPoint("cuMemAlloc", &function, 9, &found));
    (void)cudaGetLastError();
}

int main() {
    cudaStream_t one, other;
    OK(cudaStreamCreate(&one));
    OK(cudaStreamCreate(&other));
    int supported = 0;
    OK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    CHECK(supported == 1);
    order(one, other);
    attributes(one);
    short_of_memory(one, other);
    of_streams(one, other);
    of_the_driver();
    return end();
}
