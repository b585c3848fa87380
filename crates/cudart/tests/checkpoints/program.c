// Program that is saved and goes on. It launches kernels in two streams, reads results between
// launches, and prints sums, times of events and what it was asked to do differently. Prototypes are
// those of cuda.h.
#include <stdint.h>
#include <unistd.h>

#include "../driver/call.h"

#define OK(name, ...) EXPECT(0, CALL(name)(__VA_ARGS__))

enum { COUNT = 4096, ROUNDS = 6 };

// Adds to each of the values as many times as it is told, then the number of its round.
static const char KERNELS[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry work(.param .u64 to, .param .u32 times, .param .u32 round) {\n"
    ".reg .b32 %r<7>; .reg .b64 %d<3>; .reg .pred %p;\n"
    "ld.param.u64 %d0, [to]; ld.param.u32 %r0, [times]; ld.param.u32 %r1, [round];\n"
    "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "mad.lo.u32 %r4, %r2, %r3, %r4;\n"
    "mul.wide.u32 %d1, %r4, 4; add.u64 %d0, %d0, %d1;\n"
    "again: ld.global.u32 %r5, [%d0]; add.u32 %r5, %r5, 1; st.global.u32 [%d0], %r5;\n"
    "sub.u32 %r0, %r0, 1; setp.ne.u32 %p, %r0, 0; @%p bra again;\n"
    "add.u32 %r5, %r5, %r1; st.global.u32 [%d0], %r5; ret;\n}\n";

static uint32_t values[COUNT];

static uint32_t sum(void) {
    uint32_t all = 0;
    for (int i = 0; i < COUNT; i++) all += values[i];
    return all;
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    void *context = 0, *module = 0, *streams[2], *events[2];
    uint64_t kernel = 0, own[2], shared = 0;
    float milliseconds = 0;
    load_driver();
    OK(cuInit, 0);
    OK(cuDevicePrimaryCtxRetain, &context, 0);
    OK(cuCtxSetCurrent, context);
    OK(cuModuleLoadData, &module, KERNELS);
    OK(cuModuleGetFunction, &kernel, module, "work");
    for (int at = 0; at < 2; at++) {
        OK(cuStreamCreate, &streams[at], 1);
        OK(cuEventCreate, &events[at], 0);
        OK(cuMemAlloc_v2, &own[at], sizeof values);
    }
    OK(cuMemAllocManaged, &shared, sizeof values, 1);
    uint32_t *managed = (uint32_t *)shared;
    for (int i = 0; i < COUNT; i++) values[i] = managed[i] = i;
    if (!strcmp(what, "data")) values[7] = 70;
    OK(cuMemcpyHtoD_v2, own[0], values, sizeof values);
    OK(cuMemsetD8_v2, own[1], 0, sizeof values);
    OK(cuEventRecord, events[0], streams[0]);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t times = !strcmp(what, "launch") && round == 1 ? 41 : 40;
        uint64_t to[3] = {own[0], own[1], shared};
        for (int at = 0; at < 3; at++) {
            void *parameters[3] = {&to[at], &times, &round};
            void *stream = at < 2 ? streams[at] : 0;
            OK(cuLaunchKernel, kernel, COUNT / 64, 1, 1, 64, 1, 1, 0, stream, parameters, 0);
        }
        if (!strcmp(what, "fill") && round == 1) OK(cuMemsetD8_v2, own[1], 0, 4);
        OK(cuStreamSynchronize, streams[0]);
        OK(cuMemcpyDtoH_v2, values, own[0], sizeof values);
        OK(cuCtxSynchronize);
        printf("round %u: %u, %u\n", round, sum(), managed[COUNT - 1]);
        if (!strcmp(what, "shorter") && round == 1) return 0;
        if (round == 2) {
            printf("half\n");
            fflush(stdout);
            while (access("wait", F_OK) == 0) usleep(1000);
        }
    }
    OK(cuEventRecord, events[1], streams[0]);
    OK(cuEventSynchronize, events[1]);
    OK(cuEventElapsedTime, &milliseconds, events[0], events[1]);
    OK(cuMemcpyDtoH_v2, values, own[1], sizeof values);
    printf("%u after %.6f ms\n", sum(), milliseconds);
    return 0;
}
