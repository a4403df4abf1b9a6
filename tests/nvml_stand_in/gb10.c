/* NVML as a DGX Spark's GB10 answers it at rest: a name, a temperature, a power draw, and no memory of its own. */
#include <stdio.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7 };

/* nvmlPciInfo_t */
struct pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

/* nvmlFieldValue_t */
struct field {
    unsigned id, scope;
    long long timestamp, latency;
    unsigned value_type, result;
    union { double d; unsigned u; unsigned long long ull; } value;
};

/* nvmlProcessInfo_t, third version */
struct process {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
};

static int the_device;

/* 173 s of software power cap (ollama/ollama#13552); a test may ask for a figure that cannot be. */
#ifndef COUNTER
#define COUNTER 173000000000ULL
#endif

int nvmlInitWithFlags(unsigned flags) { (void)flags; return SUCCESS; }
int nvmlInit_v2(void) { return SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }
int nvmlSystemGetDriverVersion(char *text, unsigned length) { snprintf(text, length, "580.126.09"); return SUCCESS; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return SUCCESS; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = &the_device;
    return index == 0 ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetName(void *device, char *text, unsigned length) {
    (void)device;
    snprintf(text, length, "NVIDIA GB10");
    return SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci) {
    (void)device;
    memset(pci, 0, sizeof *pci);
    pci->domain = 0xF, pci->bus = 1;
    pci->pci_device_id = 0x2E1210DE;
    strcpy(pci->bus_id, "0000000F:01:00.0");
    return SUCCESS;
}

int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
    (void)device;
    *major = 12, *minor = 1;
    return SUCCESS;
}

/* One pool of memory: the GPU has none to report, no limit of its own, no memory clock. */
int nvmlDeviceGetMemoryInfo(void *device, void *memory) { (void)device, (void)memory; return NOT_SUPPORTED; }
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *limit) { (void)device, (void)limit; return NOT_SUPPORTED; }
int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *next) { (void)device, (void)now, (void)next; return NOT_SUPPORTED; }

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) { (void)device; *milliwatts = 3100; return SUCCESS; }

int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *celsius) {
    (void)device;
    *celsius = 36;
    return sensor == 0 ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetMarginTemperature(void *device, unsigned *versioned) {
    (void)device;
    if (versioned[0] != 0x1000008) /* nvmlMarginTemperature_v1: version 1, eight bytes */
        return INVALID_ARGUMENT;
    versioned[1] = 58;
    return SUCCESS;
}

int nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *mhz) {
    (void)device;
    *mhz = 208;
    return kind == 1 ? SUCCESS : NOT_SUPPORTED; /* NVML_CLOCK_SM */
}

int nvmlDeviceGetMaxClockInfo(void *device, unsigned kind, unsigned *mhz) {
    (void)device;
    *mhz = 3003;
    return kind == 1 ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates) {
    (void)device;
    rates[0] = 0, rates[1] = 0;
    return SUCCESS;
}

int nvmlDeviceGetPerformanceState(void *device, unsigned *state) { (void)device; *state = 8; return SUCCESS; }
int nvmlDeviceGetDisplayActive(void *device, unsigned *active) { (void)device; *active = 1; return SUCCESS; }

int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *bits) {
    (void)device;
    *bits = 0x1;
    return SUCCESS;
}

/* The power counter as the driver gives it, the thermal one missing: each field has a status of its own. */
int nvmlDeviceGetFieldValues(void *device, int count, struct field *fields) {
    (void)device;
    for (int i = 0; i < count; i++) {
        fields[i].result = fields[i].id == 74 ? SUCCESS : NOT_SUPPORTED; /* NVML_FI_DEV_PERF_POLICY_POWER */
        fields[i].value_type = 3; /* NVML_VALUE_TYPE_UNSIGNED_LONG_LONG */
        fields[i].value.ull = COUNTER;
    }
    return SUCCESS;
}

static int processes(unsigned *count, struct process *rows, unsigned pid, unsigned long long used) {
    unsigned room = *count;
    *count = 1;
    if (rows == NULL || room < 1)
        return INSUFFICIENT_SIZE;
    memset(rows, 0, sizeof *rows);
    rows->pid = pid, rows->used_memory = used;
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *rows) {
    (void)device;
    return processes(count, rows, 4242, 40426799104ULL);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *count, struct process *rows) {
    (void)device;
    return processes(count, rows, 2211, ~0ULL); /* NVML_VALUE_NOT_AVAILABLE */
}
