/*
 * scene.h - the launch of a bundle placed on a worker's device: memory, image, parameters.
 *
 * The program's memory is rebuilt as regions: spans of addresses that arrays or pointers of the
 * launch cover. Inside a region everything lies as it did in the program; each region has an
 * address of its own on the device, with the same alignment, and guard bytes around it. Bytes that
 * the bundle does not hold are zero.
 */
#ifndef TOOLS_REPLAY_SCENE_H
#define TOOLS_REPLAY_SCENE_H

#include "tools/bundle/bundle_file.h"
#include "tools/worker/worker.h"

enum { SCENE_REGIONS = BUNDLE_ARRAYS + BUNDLE_POINTERS, SCENE_GUARD = 64 << 10 };

struct scene_region {
    uint64_t begin, bytes; /* in the program */
    uint8_t *content;      /* what it holds before the launch */
    bool unknown;          /* no array covers it: what it held is not known ... */
    bool workspace;        /* ... and the entry declares it as scratch */
};

struct scene {
    const struct bundle *bundle;
    struct worker *worker;
    const char *kernel; /* its name in the image */
    const uint8_t *image;
    size_t image_bytes;
    const char *image_file; /* where it is from; NULL: the bundle */
    bool around;            /* a region holds the bundle's surroundings */
    bool call;              /* the subject is a library call, which needs no image */
    const char *library;    /* ... of this file; NULL: of the one that is found */
    bool loaded;
    struct worker_kernel found;
    bool initial; /* module variables hold what the image begins with, not the bundle's values */
    bool written; /* ... and do not any more */
    int absent;   /* variables of the bundle that the image lacks ... */
    const char *absent_name; /* ... one of them; or NULL */
    struct scene_region region[SCENE_REGIONS];
    int regions;
    bool placed; /* at these addresses of the worker, moved by `skew`, until another skew is run or
                    regions are spread */
    uint64_t address[SCENE_REGIONS], skew;
};

/* Regions and what they hold. The bundle outlives the scene. `around`: where the bundle holds the
 * surroundings of its arrays, all of that is one region. */
enum status scene_create(struct scene **out, const struct bundle *bundle, bool around,
                         struct error *err);
void scene_destroy(struct scene *scene); /* NULL is fine */

/* The image that is run: the bundle's, or a file's, whose bytes go to *bytes for free(); and the
 * kernel's name in it, NULL for the program's. STATUS_INVALID: the bundle has none. */
enum status scene_choose(struct scene *scene, const char *file, const char *kernel, uint8_t **bytes,
                         struct error *err);

/* Puts the name of the image's file in front of what is wrong with it. */
void scene_blame_image(const struct scene *scene, struct error *err);

struct scene_spread;
struct scene_run;

/* How a run differs from the program's launch; zeros: not at all. */
struct scene_change {
    uint64_t skew;         /* bytes that every region is moved, over its alignment of 4096 */
    bool poisons;          /* fill outputs that are not read, and workspaces, with ... */
    uint8_t poison;        /* ... this byte */
    uint64_t seed;         /* interpreter: the order of blocks and warps */
    const uint32_t *grid;  /* another one; NULL: the program's */
    const uint8_t *params; /* with the program's addresses; NULL: the program's */
    const struct scene_spread *spread; /* by region; NULL: each as in the program */
    uint32_t noise;                    /* struct worker_launch has these */
    bool one_sm;
    uint32_t sm;
};

/* A region whose rows, `pitch` bytes each, lie `far` bytes apart on the device; pitch 0: as in the
 * program. */
struct scene_spread {
    uint64_t pitch, far;
    uint8_t
        fill; /* what bytes between the rows hold; 0: not known, and no memory is taken for them */
};

/* Bytes of a region that the run changed. Zeros where nothing is known of the region. */
struct scene_changed {
    uint64_t inputs; /* of arrays that are only read */
    uint64_t gaps;   /* of no array: between rows and around them. Not counted where a subset or a
                      * part is stored: bytes between its elements may be outputs, too */
};
struct scene_changed scene_changed(const struct scene *scene, const struct scene_run *run,
                                   int region);

/* Whether the element still holds the poison. */
bool scene_holds(const uint8_t *element, size_t size, uint8_t poison);

/* Whether `poisons` fills the array: it is written, and nothing that is read lies in it. */
bool scene_poisons(const struct bundle *bundle, const struct bundle_array *array);

struct scene_run {
    struct worker_result result;
    uint8_t *after[SCENE_REGIONS]; /* NULL unless the launch ran to its end */
    struct worker_guard guard[SCENE_REGIONS];
    uint64_t gaps; /* bytes between rows that were spread and filled, which the launch changed */
};

/* Runs the launch once, in a new worker process where the last one was lost. STATUS_OK whatever
 * the outcome of the launch is; release the run. */
enum status scene_run(struct scene *scene, const struct scene_change *change, struct scene_run *out,
                      struct error *err);
/* In place of a run: the outputs as the program left them. STATUS_INVALID: the bundle does not hold
 * them all. */
enum status scene_stored(struct scene *scene, struct scene_run *out, struct error *err);
void scene_run_release(struct scene_run *run);
/* The launch's parameters, with the addresses of the last run. */
void scene_params(const struct scene *scene, uint8_t *params);

/* The stored elements of an array, dense, from the region's bytes: `regions` is content (NULL) or
 * a run's after. For free(). */
uint8_t *scene_gather(const struct scene *scene, int array, uint8_t *const *after);
/* The other way, into the same. */
void scene_scatter(struct scene *scene, int array, const uint8_t *dense, uint8_t *const *after);

/* Every aligned word that is an address in a region gets the one of the last run. */
void scene_patch_words(const struct scene *scene, uint8_t *bytes, uint64_t count);

/* The region and the offset in it of an array. */
int scene_region_of(const struct scene *scene, uint64_t address, uint64_t *offset);

/* ---- scene_values.c ---- */

/* The values of module variables before a launch; addresses in them lead to the regions. An image
 * may lack a variable, which is counted. */
enum status scene_write_values(struct scene *scene, struct error *err);

/* ---- scene_judge.c ---- */

/* A tensor's stride over the array's stored elements, from one over the program's memory. */
int64_t scene_dense_stride(const struct bundle_array *array, int64_t stride);

/* The reference's numbers for a run: inputs as in the content, outputs as the run left them.
 * STATUS_UNSUPPORTED: the bundle does not hold all that the reference reads, and why. */
enum status scene_judge(struct scene *scene, const struct scene_run *run, enum worker_oracle oracle,
                        struct ref_verdict *numbers, enum verdict *verdict, struct error *err);

#endif
