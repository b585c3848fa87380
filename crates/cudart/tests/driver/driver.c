// Calls functions of CUDA's driver and checks what they return. Prototypes are those of cuda.h.
#include "call.h"

// CUlaunchConfig without attributes.
struct Launch {
    unsigned grid[3], block[3], shared;
    void *stream;
    void *attributes;
    unsigned count;
};

static uint64_t function, x, y;
static float host[64];
// File that the program may write.
static const char *path;

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
    int registers = 0, shared = -1, version = 0, constants = 0;
    EXPECT(0, CALL(cuFuncGetAttribute)(&registers, 4, function));
    EXPECT(0, CALL(cuFuncGetAttribute)(&shared, 1, function));
    EXPECT(0, CALL(cuFuncGetAttribute)(&version, 5, function));
    EXPECT(0, CALL(cuFuncGetAttribute)(&constants, 2, function));
    CHECK(registers > 0 && shared == 0 && version == 70 && constants == 12);
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
    EXPECT(801, CALL(cuLinkAddData_v2)(link, 0, ADD, sizeof ADD, "add", 0, 0, 0));
    EXPECT(0, CALL(cuLinkComplete)(link, &image, &bytes));
    CHECK(bytes == strlen(ADD) && strcmp(image, ADD) == 0);
    EXPECT(0, CALL(cuLinkDestroy)(link));
    EXPECT(400, CALL(cuLinkDestroy)(link));
    EXPECT(400, CALL(cuFuncGetAttribute)(&registers, 4, kernel));
}

// A kernel that calls a function of another text.
static const char CALLER[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".extern .func (.param .b32 r) six ();\n"
                             ".visible .entry call(.param .u64 to) {\n"
                             ".reg .b32 %r1; .reg .b64 %d1;\n"
                             "ld.param.u64 %d1, [to];\n"
                             "{ .param .b32 r; call.uni (r), six, (); ld.param.b32 %r1, [r]; }\n"
                             "st.global.u32 [%d1], %r1; ret;\n}\n";
static const char SIX[] = ".version 7.1\n.target sm_70\n.address_size 64\n"
                          ".visible .func (.param .b32 r) six () {\n"
                          ".reg .b32 %r1; mov.u32 %r1, 6; st.param.b32 [r], %r1; ret;\n}\n";

// Links two texts, one of a file, and loads the file alone.
static void links(void) {
    void *link = 0, *module = 0;
    const char *image = 0;
    uint64_t call = 0, to = 0;
    unsigned six = 0;
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(SIX, file) >= 0 && fclose(file) == 0);
    EXPECT(0, CALL(cuModuleLoad)(&module, path));
    EXPECT(301, CALL(cuModuleLoad)(&module, "/there/is/no/such.ptx"));
    EXPECT(0, CALL(cuLinkCreate_v2)(0, 0, 0, &link));
    EXPECT(0, CALL(cuLinkAddData_v2)(link, 1, CALLER, sizeof CALLER, "caller", 0, 0, 0));
    EXPECT(301, CALL(cuLinkAddFile_v2)(link, 1, "/there/is/no/such.ptx", 0, 0, 0));
    EXPECT(0, CALL(cuLinkAddFile_v2)(link, 1, path, 0, 0, 0));
    EXPECT(0, CALL(cuLinkComplete)(link, &image, 0));
    EXPECT(0, CALL(cuModuleLoadData)(&module, image));
    EXPECT(0, CALL(cuLinkDestroy)(link));
    EXPECT(0, CALL(cuModuleGetFunction)(&call, module, "call"));
    void *own = 0;
    EXPECT(0, CALL(cuFuncGetModule)(&own, call));
    CHECK(own == module);
    const char *name = 0;
    EXPECT(0, CALL(cuFuncGetName)(&name, call));
    CHECK(strcmp(name, "call") == 0);
    EXPECT(0, CALL(cuMemAlloc_v2)(&to, sizeof six));
    void *each[] = {&to};
    EXPECT(0, CALL(cuLaunchKernel)(call, 1, 1, 1, 1, 1, 1, 0, 0, each, 0));
    EXPECT(0, CALL(cuMemcpyDtoH_v2)(&six, to, sizeof six));
    CHECK(six == 6);
}

