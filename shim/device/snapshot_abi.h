/*
 * snapshot_abi.h - the parameters of the copy kernels `cuvet_snapshot...`, passed by value as their
 * only one. Plain data for C and CUDA; library and fatbin are built together.
 */
#ifndef DEVICE_SNAPSHOT_ABI_H
#define DEVICE_SNAPSHOT_ABI_H

#include <stdint.h>

enum {
    SNAPSHOT_SEGMENTS = 24,
    SNAPSHOT_FEW = 4,
    SNAPSHOT_THREADS = 256, /* of a block, that copy ... */
    SNAPSHOT_CLERKS = 32,   /* ... and that see to all else meanwhile */
    SNAPSHOT_UNIT = 16,     /* bytes that a thread moves at once */
    SNAPSHOT_UNROLL = 4,
    SNAPSHOT_BESIDE = 16, /* segments beside rows by index or address */
    SELECT_BLOCKS = 32,
    SNAPSHOT_TOUCHES = 8, /* arrays of which rows are copied by index */
    SNAPSHOT_VALUES = 6,  /* elements that the seal carries */
    SNAPSHOT_IDS_DIMS = 3,
    SNAPSHOT_RANGES = 64, /* of memory that addresses in device memory may lead to */
    SNAPSHOT_CHUNK = SNAPSHOT_THREADS * SNAPSHOT_UNROLL * SNAPSHOT_UNIT, /* bytes a block moves */
};

/*
 * Which items of one dim are copied: `blocks` blocks of `length` consecutive items, in ascending
 * order and disjoint; the last may have more.
 */
struct snapshot_select {
    uint64_t length; /* a multiple of `unit` */
    uint32_t blocks;
    uint32_t unit; /* items that `start` counts in */
    uint32_t start[SELECT_BLOCKS];
};

/*
 * `rows` rows of `row_bytes` bytes each. Source and target must be equal modulo SNAPSHOT_UNIT, and
 * so must their pitches where rows > 1; then whole units move as vectors, and bytes outside the
 * rows are never touched on either side.
 *
 * With `chosen` it goes through the selection: `rows` / `chosen` times, `outer_source` bytes apart
 * (in the snapshot `outer_target`), the chosen items, `source_pitch` bytes from one item of the
 * array to the next, `target_pitch` from one chosen item to the next. A row is an item, or, where
 * items are dense, a whole block of them (by_block), the last of `last_bytes`. Any unit of the
 * selection times the source pitch is a multiple of SNAPSHOT_UNIT, and all of its rows are counted
 * in 32 bits.
 */
struct snapshot_segment {
    uint64_t source; /* device address */
    uint64_t target; /* offset in the snapshot */
    uint64_t row_bytes, rows;
    uint64_t source_pitch, target_pitch;
    uint64_t first_chunk;    /* of this segment in the grid */
    uint32_t rows_per_chunk; /* short rows: rows that one block takes; else 1 */
    uint32_t chunks_per_row; /* long rows: blocks that share one row; else 1 */
    uint64_t outer_source, outer_target;
    uint64_t last_bytes;
    uint32_t chosen;   /* rows of one time; 0: all rows are copied, and this part is not used */
    uint32_t by_block; /* 0 or 1 */
};

/*
 * Rows of an array that the elements of another one name, copied densely: row t of the copy is row
 * ids[t] of the array, `runs` runs of `run` bytes at a distance of `run_pitch`. Index i stands for
 * the row at i / page * pitch[0] + i % page * pitch[1]; none is copied for one that is negative or
 * not below `limit`, and what the copy holds there is undefined (see touch_abi.h). Source, pitches
 * and run are multiples of `unit`, the target of SNAPSHOT_UNIT.
 *
 * Element t of the indices: t counts through `dim`, outermost first, `stride` in elements of
 * id_bytes. Along `axis`, if it is none of -1, t counts chosen items.
 *
 * With `align` the elements are no indices but addresses, each of a row of `limit` bytes at least
 * that begins there (source, pitch and page are not used). One is followed only where it is a
 * multiple of `align` and so much of its row lies in one of the call's ranges, with which the row
 * ends; where one is not, the seal's `missed` is set.
 */
struct snapshot_touch {
    uint64_t source, target; /* as in snapshot_segment */
    uint64_t rows;
    uint64_t pitch[2], run_pitch; /* bytes */
    uint64_t limit;
    uint64_t ids; /* device address */
    uint64_t first_chunk;
    uint32_t dim[SNAPSHOT_IDS_DIMS];
    uint32_t page, runs, run;
    uint64_t stride[SNAPSHOT_IDS_DIMS];
    uint32_t id_bytes; /* 4 or 8 */
    int32_t axis;
    uint32_t unit; /* bytes moved at once: 1, 2, 4, 8 or SNAPSHOT_UNIT */
    uint32_t align;
};

/* Memory that may be read: device addresses from begin to below end. */
struct snapshot_range {
    uint64_t begin, end;
};

