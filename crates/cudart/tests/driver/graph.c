// Graphs, copies of boxes, arrays and textures through CUDA's driver.
#include "call.h"

// Parameters of a kernel node (CUDA_KERNEL_NODE_PARAMS_v2).
struct Kernel {
    uint64_t function;
    unsigned grid[3], block[3], shared;
    void **each, **extra;
    uint64_t kernel;
    void *context;
};

// Side of a copy in CUDA_MEMCPY3D.
struct Side {
    size_t x, y, z, level;
    unsigned kind;
    void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
};

struct Copy {
    struct Side from, to;
    size_t bytes, height, depth;
};

struct Fill {
    uint64_t to;
    size_t pitch;
    unsigned value, element;
    size_t width, height;
};

struct Node {
    int kind, reserved[3];
    union {
        long long words[29];
        struct Kernel kernel;
        struct {
            int flags, reserved;
            void *context;
            struct Copy copy;
        } copy;
    };
    long long more;
};

enum { HOST = 1, DEVICE = 2, ARRAY = 3 };

static int called, destroyed;

static void call(void *count) { *(int *)count += 1; }

// Fills 16 numbers with 1, adds those of the host to them, and copies the sums back.
static void graphs(void) {
    void *module = 0, *graph = 0, *executable = 0, *stream = 0, *object = 0;
    void *up = 0, *filled = 0, *added = 0, *down = 0, *last = 0;
    uint64_t function = 0, x = 0, y = 0;
    float from[16], to[16] = {0};
    for (int at = 0; at < 16; at++)
        from[at] = (float)at;
    EXPECT(0, CALL(cuModuleLoadData)(&module, ADD));
    EXPECT(0, CALL(cuModuleGetFunction)(&function, module, "add"));
    EXPECT(0, CALL(cuMemAlloc_v2)(&x, sizeof from));
    EXPECT(0, CALL(cuMemAlloc_v2)(&y, sizeof to));
    EXPECT(0, CALL(cuStreamCreate)(&stream, 1));
    EXPECT(0, CALL(cuGraphCreate)(&graph, 0));
    struct Copy copy = {{.kind = HOST, .host = from}, {.kind = DEVICE, .device = x}, sizeof from, 1, 1};
    EXPECT(0, CALL(cuGraphAddMemcpyNode)(&up, graph, 0, (size_t)0, &copy, (void *)0));
    struct Fill fill = {y, 0, 0x3f800000, 4, 16, 1};
    EXPECT(0, CALL(cuGraphAddMemsetNode)(&filled, graph, 0, (size_t)0, &fill, (void *)0));
    unsigned n = 16;
    void *each[] = {&n, &x, &y}, *both[] = {up, filled};
    // A kernel of a library takes the place of a function.
    struct Kernel kernel = {0, {1, 1, 1}, {16, 1, 1}, 0, each, 0, function, 0};
    EXPECT(0, CALL(cuGraphAddKernelNode_v2)(&added, graph, both, (size_t)2, &kernel));
    struct Node node = {.kind = 1, .copy = {.copy = {{.kind = DEVICE, .device = y},
                                                     {.kind = HOST, .host = to},
                                                     sizeof to, 1, 1}}};
    EXPECT(0, CALL(cuGraphAddNode_v2)(&down, graph, &added, (void *)0, (size_t)1, &node));
    struct {
        void (*function)(void *);
        void *data;
    } host = {call, &called};
    EXPECT(0, CALL(cuGraphAddHostNode)(&last, graph, &down, (size_t)1, &host));
    size_t count = 0;
    EXPECT(0, CALL(cuGraphGetNodes)(graph, (void *)0, &count));
    CHECK(count == 5);
    EXPECT(0, CALL(cuGraphGetEdges_v2)(graph, (void *)0, (void *)0, (void *)0, &count));
    CHECK(count == 4);
    int type = -1;
    EXPECT(0, CALL(cuGraphNodeGetType)(filled, &type));
    CHECK(type == 2);

    EXPECT(0, CALL(cuUserObjectCreate)(&object, &destroyed, call, 1, 1));
    EXPECT(0, CALL(cuGraphRetainUserObject)(graph, object, 1, 1));
    EXPECT(0, CALL(cuGraphInstantiateWithFlags)(&executable, graph, (uint64_t)0));
    EXPECT(0, CALL(cuGraphLaunch)(executable, stream));
    EXPECT(0, CALL(cuGraphLaunch)(executable, stream));
    EXPECT(0, CALL(cuStreamSynchronize)(stream));
    for (int at = 0; at < 16; at++)
        CHECK(to[at] == 1 + (float)at);
    CHECK(called == 2);

    // The parameters of nodes are those that were given.
    struct Kernel told;
    EXPECT(0, CALL(cuGraphKernelNodeGetParams_v2)(added, &told));
    CHECK(told.function == function && told.block[0] == 16 && *(unsigned *)told.each[0] == 16);
    struct Copy way;
    EXPECT(0, CALL(cuGraphMemcpyNodeGetParams)(up, &way));
    CHECK(way.from.kind == HOST && way.from.host == from && way.to.device == x && way.bytes == 64);
    struct Node known;
    EXPECT(0, CALL(cuGraphNodeGetParams)(down, &known));
    CHECK(known.kind == 1 && known.copy.copy.to.host == to && known.copy.copy.from.kind == DEVICE);

    // Half of the threads add, and fewer bytes are filled.
    n = 8;
    EXPECT(0, CALL(cuGraphExecKernelNodeSetParams_v2)(executable, added, &kernel));
    fill.value = 0x40000000;
    EXPECT(0, CALL(cuGraphExecMemsetNodeSetParams)(executable, filled, &fill, (void *)0));
    EXPECT(0, CALL(cuGraphLaunch)(executable, stream));
    EXPECT(0, CALL(cuStreamSynchronize)(stream));
    CHECK(to[7] == 9 && to[8] == 2);

    // The executable graph keeps the object after the graph is destroyed.
    EXPECT(0, CALL(cuGraphDestroy)(graph));
    CHECK(destroyed == 0);
    EXPECT(0, CALL(cuGraphExecDestroy)(executable));
    CHECK(destroyed == 1);
    EXPECT(1, CALL(cuUserObjectRelease)(object, 1));
    EXPECT(1, CALL(cuGraphExecDestroy)(executable));

    int status = -1;
    EXPECT(0, CALL(cuStreamBeginCapture_v2)(stream, 2));
    EXPECT(0, CALL(cuMemsetD32Async)(y, 0x40400000u, (size_t)16, stream));
    EXPECT(0, CALL(cuLaunchKernel)(function, 1, 1, 1, 16, 1, 1, 0, stream, each, 0));
    EXPECT(0, CALL(cuLaunchHostFunc)(stream, call, &called));
    EXPECT(0, CALL(cuStreamGetCaptureInfo)(stream, &status, (void *)0));
    CHECK(status == 1);
    EXPECT(0, CALL(cuStreamEndCapture)(stream, &graph));
    EXPECT(0, CALL(cuGraphInstantiate_v2)(&executable, graph, (void *)0, (void *)0, (size_t)0));
    EXPECT(0, CALL(cuGraphLaunch)(executable, stream));
    EXPECT(0, CALL(cuStreamSynchronize)(stream));
    EXPECT(0, CALL(cuMemcpyDtoH_v2)(to, y, sizeof to));
    CHECK(to[7] == 10 && to[8] == 3 && called == 4);
}