// Every block stores its number + 1. After the barrier, each adds the numbers of all four blocks.
static const char MEET[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b64 h) cudaCGGetIntrinsicHandle (.param .b32 s);\n"
    ".extern .func (.param .b32 c) cudaCGSynchronize (.param .b64 h, .param .b32 f);\n"
    ".visible .entry meet(.param .u64 to) {\n"
    ".reg .b32 %r<8>; .reg .b64 %d<5>;\n"
    "ld.param.u64 %d1, [to]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 4;\n"
    "add.u64 %d2, %d1, %d2; add.u32 %r2, %r1, 1; st.global.u32 [%d2], %r2;\n"
    "mov.u32 %r3, 1; mov.u32 %r4, 0;\n"
    "{ .param .b32 s; .param .b64 h; st.param.b32 [s], %r3;\n"
    "call.uni (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 %d3, [h]; }\n"
    "{ .param .b64 h; .param .b32 f; .param .b32 c; st.param.b64 [h], %d3; st.param.b32 [f], %r4;\n"
    "call.uni (c), cudaCGSynchronize, (h, f); ld.param.b32 %r5, [c]; }\n"
    "ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d1+4]; ld.global.u32 %r4, [%d1+8];\n"
    "ld.global.u32 %r6, [%d1+12]; add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;\n"
    "add.u32 %r2, %r2, %r6; add.u32 %r2, %r2, %r5; st.global.u32 [%d2+16], %r2; ret;\n}\n";

