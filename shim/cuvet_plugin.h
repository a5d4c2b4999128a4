/*
 * cuvet_plugin.h - a plugin: a shared object with a function that is called for every finding.
 *
 * Write one function, build it as a shared object, set CUVET_PLUGIN to its path:
 *
 *     #include <cuvet_plugin.h>
 *     #include <stdio.h>
 *
 *     void cuvet_plugin_finding(const struct cuvet_mismatch *finding)
 *     {
 *         FILE *out = fopen("/var/tmp/findings.txt", "a");
 *         if (!out)
 *             return;
 *         fprintf(out, "%s, launch %llu\n", finding->label, (unsigned long long)finding->launch);
 *         fclose(out);
 *     }
 *
 *     cc -shared -fPIC -o findings.so findings.c
 *     cuvet plugin ./findings.so                       # calls it once, with a made-up finding
 *     CUVET_ON_MISMATCH=plugin CUVET_PLUGIN=./findings.so LD_PRELOAD=libcuvet.so ... PROGRAM
 *
 * The function runs in a process of its own, never in the program, one call at a time, in the order
 * of the findings. Its standard input, output and error are /dev/null, its folder is the program's,
 * its environment is the program's without LD_PRELOAD, LD_AUDIT, CUDA_INJECTION64_PATH and CUVET_*.
 * A call that ends the process (a crash, exit, an uncaught exception) or takes longer than 10
 * seconds costs that finding; the process is started again 3 times at most. When the program ends,
 * what is left has 2 seconds.
 *
 * A plugin that may meet an older cuvet compares `size` before it reads a field that was added
 * later:
 *
 *     if (finding->size > offsetof(struct cuvet_mismatch, subset) && finding->subset) ...
 *
 * Of one kernel the first 64 findings are passed on, and then each whose number is a power of two.
 */
#ifndef CUVET_PLUGIN_H
#define CUVET_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An element of an output array. */
struct cuvet_element {
    const char *array; /* the signature's name for it; NULL: no such element */
    int32_t dims;      /* by the signature; where that has more than 4, by the reference's formal */
    int64_t index[4];
    double got, reference, bound; /* |got - reference| may be `bound` */
};

/* One launch that is a mismatch. Valid during the call. Later versions add fields at the end: one
 * that lies beyond `size` is not there. */
struct cuvet_mismatch {
    size_t size;
    const char *kernel;    /* mangled name */
    const char *label;     /* how reports call it */
    const char *reference; /* what it was held against */
    const char *where;     /* "kernels.yaml:12", its entry in the registry */
    const char *bundle;    /* absolute or as CUVET_REPORT names it; NULL: none was written */
    const char *host;
    const char *run; /* CUVET_RUN; NULL: the program was not started by cuvet run */
    int64_t pid;
    int64_t rank;        /* of the process in its job; -1: it has none */
    uint64_t launch;     /* number among the launches of this kernel, from 0 */
    uint64_t occurrence; /* number among its findings, from 1 */
    int32_t device;
    uint32_t grid[3], block[3], shared_bytes;
    uint64_t elements;         /* compared */
    uint64_t violations;       /* outside their bound */
    uint64_t class_mismatches; /* those of them with a NaN or an infinity on one side */
    double max_abs, max_rel;   /* largest error; of f16 and bf16 elements within half an ulp, the
                                * share may be taken from every eighth element */
    double max_ratio;          /* largest error in units of its bound, of those beyond half
                                  an ulp; may be infinite */
    struct cuvet_element worst, first;
    /* Added later: a plugin holds `size` against these. */
    const char *subset; /* the dim of which some items alone were checked, such as "rows"; NULL: all
                           of the launch was. Indices are the launch's either way */
    int64_t subset_checked, subset_of; /* so many items of so many */
    int32_t differs; /* 1: declared deterministic, the kernel wrote other bytes than launch ... */
    uint64_t differs_from_launch; /* ... this of it for the same input; violations may be 0 */
    uint32_t graph;               /* the CUDA graph that launched it, from 1 in the order of
                                     instantiation; 0: none did */
    uint32_t graph_node;   /* its number among the kernel nodes; of a library call the first */
    uint64_t graph_replay; /* number among the launches of the graph, from 0 */
    const char *contract;  /* a sentence: which contract of `parity:` the launch breaks, and how;
                              NULL: none. violations may be 0 */
};

/* Yours. */
void cuvet_plugin_finding(const struct cuvet_mismatch *finding);

#ifdef __cplusplus
}
#endif
#endif
