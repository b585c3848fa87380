// Queries of the machine through NVIDIA's management library.
#include "call.h"

int main(void) {
    driver = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    CHECK(driver != 0);
    unsigned count = 0, index = 9, mhz = 0, milliwatts = 0;
    EXPECT(1, CALL(nvmlDeviceGetCount_v2)(&count));
    EXPECT(0, CALL(nvmlInit_v2)());
    EXPECT(0, CALL(nvmlDeviceGetCount_v2)(&count));
    CHECK(count == 1);
    uint64_t device = 0, same = 0;
    EXPECT(2, CALL(nvmlDeviceGetHandleByIndex_v2)(1, &device));
    EXPECT(0, CALL(nvmlDeviceGetHandleByIndex_v2)(0, &device));
    EXPECT(0, CALL(nvmlDeviceGetIndex)(device, &index));
    CHECK(index == 0);
    char text[96], uuid[96];
    EXPECT(7, CALL(nvmlDeviceGetName)(device, text, 4));
    EXPECT(0, CALL(nvmlDeviceGetName)(device, text, 96));
    CHECK(strcmp(text, "Warploom gtx480") == 0);
    EXPECT(0, CALL(nvmlDeviceGetUUID)(device, uuid, 96));
    EXPECT(0, CALL(nvmlDeviceGetHandleByUUID)(uuid, &same));
    CHECK(same == device && strlen(uuid) == 40);
    EXPECT(6, CALL(nvmlDeviceGetHandleByUUID)("GPU-0", &same));
    EXPECT(0, CALL(nvmlDeviceGetHandleByPciBusId_v2)("00000000:01:00.0", &same));
    EXPECT(6, CALL(nvmlDeviceGetHandleByPciBusId_v2)("00000000:02:00.0", &same));
    EXPECT(0, CALL(nvmlSystemGetDriverVersion)(text, 80));
    CHECK(strchr(text, '.'));
    struct {
        unsigned long long total, free, used;
    } memory, after;
    EXPECT(0, CALL(nvmlDeviceGetMemoryInfo)(device, &memory));
    // The settings of the test leave the size of the memory at 4 GiB.
    CHECK(memory.total == 4ull << 30 && memory.free + memory.used == memory.total);
    uint64_t block = 0;
    EXPECT(0, CALL(cuMemAlloc_v2)(&block, (size_t)1 << 20));
    EXPECT(0, CALL(nvmlDeviceGetMemoryInfo)(device, &after));
    CHECK(after.used >= memory.used + (1 << 20));
    int major = 0, minor = 9;
    EXPECT(0, CALL(nvmlDeviceGetCudaComputeCapability)(device, &major, &minor));
    CHECK(major == 2 && minor == 0);
    struct {
        unsigned gpu, memory;
    } rates = {9, 9};
    EXPECT(0, CALL(nvmlDeviceGetUtilizationRates)(device, &rates));
    CHECK(rates.gpu == 0 && rates.memory == 0);
    // The clock of the SMs of a GTX 480 is 700 MHz in its preset.
    EXPECT(0, CALL(nvmlDeviceGetMaxClockInfo)(device, 1, &mhz));
    CHECK(mhz == 700);
    EXPECT(3, CALL(nvmlDeviceGetPowerUsage)(device, &milliwatts));
    EXPECT(2, CALL(nvmlDeviceGetPowerUsage)(device + 1, &milliwatts));
    const char *sentence = (const char *)((const char *(*)(int))find("nvmlErrorString"))(3);
    CHECK(strcmp(sentence, "Not Supported") == 0);
    EXPECT(0, CALL(nvmlShutdown)());
    EXPECT(1, CALL(nvmlShutdown)());
    printf("all right\n");
    return 0;
}
