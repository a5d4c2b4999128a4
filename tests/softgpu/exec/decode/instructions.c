/* instructions.c - which instructions are known, and which of their modifiers. */
#include "exec/decode/decode.h"

#define SCOPES " cta cluster gpu sys"
#define ORDERS " weak relaxed acquire release acq_rel volatile mmio"
#define CACHES " ca cg cs lu cv wb wt nc L1::* L2::*"

/* Modifiers not listed are an error: their meaning would be lost. `name*` stands for all that
 * begin so. NULL: what lane_find() takes. */
static const struct row {
    const char *opcode;
    decode_fn *decode;
    const char *modifiers;
} rows[] = {
    {"mov", decode_mov, NULL},
    {"cvta", decode_cvta, " to cluster"},
    {"isspacep", decode_isspacep, " cluster"},
    {"mapa", decode_mapa, " cluster"},
    {"getctarank", decode_zero, " cluster"},
    {"createpolicy", decode_zero, " fractional range cvt L2 L2::*"},
    {"ld", decode_ld, SCOPES ORDERS CACHES},
    {"ldu", decode_ld, ""},
    {"st", decode_st, SCOPES ORDERS CACHES},
    {"atom", decode_atom, SCOPES ORDERS CACHES " add min max inc dec and or xor exch cas noftz"},
    {"red", decode_red, SCOPES ORDERS CACHES " add min max inc dec and or xor noftz"},
    {"cp", decode_cp,
     CACHES " async shared global cta commit_group wait_group wait_all mbarrier arrive noinc"
            " shared::cta bulk tensor 1d 2d 3d 4d 5d tile cluster mbarrier::complete_tx::bytes "
            "bulk_group read"
            " prefetch L2"},
    {"tensormap", decode_tensormap,
     SCOPES " release sync aligned replace tile cp_fenceproxy tensormap::generic b1024 shared::cta"
            " global global_address rank box_dim global_dim global_stride element_stride elemtype"
            " interleave_layout swizzle_mode fill_mode"},
    {"prefetch", decode_nothing, CACHES " L1 L2 tensormap"},
    {"prefetchu", decode_nothing, " L1 L2"},
    {"applypriority", decode_nothing, " L2::*"},
    {"discard", decode_nothing, " L2 L2::*"},
    {"pmevent", decode_nothing, " mask"},
    {"griddepcontrol", decode_nothing, " launch_dependents wait"},
    {"setmaxnreg", decode_nothing, " inc dec sync aligned"},
    {"fence", decode_fence,
     SCOPES ORDERS " sc proxy alias async async::generic mbarrier_init sync_restrict::*"
                   " tensormap::generic"},
    {"membar", decode_fence, " cta gl sys proxy alias"},
    {"bra", decode_bra, " uni"},
    {"brx", decode_brx, " idx uni"},
    {"call", decode_call, " uni"},
    {"ret", decode_ret, " uni"},
    {"exit", decode_exit, ""},
    {"trap", decode_trap, ""},
    {"brkpt", decode_trap, ""},
    {"nanosleep", decode_nanosleep, ""},
    {"alloca", decode_alloca, ""},
    {"stacksave", decode_stack, ""},
    {"stackrestore", decode_stack, ""},
    {"bar", decode_bar, " cta warp sync arrive red and or popc aligned"},
    {"barrier", decode_bar,
     " cta cluster sync arrive wait red and or popc aligned release relaxed acquire"},
    {"mbarrier", decode_mbarrier,
     SCOPES ORDERS " init inval arrive arrive_drop expect_tx complete_tx noComplete test_wait"
                   " try_wait parity pending_count"},
    {"shfl", decode_shfl, " sync up down bfly idx"},
    {"vote", decode_vote, " sync all any uni ballot"},
    {"match", decode_match, " any all sync"},
    {"redux", decode_redux, " sync add min max and or xor"},
    {"elect", decode_elect, " sync"},
    {"activemask", decode_activemask, ""},
    {"mma", decode_mma,
     " sync aligned row col satfinite m16n8k4 m16n8k8 m16n8k16 m16n8k32 m8n8k4 m8n8k16"},
    {"wmma", decode_wmma,
     " load store mma a b c d sync aligned row col satfinite m16n16k16 m32n8k16 m8n32k16 m16n16k8"},
    {"wgmma", decode_wgmma,
     " fence commit_group wait_group mma_async sync aligned satfinite m64n*"},
    {"ldmatrix", decode_ldmatrix, " sync aligned m8n8 x1 x2 x4 trans"},
    {"stmatrix", decode_stmatrix, " sync aligned m8n8 x1 x2 x4 trans"},
};

static bool is_listed(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *p = list; *p;) {
        p += strspn(p, " ");
        size_t n = strcspn(p, " ");
        bool open = n && p[n - 1] == '*';
        if (open ? strncmp(p, word, n - 1) == 0 : n == length && strncmp(p, word, n) == 0)
            return true;
        p += n;
    }
    return false;
}

static enum status check_modifiers(struct decoder *d, const char *list)
{
    for (unsigned i = 0; list && i < d->ins->modifier_count; i++)
        if (!is_listed(list, d->ins->modifiers[i]))
            return refuse(d, ".%s is not supported here", d->ins->modifiers[i]);
    return STATUS_OK;
}

enum status decode_instruction(struct decoder *d)
{
    const char *opcode = d->ins->opcode;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].opcode, opcode) != 0)
            continue;
        TRY(check_modifiers(d, rows[i].modifiers));
        return rows[i].decode(d);
    }
    if (lane_is_arithmetic(opcode))
        return decode_arithmetic(d);
    return refuse(d, "an instruction that is not supported here");
}