/*
 * A snapshot's state for the collector, in pinned host memory; complete when `sequence` is the
 * check's and the words before it are of that sequence, too. Each of them is the sequence <<
 * SEAL_BITS | its value (of both, what fits): they are written as soon as they are known, by any
 * block, and without a fence, which would hold the program's stream for a microsecond.
 */
struct snapshot_seal {
    uint64_t begin, end;       /* what was taken of the arena in units of SNAPSHOT_ALIGN, see
                                  reclaim.h; the snapshot ends there. Equal: no room, nothing copied */
    uint64_t started, stopped; /* %globaltimer; their difference: what its copies held the stream */
    uint64_t sequence;
    /* Written instead of all other words where the outlier gate did not select the launch, so that
     * nothing was copied: the sequence << SEAL_TIME_BITS | nanoseconds that the probe held the
     * stream, at most what fits. One word needs no fence before it. */
    uint64_t ordinary;
    /* Behind a fence, before all of the seal: the bits of the elements that the header lists, zero
     * beyond their bytes. */
    uint64_t value[SNAPSHOT_VALUES];
    uint64_t missed; /* a word as above, where an address was not followed */
};

enum { SEAL_TIME_BITS = 24, SEAL_BITS = 40, PLACE_BITS = 30, SNAPSHOT_ALIGN = 256 };

/*
 * Where one slot's snapshot was placed; device memory, zero at first. `found` is one word, so that
 * one read of memory is enough: the sequence << PLACE_BITS (what does not fit is left out) and the
 * offset in the arena in units of SNAPSHOT_ALIGN, plus 1; 0 for no room.
 */
struct snapshot_place {
    uint64_t claimed; /* the sequence whose place is being sought, or was */
    uint64_t found;   /* ... and the one that has one */
    uint64_t
        started;   /* %globaltimer at the beginning of the kernel under way, if it does not seal */
    uint64_t busy; /* nanoseconds that those of this snapshot held the stream that are done */
};

#define SNAPSHOT_MOST_ARENA ((1ull << PLACE_BITS) * SNAPSHOT_ALIGN - SNAPSHOT_ALIGN)

/* The arena of a context, in device memory but for the tail. */
struct snapshot_arena {
    uint64_t bytes;
    uint64_t lap;       /* the first power of two that is not below: offsets go round in it */
    uint64_t head;      /* all below was handed out */
    uint64_t tail_seen; /* the host's tail when it was last read */
    uint64_t *tail;     /* pinned host memory: all below is free again */
};

/*
 * The beginning of all call structs. Room in the arena is taken by the first block of the first
 * copy of a sequence, when the GPU gets there, not when the host enqueues: a host that runs far
 * ahead holds no memory for launches that have not run. `base` is the arena's; with `place` NULL
 * the snapshot's.
 *
 * Grid: as many blocks of SNAPSHOT_THREADS + SNAPSHOT_CLERKS threads as all segments have chunks,
 * at least one. The last block to finish leaves *ticket 0 and, in a kernel that `seals`, makes the
 * seal complete: its reader may use the copies, on this GPU.
 */
struct snapshot_header {
    uint64_t sequence;
    struct snapshot_seal *seal;
    uint32_t *ticket;
    struct snapshot_arena *arena;
    struct snapshot_place *place;
    const uint64_t *when; /* sequence * 2 + 1 there: copy; anything else: do nothing; NULL: copy */
    uint64_t base;
    uint64_t bytes; /* of the snapshot, a multiple of SNAPSHOT_ALIGN */
    uint32_t seals; /* 0 or 1: others follow */
    uint32_t segments;
    uint32_t reserved;
    uint32_t values;                 /* elements of the snapshot whose bits go into the seal: */
    uint64_t value[SNAPSHOT_VALUES]; /* offset << 4 | bytes, aligned to them; none: 0 */
};

/* The parameters of `cuvet_snapshot`. `select` is used by segments with `chosen` alone. */
struct snapshot_call {
    struct snapshot_header header;
    struct snapshot_select select;
    struct snapshot_segment segment[SNAPSHOT_SEGMENTS];
};

/* The parameters of `cuvet_snapshot_few`: the beginning of the same, for SNAPSHOT_FEW segments or
 * less. */
struct snapshot_call_few {
    struct snapshot_header header;
    struct snapshot_select select;
    struct snapshot_segment segment[SNAPSHOT_FEW];
};

/* The parameters of `cuvet_snapshot_rows`: rows by index or by address, behind the chunks of the
 * segments. */
struct snapshot_call_rows {
    struct snapshot_header header;
    struct snapshot_select select;
    struct snapshot_segment segment[SNAPSHOT_BESIDE];
    uint32_t touches, ranges;
    struct snapshot_touch touch[SNAPSHOT_TOUCHES];
    struct snapshot_range range[SNAPSHOT_RANGES]; /* `ranges`, where there are addresses */
};

#endif
