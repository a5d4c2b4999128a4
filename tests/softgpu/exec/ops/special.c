/* special.c - special registers: what they are called and what they hold. */
#include <time.h>
#include "exec/ops/ops.h"

enum special {
    TID_X,
    TID_Y,
    TID_Z,
    NTID_X,
    NTID_Y,
    NTID_Z,
    CTAID_X,
    CTAID_Y,
    CTAID_Z,
    NCTAID_X,
    NCTAID_Y,
    NCTAID_Z,
    LANEID,
    WARPID,
    NWARPID,
    SMID,
    NSMID,
    GRIDID,
    MASK_EQ,
    MASK_LE,
    MASK_LT,
    MASK_GE,
    MASK_GT,
    CLOCK,
    CLOCK_HI,
    CLOCK64,
    TIMER,
    TIMER_LO,
    TIMER_HI,
    SHARED_DYNAMIC,
    SHARED_TOTAL,
    WARP_SIZE,
    ZERO, /* a cluster is one block: its rank, its number in the cluster, unused environment */
    ONE,  /* the cluster's size */
    CLUSTERID_X,
    CLUSTERID_Y,
    CLUSTERID_Z,
    NCLUSTERID_X,
    NCLUSTERID_Y,
    NCLUSTERID_Z,
};

static const struct {
    const char *name;
    unsigned char id, width;
} specials[] = {
    {"%tid.x", TID_X, 4},
    {"%tid.y", TID_Y, 4},
    {"%tid.z", TID_Z, 4},
    {"%tid.w", ZERO, 4},
    {"%ntid.x", NTID_X, 4},
    {"%ntid.y", NTID_Y, 4},
    {"%ntid.z", NTID_Z, 4},
    {"%ntid.w", ZERO, 4},
    {"%ctaid.x", CTAID_X, 4},
    {"%ctaid.y", CTAID_Y, 4},
    {"%ctaid.z", CTAID_Z, 4},
    {"%ctaid.w", ZERO, 4},
    {"%nctaid.x", NCTAID_X, 4},
    {"%nctaid.y", NCTAID_Y, 4},
    {"%nctaid.z", NCTAID_Z, 4},
    {"%nctaid.w", ZERO, 4},
    {"%laneid", LANEID, 4},
    {"%warpid", WARPID, 4},
    {"%nwarpid", NWARPID, 4},
    {"%smid", SMID, 4},
    {"%nsmid", NSMID, 4},
    {"%gridid", GRIDID, 8},
    {"%lanemask_eq", MASK_EQ, 4},
    {"%lanemask_le", MASK_LE, 4},
    {"%lanemask_lt", MASK_LT, 4},
    {"%lanemask_ge", MASK_GE, 4},
    {"%lanemask_gt", MASK_GT, 4},
    {"%clock", CLOCK, 4},
    {"%clock_hi", CLOCK_HI, 4},
    {"%clock64", CLOCK64, 8},
    {"%globaltimer", TIMER, 8},
    {"%globaltimer_lo", TIMER_LO, 4},
    {"%globaltimer_hi", TIMER_HI, 4},
    {"%dynamic_smem_size", SHARED_DYNAMIC, 4},
    {"%total_smem_size", SHARED_TOTAL, 4},
    {"%aggr_smem_size", SHARED_TOTAL, 4},
    {"WARP_SZ", WARP_SIZE, 4},
    {"%is_explicit_cluster", ZERO, 0},
    {"%clusterid.x", CLUSTERID_X, 4},
    {"%clusterid.y", CLUSTERID_Y, 4},
    {"%clusterid.z", CLUSTERID_Z, 4},
    {"%nclusterid.x", NCLUSTERID_X, 4},
    {"%nclusterid.y", NCLUSTERID_Y, 4},
    {"%nclusterid.z", NCLUSTERID_Z, 4},
    {"%cluster_ctaid.x", ZERO, 4},
    {"%cluster_ctaid.y", ZERO, 4},
    {"%cluster_ctaid.z", ZERO, 4},
    {"%cluster_nctaid.x", ONE, 4},
    {"%cluster_nctaid.y", ONE, 4},
    {"%cluster_nctaid.z", ONE, 4},
    {"%cluster_ctarank", ZERO, 4},
    {"%cluster_nctarank", ONE, 4},
};

int find_special(const char *name)
{
    for (unsigned i = 0; i < sizeof specials / sizeof *specials; i++)
        if (strcmp(specials[i].name, name) == 0)
            return (int)i;
    if (strncmp(name, "%envreg", 7) == 0) /* what the driver passes on: nothing */
        return find_special("%tid.w");
    return -1;
}

unsigned special_width(unsigned id)
{
    return specials[id].width;
}

static bool is_timed(enum special id)
{
    return id >= CLOCK && id <= TIMER_HI;
}

bool special_yields(unsigned id)
{
    return is_timed(specials[id].id);
}

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A clock of the device's: a cycle is a nanosecond. */
static uint64_t time_value(enum special id)
{
    uint64_t now = nanoseconds(id >= TIMER ? CLOCK_REALTIME : CLOCK_MONOTONIC);
    switch (id) {
    case CLOCK:
    case TIMER_LO:
        return (uint32_t)now;
    case CLOCK_HI:
    case TIMER_HI:
        return now >> 32;
    default:
        return now;
    }
}

static uint64_t lane_mask(enum special id, unsigned lane)
{
    const uint32_t self = 1u << lane, below = self - 1;
    switch (id) {
    case MASK_EQ:
        return self;
    case MASK_LE:
        return below | self;
    case MASK_LT:
        return below;
    case MASK_GE:
        return ~below;
    default:
        return ~(below | self);
    }
}

static uint64_t launch_value(const struct warp *w, enum special id)
{
    const struct launch *l = w->launch;
    switch (id) {
    case WARPID:
        return w->id;
    case NWARPID:
        return WARPS_MAX;
    case SMID:
        return w->block->number % SMS;
    case NSMID:
        return SMS;
    case GRIDID:
        return l->grid_id;
    case SHARED_DYNAMIC:
        return l->request->dynamic_shared;
    case SHARED_TOTAL:
        return l->shared_bytes;
    case WARP_SIZE:
        return LANES;
    case ONE:
        return 1;
    default:
        return 0;
    }
}

static uint64_t value(const struct warp *w, enum special id, unsigned lane)
{
    if (id <= TID_Z)
        return w->tid[id][lane];
    if (id <= NTID_Z)
        return w->launch->request->block[id - NTID_X];
    if (id <= CTAID_Z)
        return w->block->index[id - CTAID_X];
    if (id <= NCTAID_Z)
        return w->launch->request->grid[id - NCTAID_X];
    if (id >= CLUSTERID_X && id <= CLUSTERID_Z)
        return w->block->index[id - CLUSTERID_X];
    if (id >= NCLUSTERID_X)
        return w->launch->request->grid[id - NCLUSTERID_X];
    if (id == LANEID)
        return lane;
    if (id >= MASK_EQ && id <= MASK_GT)
        return lane_mask(id, lane);
    return launch_value(w, id);
}

enum step op_special(struct warp *w, const struct op *op)
{
    uint64_t values[LANES];
    const enum special id = specials[op->imm].id;
    const bool timed = is_timed(id);
    const uint64_t now = timed ? time_value(id) : 0;
    for (unsigned i = 0; i < LANES; i++)
        values[i] = timed ? now : value(w, id, i);
    if (op->width)
        put64(w, op->d, op->width, values);
    else
        put_pred(w, op->d, values[0] ? ALL_LANES : 0);
    return timed ? spin(w, 4) : STEP_NEXT;
}
