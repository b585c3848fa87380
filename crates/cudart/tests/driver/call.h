// Calls of functions of CUDA's driver by their names, and checks of what they return.
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
    ".global .u32 launches = 5;\n.const .align 4 .b8 table[12];\n"
    ".visible .entry add(.param .u32 n, .param .u64 x, .param .u64 y) {\n"
    ".reg .pred %p; .reg .f32 %f<3>; .reg .b32 %r<4>; .reg .b64 %d<4>;\n"
    "ld.param.u32 %r1, [n]; ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];\n"
    "mov.u32 %r2, %tid.x; setp.ge.u32 %p, %r2, %r1; @%p bra done;\n"
    "mul.wide.u32 %d3, %r2, 4; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;\n"
    "ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d2]; add.f32 %f2, %f1, %f2;\n"
    "st.global.f32 [%d2], %f2; setp.ne.u32 %p, %r2, 0; @%p bra done;\n"
    "mov.u64 %d3, launches; atom.global.add.u32 %r3, [%d3], 1;\n"
    "done: ret;\n}\n";

static inline void load_driver(void) {
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        printf("%s\n", dlerror());
        exit(1);
    }
}
