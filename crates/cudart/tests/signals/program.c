// Program that is ended by signals. It launches a kernel, tells that it is ready, and goes on as its
// argument says. Prototypes are those of cuda.h.
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *driver;

typedef int (*Call)();

static Call find(const char *name) {
    void *function = dlsym(driver, name);
    if (!function) {
        printf("there is no %s\n", name);
        exit(1);
    }
    return (Call)function;
}

#define OK(name, ...)                                     \
    do {                                                  \
        int got = find(#name)(__VA_ARGS__);               \
        if (got != 0) {                                   \
            printf("%s returned %d\n", #name, got);       \
            exit(1);                                      \
        }                                                 \
    } while (0)

// Kernel `forever` never ends, and `once` ends at once.
static const char KERNELS[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry once() { ret; }\n"
    ".visible .entry forever() {\n"
    ".reg .b32 %r;\n"
    "mov.u32 %r, 0;\n"
    "again: add.u32 %r, %r, 1; bra again;\n}\n";

static void handle(int signal) {
    (void)signal;
    _exit(9);
}

static void ready(int process) {
    printf("ready %d\n", process);
    fflush(stdout);
    printf("more text");
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    void *context = 0, *module = 0;
    uint64_t kernel = 0;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        printf("%s\n", dlerror());
        return 1;
    }
    // The process that starts the tests may ignore signals.
    signal(SIGINT, !strcmp(what, "handler") ? handle : !strcmp(what, "ignore") ? SIG_IGN : SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    OK(cuInit, 0);
    OK(cuDevicePrimaryCtxRetain, &context, 0);
    OK(cuCtxSetCurrent, context);
    OK(cuModuleLoadData, &module, KERNELS);
    int ends = !strcmp(what, "host") || !strcmp(what, "fork");
    OK(cuModuleGetFunction, &kernel, module, ends ? "once" : "forever");
    OK(cuLaunchKernel, kernel, 2, 1, 1, 32, 1, 1, 0, 0, 0, 0);
    if (!strcmp(what, "fork")) {
        OK(cuCtxSynchronize);
        int child = fork(), status = 0;
        if (child == 0) {
            for (;;) pause();
        }
        ready(child);
        waitpid(child, &status, 0);
        printf(", ended by signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        return 0;
    }
    if (!strcmp(what, "host")) {
        OK(cuCtxSynchronize);
        ready(getpid());
        for (;;) pause();
    }
    ready(getpid());
    if (!strcmp(what, "end")) return 0;
    // A program that does not look at errors must not go on.
    find("cuCtxSynchronize")();
    printf(", the kernel has ended\n");
    return 0;
}
