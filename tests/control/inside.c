/* Checks only what matters: from the warm-up's end on, and with a word about each wrong launch. */
#include <cuvet.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static void say(const struct cuvet_finding *finding, void *user)
{
    (void)user;
    fprintf(stderr, "%s: launch %" PRIu64 ": %" PRIu64 " of %" PRIu64 " elements are wrong\n",
            finding->label, finding->launch, finding->violations, finding->elements);
}

int main(void)
{
    int (*start)(void) = dlsym(RTLD_DEFAULT, "cuvet_start");
    int (*stop)(int) = dlsym(RTLD_DEFAULT, "cuvet_stop");
    int (*on_mismatch)(cuvet_mismatch_fn, void *) = dlsym(RTLD_DEFAULT, "cuvet_on_mismatch");
    int (*counters)(struct cuvet_counters *) = dlsym(RTLD_DEFAULT, "cuvet_counters");
    struct cuvet_counters c = {.size = sizeof(c)};

    if (!start || !stop || !on_mismatch || !counters)
        return 0; /* not under cuvet */
    stop(0);
    usleep(100000); /* ... load and warm up ... */
    on_mismatch(say, NULL);
    start();
    usleep(500000); /* ... the work ... */
    if (stop(5000) == CUVET_OK && counters(&c) == CUVET_OK)
        printf("%" PRIu64 " launches match, %" PRIu64 " do not; checking took %.3f s\n", c.match,
               c.mismatch, c.cost_seconds);
    on_mismatch(NULL, NULL);
    return 0;
}
