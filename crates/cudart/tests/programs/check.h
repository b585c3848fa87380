// What the test programs share: they check themselves, say what is wrong, and end with 1 then.
#pragma once
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong = 0;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                         \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)

#define GIVES(code, call)                                                                          \
    do {                                                                                           \
        int code_ = (int)(call);                                                                     \
        if (code_ != (int)(code)) {                                                                  \
            printf("%s:%d: %s gives %d (%s)\n", __FILE__, __LINE__, #call, code_,                  \
                   cudaGetErrorName((cudaError_t)code_));                                            \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)

#define OK(call) GIVES(cudaSuccess, call)

static int end(void) {
    printf(wrong ? "%d wrong\n" : "all right\n", wrong);
    return wrong != 0;
}
