/* NVML whose start never comes back, dies, or fails: pynvml calls nvmlInitWithFlags, others nvmlInit_v2. */
#include <signal.h>
#include <unistd.h>

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
#if defined(HANGS)
    for (;;)
        pause();
#elif defined(CRASHES)
    raise(SIGSEGV);
#endif
#if defined(FAILS)
    return FAILS;
#else
    return 0;
#endif
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
