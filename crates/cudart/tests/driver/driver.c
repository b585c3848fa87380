// Calls functions of CUDA's driver and checks what they return. Prototypes are those of cuda.h.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *driver;

static void *find(const char *name) {
    void *function = dlsym(driver, name);
    if (!function) {
        printf("there is no %s\n", name);
        exit(1);
    }
    return function;
}

typedef int (*Call)();

#define CALL(name) ((Call)find(#name))
#define EXPECT(code, call)                                                                      \
    do {                                                                                        \
        int got = (call);                                                                       \
        if (got != (code)) {                                                                    \
            printf("line %d: %s returned %d, expected %d\n", __LINE__, #call, got, (int)(code)); \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)
#define CHECK(condition) EXPECT(1, (condition) ? 1 : 0)

// Adds `n` numbers of `x` to `y`, and counts its launches.
static const char ADD[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".global .u32 launches = 5;\n"
    ".visible .entry add(.param .u32 n, .param .u64 x, .param .u64 y) {\n"
    ".reg .pred %p; .reg .f32 %f<3>; .reg .b32 %r<4>; .reg .b64 %d<4>;\n"
    "ld.param.u32 %r1, [n]; ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];\n"
    "mov.u32 %r2, %tid.x; setp.ge.u32 %p, %r2, %r1; @%p bra done;\n"
    "mul.wide.u32 %d3, %r2, 4; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;\n"
    "ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d2]; add.f32 %f2, %f1, %f2;\n"
    "st.global.f32 [%d2], %f2; setp.ne.u32 %p, %r2, 0; @%p bra done;\n"
    "mov.u64 %d3, launches; atom.global.add.u32 %r3, [%d3], 1;\n"
    "done: ret;\n}\n";

// CUlaunchConfig without attributes.
struct Launch {
    unsigned grid[3], block[3], shared;
    void *stream;
    void *attributes;
    unsigned count;
};

static uint64_t function, x, y;
static float host[64];

static void start(void) {
    int device = -1;
    void *context = 0;
    EXPECT(1, CALL(cuInit)(1));
    EXPECT(0, CALL(cuInit)(0));
    int count = 0;
    EXPECT(0, CALL(cuDeviceGetCount)(&count));
    CHECK(count == 1);
    EXPECT(101, CALL(cuDeviceGet)(&device, 1));
    EXPECT(0, CALL(cuDeviceGet)(&device, 0));
    char name[9];
    EXPECT(0, CALL(cuDeviceGetName)(name, (int)sizeof name, device));
    CHECK(strcmp(name, "Warploom") == 0);
    int warp = 0, major = 0, minor = 0, also = 0;
    EXPECT(0, CALL(cuDeviceGetAttribute)(&warp, 10, device));
    EXPECT(0, CALL(cuDeviceGetAttribute)(&major, 75, device));
    EXPECT(0, CALL(cuDeviceComputeCapability)(&also, &minor, device));
    CHECK(warp == 32 && major == also);
    EXPECT(0, CALL(cuCtxGetCurrent)(&context));
    CHECK(context == 0);
    EXPECT(201, CALL(cuCtxGetDevice)(&device));
    EXPECT(0, CALL(cuDevicePrimaryCtxRetain)(&context, 0));
    EXPECT(201, CALL(cuCtxSetCurrent)((void *)1));
    EXPECT(0, CALL(cuCtxSetCurrent)(context));
    EXPECT(0, CALL(cuCtxGetDevice)(&device));
    EXPECT(0, CALL(cuCtxPushCurrent_v2)(context));
    void *popped = 0;
    EXPECT(0, CALL(cuCtxPopCurrent_v2)(&popped));
    CHECK(popped == context);
}

static void modules(void) {
    void *module = 0, *wrong = 0;
    EXPECT(0, CALL(cuModuleLoadData)(&module, ADD));
    EXPECT(500, CALL(cuModuleGetFunction)(&function, module, "sub"));
    EXPECT(0, CALL(cuModuleGetFunction)(&function, module, "add"));
    uint64_t again = 0;
    EXPECT(0, CALL(cuModuleGetFunction)(&again, module, "add"));
    CHECK(again == function);
    int registers = 0, shared = -1, version = 0;
    EXPECT(0, CALL(cuFuncGetAttribute)(&registers, 4, function));
    EXPECT(0, CALL(cuFuncGetAttribute)(&shared, 1, function));
    EXPECT(0, CALL(cuFuncGetAttribute)(&version, 5, function));
    CHECK(registers > 0 && shared == 0 && version == 70);
    EXPECT(400, CALL(cuFuncGetAttribute)(&registers, 4, (uint64_t)12345));
    uint64_t variable = 0;
    size_t bytes = 0;
    EXPECT(500, CALL(cuModuleGetGlobal_v2)(&variable, &bytes, module, "launch"));
    EXPECT(0, CALL(cuModuleGetGlobal_v2)(&variable, &bytes, module, "launches"));
    unsigned launches = 0;
    EXPECT(0, CALL(cuMemcpyDtoH_v2)(&launches, variable, sizeof launches));
    CHECK(bytes == 4 && launches == 5);
    char *text = strdup(ADD);
    memcpy(strstr(text, "add.f32 %f2"), "fma.rx.f32 ", 11);
    EXPECT(0, CALL(cuModuleLoadData)(&wrong, text));
    EXPECT(801, CALL(cuModuleGetFunction)(&again, wrong, "add"));
    EXPECT(218, CALL(cuModuleLoadData)(&wrong, ".version 7.0\n.target sm_70\nnonsense\n"));
    EXPECT(209, CALL(cuModuleLoadData)(&wrong, "\177ELF\2\1\1"));
    EXPECT(400, CALL(cuModuleUnload)((void *)99));
    void *library = 0;
    uint64_t kernel = 0;
    EXPECT(0, CALL(cuLibraryLoadData)(&library, ADD, 0, 0, 0, 0, 0, 0));
    EXPECT(0, CALL(cuLibraryGetKernel)(&kernel, library, "add"));
    EXPECT(0, CALL(cuLibraryUnload)(library));
    void *link = 0;
    const char *image = 0;
    EXPECT(0, CALL(cuLinkCreate_v2)(0, 0, 0, &link));
    EXPECT(1, CALL(cuLinkComplete)(link, &image, &bytes));
    EXPECT(0, CALL(cuLinkAddData_v2)(link, 1, ADD, sizeof ADD, "add", 0, 0, 0));
    EXPECT(801, CALL(cuLinkAddData_v2)(link, 1, ADD, sizeof ADD, "add", 0, 0, 0));
    EXPECT(0, CALL(cuLinkComplete)(link, &image, &bytes));
    CHECK(bytes == strlen(ADD) && strcmp(image, ADD) == 0);
    EXPECT(0, CALL(cuLinkDestroy)(link));
    EXPECT(400, CALL(cuLinkDestroy)(link));
    EXPECT(400, CALL(cuFuncGetAttribute)(&registers, 4, kernel));
}

static void memory(void) {
    EXPECT(1, CALL(cuMemAlloc_v2)(&x, (size_t)0));
    EXPECT(0, CALL(cuMemAlloc_v2)(&x, sizeof host));
    EXPECT(0, CALL(cuMemAlloc_v2)(&y, sizeof host));
    for (int at = 0; at < 64; at++)
        host[at] = (float)at;
    EXPECT(0, CALL(cuMemcpyHtoD_v2)(x, host, sizeof host));
    // 1.0f has the bits 0x3f800000.
    EXPECT(0, CALL(cuMemsetD32_v2)(y, 0x3f800000u, (size_t)64));
    unsigned short halves[4] = {0};
    EXPECT(0, CALL(cuMemsetD16_v2)(y, 0x1234, (size_t)2));
    EXPECT(0, CALL(cuMemsetD8_v2)(y + 4, 0x56, (size_t)4));
    EXPECT(0, CALL(cuMemcpyDtoH_v2)(halves, y, sizeof halves));
    CHECK(halves[0] == 0x1234 && halves[1] == 0x1234 && halves[3] == 0x5656);
    EXPECT(0, CALL(cuMemsetD32_v2)(y, 0x3f800000u, (size_t)2));
    uint64_t base = 0, address = 0;
    size_t size = 0;
    EXPECT(0, CALL(cuMemGetAddressRange_v2)(&base, &size, x + 100));
    CHECK(base == x && size == sizeof host);
    EXPECT(0, CALL(cuPointerGetAttribute)(&address, 3, x + 4));
    unsigned type = 0;
    EXPECT(0, CALL(cuPointerGetAttribute)(&type, 2, x));
    CHECK(address == x + 4 && type == 2);
    EXPECT(1, CALL(cuPointerGetAttribute)(&address, 3, (uint64_t)host));
}

static void pools(void) {
    void *pool = 0, *stream = 0;
    uint64_t address = 0, reserved = 0;
    EXPECT(0, CALL(cuDeviceGetDefaultMemPool)(&pool, 0));
    EXPECT(0, CALL(cuStreamCreate)(&stream, 1));
    EXPECT(0, CALL(cuMemAllocFromPoolAsync)(&address, (size_t)4096, pool, stream));
    EXPECT(0, CALL(cuMemsetD32Async)(address, 7u, (size_t)1024, stream));
    unsigned last = 0;
    EXPECT(0, CALL(cuStreamSynchronize)(stream));
    EXPECT(0, CALL(cuMemcpyDtoH_v2)(&last, address + 4092, sizeof last));
    CHECK(last == 7);
    // CU_MEMPOOL_ATTR_USED_MEM_CURRENT.
    EXPECT(0, CALL(cuMemPoolGetAttribute)(pool, 7, &reserved));
    CHECK(reserved >= 4096);
    EXPECT(0, CALL(cuMemFreeAsync)(address, stream));
    EXPECT(0, CALL(cuStreamSynchronize)(stream));
    EXPECT(0, CALL(cuMemPoolGetAttribute)(pool, 7, &reserved));
    CHECK(reserved == 0);
}

static void launches(void) {
    unsigned n = 64;
    void *each[] = {&n, &x, &y};
    EXPECT(0, CALL(cuLaunchKernel)(function, 1, 1, 1, 64, 1, 1, 0, 0, each, 0));
    struct {
        unsigned n, pad;
        uint64_t x, y;
    } buffer = {64, 0, x, y};
    size_t size = sizeof buffer;
    void *options[] = {(void *)1, &buffer, (void *)2, &size, 0};
    EXPECT(0, CALL(cuLaunchKernel)(function, 1, 1, 1, 64, 1, 1, 0, 0, 0, options));
    void *stream = 0, *before = 0, *after = 0;
    EXPECT(0, CALL(cuStreamCreate)(&stream, 1));
    EXPECT(0, CALL(cuEventCreate)(&before, 0));
    EXPECT(0, CALL(cuEventCreate)(&after, 0));
    EXPECT(0, CALL(cuEventRecord)(before, stream));
    struct Launch launch = {{1, 1, 1}, {64, 1, 1}, 0, stream, 0, 0};
    EXPECT(0, CALL(cuLaunchKernelEx)(&launch, function, each, 0));
    EXPECT(0, CALL(cuEventRecord)(after, stream));
    EXPECT(0, CALL(cuEventSynchronize)(after));
    float milliseconds = -1;
    EXPECT(0, CALL(cuEventElapsedTime)(&milliseconds, before, after));
    CHECK(milliseconds > 0);
    int capturing = -1;
    EXPECT(0, CALL(cuStreamIsCapturing)(stream, &capturing));
    CHECK(capturing == 0);
    EXPECT(0, CALL(cuStreamDestroy_v2)(stream));
    EXPECT(0, CALL(cuCtxSynchronize)());
    EXPECT(0, CALL(cuMemcpyDtoH_v2)(host, y, sizeof host));
    for (int at = 0; at < 64; at++)
        CHECK(host[at] == 1 + 3 * (float)at);
    EXPECT(1, CALL(cuLaunchKernel)(function, 1, 1, 1, 2048, 1, 1, 0, 0, each, 0));
    EXPECT(1, CALL(cuLaunchKernel)(function, 1, 1, 1, 64, 1, 1, 0, 0, 0, 0));
    EXPECT(400, CALL(cuLaunchKernel)((uint64_t)3, 1, 1, 1, 64, 1, 1, 0, 0, each, 0));
}

static void names(void) {
    const char *text = 0;
    EXPECT(0, CALL(cuGetErrorName)(700, &text));
    CHECK(strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
    EXPECT(0, CALL(cuGetErrorString)(700, &text));
    CHECK(strlen(text) > 10);
    EXPECT(1, CALL(cuGetErrorName)(12345, &text));
    CHECK(text == 0);
    void *found = 0;
    int status = -1;
    EXPECT(0, CALL(cuGetProcAddress_v2)("cuMemAlloc", &found, 12000, (uint64_t)0, &status));
    CHECK(found == find("cuMemAlloc_v2") && status == 0);
    EXPECT(0, CALL(cuGetProcAddress_v2)("cuInit", &found, 12000, (uint64_t)0, &status));
    CHECK(found == find("cuInit"));
    EXPECT(500, CALL(cuGetProcAddress_v2)("cuNothing", &found, 12000, (uint64_t)0, &status));
    CHECK(found == 0 && status == 1);
}

static void fault(void) {
    unsigned n = 65;
    void *each[] = {&n, &x, &y};
    uint64_t other = 0;
    EXPECT(0, CALL(cuLaunchKernel)(function, 1, 1, 1, 96, 1, 1, 0, 0, each, 0));
    EXPECT(700, CALL(cuCtxSynchronize)());
    EXPECT(700, CALL(cuMemAlloc_v2)(&other, (size_t)4));
}

int main(int count, char **arguments) {
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        printf("%s\n", dlerror());
        return 1;
    }
    start();
    modules();
    memory();
    if (count > 1) {
        fault();
    } else {
        pools();
        launches();
        names();
    }
    printf("all right\n");
    return 0;
}