// Fills rows and copies a part of them.
static void boxes(void) {
    uint64_t rows = 0;
    size_t pitch = 0;
    unsigned char box[3][4] = {{0}}, other[2][2] = {{8, 9}, {10, 11}};
    EXPECT(0, CALL(cuMemAllocPitch_v2)(&rows, &pitch, (size_t)4, (size_t)3, 4));
    EXPECT(0, CALL(cuMemsetD2D8_v2)(rows, pitch, 7, (size_t)4, (size_t)3));
    // CUDA_MEMCPY2D: to columns 1 and 2 of rows 1 and 2.
    struct {
        size_t x, y;
        unsigned kind;
        void *host;
        uint64_t device;
        void *array;
        size_t pitch, to_x, to_y;
        unsigned to_kind;
        void *to_host;
        uint64_t to_device;
        void *to_array;
        size_t to_pitch, bytes, height;
    } part = {.kind = HOST, .host = other, .pitch = 2, .to_x = 1, .to_y = 1, .to_kind = DEVICE,
              .to_device = rows, .to_pitch = pitch, .bytes = 2, .height = 2};
    EXPECT(0, CALL(cuMemcpy2D_v2)(&part));
    struct Copy all = {{.kind = DEVICE, .device = rows, .pitch = pitch, .height = 3},
                       {.kind = HOST, .host = box, .pitch = 4, .height = 3}, 4, 3, 1};
    EXPECT(0, CALL(cuMemcpy3D_v2)(&all));
    unsigned char expected[3][4] = {{7, 7, 7, 7}, {7, 8, 9, 7}, {7, 10, 11, 7}};
    CHECK(memcmp(box, expected, sizeof box) == 0);
    all.from.level = 1;
    EXPECT(1, CALL(cuMemcpy3D_v2)(&all));
}