// Links the barrier of cooperative launches in the place of CUDA's library with it.
static void device_runtime(void) {
    static const char archive[] = "!<arch>\n cuda_device_runtime.o/";
    void *link = 0, *module = 0;
    const char *image = 0;
    uint64_t meet = 0, to = 0;
    unsigned seen[8] = {0};
    EXPECT(0, CALL(cuLinkCreate_v2)(0, 0, 0, &link));
    EXPECT(801, CALL(cuLinkAddData_v2)(link, 4, "!<arch>\n", (size_t)8, "other", 0, 0, 0));
    EXPECT(0, CALL(cuLinkAddData_v2)(link, 1, MEET, sizeof MEET, "meet", 0, 0, 0));
    EXPECT(0, CALL(cuLinkAddData_v2)(link, 4, archive, sizeof archive, "cudadevrt", 0, 0, 0));
    EXPECT(0, CALL(cuLinkComplete)(link, &image, 0));
    EXPECT(0, CALL(cuModuleLoadData)(&module, image));
    EXPECT(0, CALL(cuModuleGetFunction)(&meet, module, "meet"));
    EXPECT(0, CALL(cuMemAlloc_v2)(&to, sizeof seen));
    void *each[] = {&to};
    for (int turn = 0; turn < 3; turn++) {
        EXPECT(0, CALL(cuMemsetD32_v2)(to, 0u, (size_t)8));
        EXPECT(0, CALL(cuLaunchCooperativeKernel)(meet, 4, 1, 1, 64, 1, 1, 0, 0, each));
        EXPECT(0, CALL(cuMemcpyDtoH_v2)(seen, to, sizeof seen));
        for (int block = 0; block < 4; block++)
            CHECK(seen[block] == (unsigned)block + 1 && seen[4 + block] == 10);
    }
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

// Shared memory of a block whose size is its argument: 48 bytes for each thread.
static size_t shared_of(int threads) { return 48 * (size_t)threads; }

// A GTX 480 has 15 SMs, each with 1536 threads, at most 8 blocks and 48 KiB of shared memory.
static void occupancy(void) {
    int blocks = 0, threads = 0;
    uint64_t none = 0;
    EXPECT(0, CALL(cuOccupancyMaxPotentialBlockSize)(&blocks, &threads, function, none, none, 0));
    CHECK(threads == 768 && blocks == 2 * 15);
    EXPECT(0, CALL(cuOccupancyMaxPotentialBlockSize)(&blocks, &threads, function, none, none, 200));
    CHECK(threads == 192 && blocks == 8 * 15);
    EXPECT(0, CALL(cuOccupancyMaxPotentialBlockSizeWithFlags)(&blocks, &threads, function, shared_of,
                                                              none, 0, 0));
    CHECK(threads == 1024 && blocks == 15);
    EXPECT(400, CALL(cuOccupancyMaxPotentialBlockSize)(&blocks, &threads, none + 7, none, none, 0));
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
    // A launch that is prepared call by call.
    EXPECT(1, CALL(cuLaunchGrid)(function, 1, 1));
    EXPECT(0, CALL(cuFuncSetBlockShape)(function, 64, 1, 1));
    EXPECT(1, CALL(cuLaunchGrid)(function, 1, 1));
    EXPECT(0, CALL(cuParamSetSize)(function, (unsigned)sizeof buffer));
    EXPECT(0, CALL(cuParamSeti)(function, 0, n));
    EXPECT(0, CALL(cuParamSetv)(function, 8, &x, 8u));
    EXPECT(0, CALL(cuParamSetv)(function, 16, &y, 8u));
    EXPECT(1, CALL(cuParamSeti)(function, 32764, n));
    EXPECT(0, CALL(cuLaunchGrid)(function, 1, 1));
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
        CHECK(host[at] == 1 + 4 * (float)at);
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
    void *found = 0, *older = 0;
    int status = -1;
    uint64_t none = 0, threads = 2;
    EXPECT(0, CALL(cuGetProcAddress_v2)("cuMemAlloc", &found, 12000, none, &status));
    CHECK(found == find("cuMemAlloc_v2") && status == 0);
    EXPECT(0, CALL(cuGetProcAddress_v2)("cuInit", &found, 12000, none, &status));
    CHECK(found == find("cuInit"));
    EXPECT(0, CALL(cuGetProcAddress_v2)("cuMemcpyHtoD", &found, 12000, threads, &status));
    CHECK(found == find("cuMemcpyHtoD_v2_ptds"));
    // An unknown name is a status, and before CUDA 12 an error.
    EXPECT(0, CALL(cuGetProcAddress_v2)("cuNothing", &found, 12000, none, &status));
    CHECK(found == 0 && status == 1);
    EXPECT(500, CALL(cuGetProcAddress)("cuNothing", &found, 11030, none));
    EXPECT(0, CALL(cuGetProcAddress_v2)("cudaMalloc", &found, 12000, none, &status));
    CHECK(found == 0 && status == 1);
    // The form of a function depends on the release.
    EXPECT(0, CALL(cuGetProcAddress_v2)("cuGraphGetEdges", &older, 12000, none, &status));
    EXPECT(0, CALL(cuGetProcAddress_v2)("cuGraphGetEdges", &found, 12030, none, &status));
    CHECK(older == find("cuGraphGetEdges") && found == find("cuGraphGetEdges_v2"));
    EXPECT(0, CALL(cuGetProcAddress_v2)("cuGraphAddNode", &found, 12010, none, &status));
    CHECK(found == 0 && status == 2);
    EXPECT(1, CALL(cuGetProcAddress_v2)("cuInit", &found, 99000, none, &status));
    EXPECT(1, CALL(cuGetProcAddress_v2)("cuInit", &found, 12000, (uint64_t)3, &status));
    // The runtime finds the same functions.
    EXPECT(0, CALL(cudaGetDriverEntryPoint)("cuMemAlloc", &found, none, &status));
    CHECK(found == find("cuMemAlloc_v2") && status == 0);
    EXPECT(0, CALL(cudaGetDriverEntryPoint)("cuNothing", &found, none, &status));
    CHECK(found == 0 && status == 1);
    EXPECT(0, CALL(cudaGetDriverEntryPoint_ptsz)("cuLaunchKernel", &found, none, &status));
    CHECK(found == find("cuLaunchKernel_ptsz"));
    EXPECT(0, CALL(cudaGetDriverEntryPointByVersion)("cuGraphGetEdges", &found, 12000, none, &status));
    CHECK(found == older);
}

// Table of the driver with a UUID that is written without hyphens.
static void **table_of(const char *uuid) {
    unsigned char bytes[16];
    void **table = 0;
    for (int at = 0; at < 16; at++)
        CHECK(sscanf(uuid + 2 * at, "%2hhx", &bytes[at]) == 1);
    EXPECT(0, CALL(cuGetExportTable)(&table, bytes));
    return table;
}

// Fat binary as CUDA 13 writes it: an empty container, and one with a text.
struct Container {
    unsigned mark;
    unsigned short version, header;
    uint64_t bytes;
};
static struct {
    struct Container empty, own;
    unsigned short kind, version;
    unsigned header;
    uint64_t bytes;
    unsigned words[12];
    char text[(sizeof ADD + 7) / 8 * 8];
} packed;
// A wrapper has a mark, a version and the address of the container.
static struct {
    unsigned mark, version;
    const void *container;
    void *file;
} wrapper = {0x466243b1, 1, &packed, 0};

static void pack(void) {
    struct Container empty = {0xba55ed50, 1, 16, 0};
    packed.empty = packed.own = empty;
    packed.own.bytes = sizeof packed - 2 * sizeof empty;
    packed.kind = 1;
    packed.version = 0x101;
    packed.header = 64;
    packed.bytes = sizeof packed.text;
    packed.words[3] = 20;
    memcpy(packed.text, ADD, sizeof ADD);
}

// Tables that CUDA's runtime asks for where it is linked statically.
static void tables(void) {
    void *found = (void *)1, *context = 0, *current = 0, *module = 0;
    unsigned char none[16] = {0}, answer[2][16] = {{0}};
    uint64_t id = 0, key = 11, value = 12, read = 0, zero = 0;
    EXPECT(500, CALL(cuGetExportTable)(&found, none));
    CHECK(found == 0);
    void **runtime = table_of("6bd5fb6c5bf4e74a8987d93912fd9df9");
    CHECK((size_t)runtime[0] == 13 * sizeof(void *));
    EXPECT(0, ((Call)runtime[2])(&context, 0));
    EXPECT(0, CALL(cuCtxGetCurrent)(&current));
    CHECK(context == current);
    pack();
    EXPECT(0, ((Call)runtime[1])(&module, &wrapper));
    EXPECT(0, CALL(cuModuleGetFunction)(&id, module, "add"));
    EXPECT(0, ((Call)runtime[8])(&packed, &module, zero, zero, 0));
    EXPECT(801, ((Call)runtime[8])(&packed, &module, zero + 1, zero, 0));
    EXPECT(801, ((Call)runtime[3])());
    void **contexts = table_of("21318c60971432488ca641ff7324c8f2");
    EXPECT(0, CALL(cuCtxGetId)(context, &id));
    EXPECT(0, ((Call)contexts[4])(context, &read));
    CHECK(read == id);
    void **storage = table_of("c693336e1121df11a8c368f355d89593");
    EXPECT(400, ((Call)storage[2])(&read, zero, key));
    EXPECT(0, ((Call)storage[0])(zero, key, value, zero));
    EXPECT(0, ((Call)storage[2])(&read, context, key));
    CHECK(read == value);
    EXPECT(0, ((Call)storage[1])(zero, key));
    EXPECT(400, ((Call)storage[2])(&read, zero, key));
    // The answer depends on what is asked.
    void **recognition = table_of("d4082055bde6704b8d34ba123c66e1f2");
    EXPECT(0, ((Call)recognition[1])(12092, zero, answer[0]));
    EXPECT(0, ((Call)recognition[1])(12092, zero + 1, answer[1]));
    CHECK(memcmp(answer[0], answer[1], 16) != 0);
}

// What a process has alone, and references of no module.
static void others(void) {
    unsigned char handle[64] = {0};
    uint64_t reference = 0, to[2] = {y, y + 4}, from[2] = {x + 8, x + 4}, stream = 2;
    // A device without support for this says so by an attribute (CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED).
    int has_ipc = 1;
    EXPECT(0, CALL(cuDeviceGetAttribute)(&has_ipc, 125, 0));
    CHECK(has_ipc == 0);
    EXPECT(801, CALL(cuIpcGetMemHandle)(handle, x));
    EXPECT(801, CALL(cuIpcOpenMemHandle_v2)(&reference, handle, 1));
    EXPECT(801, CALL(cuIpcCloseMemHandle)(x));
    EXPECT(801, CALL(cuIpcGetEventHandle)(handle, stream));
    EXPECT(801, CALL(cuIpcOpenEventHandle)(&reference, handle));
    CHECK(reference == 0);
    int mode = 9, format = 0, channels = 0;
    EXPECT(0, CALL(cuTexRefCreate)(&reference));
    EXPECT(0, CALL(cuTexRefSetFilterMode)(reference, 1));
    EXPECT(0, CALL(cuTexRefGetFilterMode)(&mode, reference));
    EXPECT(0, CALL(cuTexRefGetFormat)(&format, &channels, reference));
    // CU_AD_FORMAT_FLOAT is 32.
    CHECK(mode == 1 && format == 32 && channels == 1);
    EXPECT(0, CALL(cuTexRefDestroy)(reference));
    EXPECT(1, CALL(cuTexRefDestroy)(reference));
    // Copies in one call. The second of the other call reads beyond an allocation.
    size_t bytes[2] = {4, 4}, failed = 9, kinds = 0, count = 2;
    EXPECT(0, CALL(cuMemcpyBatchAsync_v2)(to, from, bytes, count, 0, 0, kinds, stream));
    float pair[2] = {0, 0};
    EXPECT(0, CALL(cuMemcpyDtoH_v2)(pair, y, sizeof pair));
    CHECK(pair[0] == 2 && pair[1] == 1);
    bytes[1] = 1 << 20;
    EXPECT(1, CALL(cuMemcpyBatchAsync)(to, from, bytes, count, 0, 0, kinds, &failed, stream));
    CHECK(failed == 1);
    EXPECT(0, CALL(cuMemsetD32_v2)(y, 0x3f800000u, (size_t)64));
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
    load_driver();
    start();
    path = arguments[1];
    modules();
    links();
    device_runtime();
    memory();
    if (count > 2) {
        fault();
    } else {
        others();
        tables();
        pools();
        occupancy();
        launches();
        names();
    }
    printf("all right\n");
    return 0;
}
