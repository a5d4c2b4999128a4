/* skip.h - why a launch was not judged. Every launch seen ends in one verdict or in one of these.
 */
#ifndef VALUE_SKIP_H
#define VALUE_SKIP_H

/* SKIP(name, text in reports, sentence for people). The first three share a cache line of the
 * tallies with the launches seen (tally.h). */
#define SKIP_LIST(SKIP)                                                                            \
    SKIP(UNREGISTERED, "unregistered", "no registry entry names the kernel")                       \
    SKIP(NOT_SAMPLED, "not sampled", "the random gate passed it over")                             \
    SKIP(BUDGET, "budget", "checking it would have cost more than CUVET_BUDGET")                   \
    SKIP(ORDINARY, "ordinary", "the outlier gate found nothing unusual in its input")              \
    SKIP(PATTERN, "pattern", "a regex of the registry takes too many steps on the kernel's name")  \
    SKIP(CAPTURED, "captured", "the stream was being captured into a graph")                       \
    SKIP(GRAPH, "graph", "its CUDA graph has no instrumented twin, not yet or not at all")         \
    SKIP(NO_TWIN, "no twin",                                                                       \
         "its CUDA graph allocates memory or has conditional nodes: there can be one of it only")  \
    SKIP(DEVICE_UPDATES, "device updates",                                                         \
         "its CUDA graph has kernel nodes whose parameters are changed on the GPU")                \
    SKIP(CALL, "part of a call", "a kernel of a library call, which is checked as a whole")        \
    SKIP(CALL_CHANGED, "call changed",                                                             \
         "a library call in a CUDA graph, of which nodes have new parameters since its capture")   \
    SKIP(LEGACY, "legacy launch", "launched through an API that hides the kernel's parameters")    \
    SKIP(LAUNCH_FAILED, "launch failed", "the driver refused the launch")                          \
    SKIP(LAYOUT, "layout", "the signature does not fit the kernel's parameters")                   \
    SKIP(SHAPE, "shape", "the shapes do not fit the reference, or an expression failed")           \
    SKIP(WHEN, "when", "its entry's 'when' excludes the launch")                                   \
    SKIP(NOT_AFTER, "not after",                                                                   \
         "no launch that its entry names with 'after' was right before it")                        \
    SKIP(NULL_POINTER, "null pointer", "a pointer that must not be null is")                       \
    SKIP(EMPTY, "empty", "an array has no elements")                                               \
    SKIP(EXTENT, "extent", "an array reaches outside its allocation")                              \
    SKIP(ADDRESS, "address", "an address in device memory leads to no memory that its array fits") \
    SKIP(NEW_MEMORY, "new memory",                                                                 \
         "addresses in device memory led where none had been followed; later launches may")        \
    SKIP(TOO_LARGE, "too large", "the arrays do not fit the snapshot memory (CUVET_MEMORY)")       \
    SKIP(ARENA_FULL, "arena full", "no free snapshot memory (CUVET_MEMORY)")                       \
    SKIP(QUEUE_FULL, "queue full", "too many checks under way (CUVET_QUEUE)")                      \
    SKIP(NOT_READY, "context not ready", "the context could not be set up for checking")           \
    SKIP(NOT_COMPILED, "not compiled", "its reference is not compiled yet, or cannot be")          \
    SKIP(REFUSED, "reference refused",                                                             \
         "the reference reached outside its snapshot, or an element is written several times")     \
    SKIP(DRIVER, "driver error", "a driver call of ours failed")                                   \
    SKIP(OFF, "off", "checking was switched off")                                                  \
    SKIP(EXIT, "exit", "the program ended before the check did (CUVET_EXIT_WAIT)")

enum skip {
    SKIP_NONE,
#define SKIP(name, text, sentence) SKIP_##name,
    SKIP_LIST(SKIP)
#undef SKIP
        SKIP_COUNT
};

const char *skip_text(enum skip skip);
const char *skip_sentence(enum skip skip);

#endif