// Writes texel (thread, 1) of a texture to `to`.
static const char LOOK[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry look(.param .u64 seen, .param .u64 to) {\n"
    ".reg .f32 %f<7>; .reg .b32 %r1; .reg .b64 %d<4>;\n"
    "ld.param.u64 %d1, [seen]; ld.param.u64 %d2, [to];\n"
    "mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f5, %r1; add.f32 %f5, %f5, 0f3F000000;\n"
    "mov.f32 %f6, 0f3FC00000; mul.wide.u32 %d3, %r1, 4; add.u64 %d2, %d2, %d3;\n"
    "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f6}];\n"
    "st.global.f32 [%d2], %f1; ret;\n}\n";

static void textures(void) {
    struct {
        size_t width, height;
        int format;
        unsigned channels;
    } shape = {4, 2, 1, 1}, told;
    void *array = 0, *module = 0;
    uint64_t texture = 0, look = 0, to = 0;
    unsigned char texels[2][4] = {{1, 2, 3, 4}, {51, 102, 153, 255}}, back[2][4] = {{0}};
    EXPECT(0, CALL(cuArrayCreate_v2)(&array, &shape));
    EXPECT(0, CALL(cuArrayGetDescriptor_v2)(&told, array));
    CHECK(told.width == 4 && told.height == 2 && told.format == 1 && told.channels == 1);
    struct Copy copy = {{.kind = HOST, .host = texels, .pitch = 4}, {.kind = ARRAY, .array = array}, 4, 2, 1};
    EXPECT(0, CALL(cuMemcpy3D_v2)(&copy));
    EXPECT(0, CALL(cuMemcpyAtoH_v2)(back, array, (size_t)0, sizeof back));
    CHECK(memcmp(texels, back, sizeof back) == 0);
    struct {
        int kind;
        void *first;
        long long rest[16];
    } memory = {0, array, {0}}, known;
    struct {
        int address[3], filter;
        unsigned flags, anisotropy;
        int level_filter;
        float detail[3], border[4];
        int reserved[12];
    } settings = {.address = {1, 1, 1}};
    EXPECT(0, CALL(cuTexObjectCreate)(&texture, &memory, &settings, (void *)0));
    EXPECT(0, CALL(cuTexObjectGetResourceDesc)(&known, texture));
    CHECK(known.kind == 0 && known.first == array);
    EXPECT(0, CALL(cuModuleLoadData)(&module, LOOK));
    EXPECT(0, CALL(cuModuleGetFunction)(&look, module, "look"));
    EXPECT(0, CALL(cuMemAlloc_v2)(&to, (size_t)16));
    void *each[] = {&texture, &to};
    EXPECT(0, CALL(cuLaunchKernel)(look, 1, 1, 1, 4, 1, 1, 0, 0, each, 0));
    float seen[4] = {0};
    EXPECT(0, CALL(cuMemcpyDtoH_v2)(seen, to, sizeof seen));
    // Bytes are read as floats from 0 to 1.
    for (int at = 0; at < 4; at++)
        CHECK(seen[at] == (float)texels[1][at] / 255);
    EXPECT(0, CALL(cuTexObjectDestroy)(texture));
    EXPECT(1, CALL(cuTexObjectDestroy)(texture));
    EXPECT(0, CALL(cuArrayDestroy)(array));
    EXPECT(400, CALL(cuArrayDestroy)(array));
}

// Reads texel (thread, 1) of `shades`, and integer `thread` of `line`.
static const char REFERENCES[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".global .texref shades;\n.global .texref line;\n"
    ".visible .entry shade(.param .u64 to) {\n"
    ".reg .f32 %f<7>; .reg .b32 %r1; .reg .b64 %d<3>;\n"
    "ld.param.u64 %d1, [to]; mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f5, %r1;\n"
    "add.f32 %f5, %f5, 0f3F000000; mov.f32 %f6, 0f3FC00000;\n"
    "mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
    "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [shades, {%f5, %f6}];\n"
    "st.global.f32 [%d1], %f1; ret;\n}\n"
    ".visible .entry item(.param .u64 to) {\n"
    ".reg .b32 %r<6>; .reg .b64 %d<3>;\n"
    "ld.param.u64 %d1, [to]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4;\n"
    "add.u64 %d1, %d1, %d2; tex.1d.v4.s32.s32 {%r2, %r3, %r4, %r5}, [line, {%r1}];\n"
    "st.global.u32 [%d1], %r2; ret;\n}\n";

// Settings of texture references take effect at the next launch.
static void references(void) {
    struct {
        size_t width, height;
        int format;
        unsigned channels;
    } shape = {4, 2, 1, 1};
    void *array = 0, *module = 0, *bound = 0;
    uint64_t shades = 0, line = 0, again = 0, shade = 0, item = 0, to = 0, address = 0;
    unsigned char texels[2][4] = {{1, 2, 3, 4}, {51, 102, 153, 255}};
    int numbers[4] = {7, -8, 9, -10}, items[2] = {0}, format = 0, count = 0, mode = 9;
    float seen[4] = {0};
    EXPECT(0, CALL(cuArrayCreate_v2)(&array, &shape));
    struct Copy copy = {{.kind = HOST, .host = texels, .pitch = 4}, {.kind = ARRAY, .array = array}, 4, 2, 1};
    EXPECT(0, CALL(cuMemcpy3D_v2)(&copy));
    EXPECT(0, CALL(cuModuleLoadData)(&module, REFERENCES));
    EXPECT(0, CALL(cuModuleGetFunction)(&shade, module, "shade"));
    EXPECT(0, CALL(cuModuleGetFunction)(&item, module, "item"));
    EXPECT(0, CALL(cuMemAlloc_v2)(&to, sizeof numbers));
    void *each[] = {&to};
    EXPECT(500, CALL(cuModuleGetTexRef)(&shades, module, "shadow"));
    EXPECT(0, CALL(cuModuleGetTexRef)(&shades, module, "shades"));
    EXPECT(0, CALL(cuModuleGetTexRef)(&again, module, "shades"));
    CHECK(shades == again);
    EXPECT(1, CALL(cuTexRefGetArray)(&bound, shades));
    EXPECT(0, CALL(cuTexRefSetArray)(shades, array, 1));
    EXPECT(0, CALL(cuTexRefGetArray)(&bound, shades));
    CHECK(bound == array);
    EXPECT(0, CALL(cuParamSetTexRef)(shade, -1, shades));
    EXPECT(0, CALL(cuLaunchKernel)(shade, 1, 1, 1, 4, 1, 1, 0, 0, each, 0));
    EXPECT(0, CALL(cuMemcpyDtoH_v2)(seen, to, sizeof seen));
    for (int at = 0; at < 4; at++)
        CHECK(seen[at] == (float)texels[1][at] / 255);
    // Coordinates from 0 to 1 are clamped: 0.5 is the third texel, and all above 1 are the last.
    EXPECT(0, CALL(cuTexRefSetFlags)(shades, 2));
    EXPECT(0, CALL(cuLaunchKernel)(shade, 1, 1, 1, 4, 1, 1, 0, 0, each, 0));
    EXPECT(0, CALL(cuMemcpyDtoH_v2)(seen, to, sizeof seen));
    CHECK(seen[0] == (float)153 / 255 && seen[1] == 1 && seen[3] == 1);
    EXPECT(1, CALL(cuTexRefSetAddressMode)(shades, 3, 0));
    EXPECT(0, CALL(cuTexRefSetAddressMode)(shades, 0, 0));
    EXPECT(0, CALL(cuTexRefGetAddressMode)(&mode, shades, 0));
    CHECK(mode == 0);
    // Around the end, 1.5 is 0.5.
    EXPECT(0, CALL(cuLaunchKernel)(shade, 1, 1, 1, 4, 1, 1, 0, 0, each, 0));
    EXPECT(0, CALL(cuMemcpyDtoH_v2)(seen, to, sizeof seen));
    CHECK(seen[1] == (float)153 / 255);

    uint64_t memory = 0;
    size_t offset = 9;
    EXPECT(0, CALL(cuMemAlloc_v2)(&memory, sizeof numbers));
    EXPECT(0, CALL(cuMemcpyHtoD_v2)(memory, numbers, sizeof numbers));
    EXPECT(0, CALL(cuModuleGetTexRef)(&line, module, "line"));
    EXPECT(0, CALL(cuTexRefSetAddress_v2)(&offset, line, memory, sizeof numbers));
    EXPECT(0, CALL(cuTexRefSetFormat)(line, 0x0a, 1));
    EXPECT(0, CALL(cuTexRefGetFormat)(&format, &count, line));
    EXPECT(0, CALL(cuTexRefGetAddress_v2)(&address, line));
    CHECK(offset == 0 && format == 0x0a && count == 1 && address == memory);
    EXPECT(0, CALL(cuLaunchKernel)(item, 1, 1, 1, 2, 1, 1, 0, 0, each, 0));
    EXPECT(0, CALL(cuTexRefSetAddress_v2)(&offset, line, memory + 8, (size_t)8));
    EXPECT(0, CALL(cuMemcpyDtoH_v2)(items, to, sizeof items));
    CHECK(items[0] == 7 && items[1] == -8);
    EXPECT(0, CALL(cuLaunchKernel)(item, 1, 1, 1, 2, 1, 1, 0, 0, each, 0));
    EXPECT(0, CALL(cuMemcpyDtoH_v2)(items, to, sizeof items));
    CHECK(items[0] == 9 && items[1] == -10);
    EXPECT(0, CALL(cuModuleUnload)(module));
    EXPECT(1, CALL(cuTexRefSetFlags)(shades, 0));
}

int main(void) {
    load_driver();
    void *context = 0;
    EXPECT(0, CALL(cuInit)(0));
    EXPECT(0, CALL(cuDevicePrimaryCtxRetain)(&context, 0));
    EXPECT(0, CALL(cuCtxSetCurrent)(context));
    graphs();
    boxes();
    textures();
    references();
    printf("all right\n");
    return 0;
}
