/*
 * lift_table.c - arrays behind addresses that a kernel reads from memory, as kernels of grouped
 * products do: the array that has the addresses, behind a parameter, is a table.
 *
 * The snapshot has a row for each address of a table: so many bytes from there on. An access is
 * held against the row whose address is the last one that does not lie behind it.
 */
#include <string.h>
#include "lift/lift_parts.h"

enum {
    MOST_TABLES = 6,     /* that a signature may have */
    ROW_BYTES = 4 << 20, /* of an address, at most ... */
    ALL_BYTES = 64 << 20 /* ... and of all rows of a launch */
};

/* ---- views ---- */

static bool is_table_of(const struct lift *lift, unsigned table, const struct lift_view *view)
{
    return view->listed && !lift->view[table].listed && lift->view[table].param == view->param;
}

static bool is_address_table(const struct lift *lift, unsigned at)
{
    for (unsigned i = 0; i < lift->views; i++) {
        if (is_table_of(lift, at, &lift->view[i]))
            return true;
    }
    return false;
}

static uint64_t move_bits(uint64_t bits, const unsigned *to, unsigned count)
{
    uint64_t moved = 0;
    for (unsigned i = 0; i < count; i++)
        moved |= (bits >> i & 1) << to[i];
    return moved;
}

bool lift_reads_table(const struct lift *lift, unsigned at)
{
    return lift->step[at].array >= (int)(lift->views - lift->tables);
}

/* Whether a table has anything but addresses: it is written, or read as something else. */
static const struct ptx_instruction *find_other_use(const struct lift *lift)
{
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        const struct ptx_instruction *ins = &lift->kernel->instructions[i];
        if (lift_reads_table(lift, i) &&
            (lift->step[i].class_ != CLASS_LOAD || ptx_type_bits(ins->types[0]) != 64))
            return ins;
    }
    return NULL;
}

/* Gives the views their places `to`. */
static void move_views(struct lift *lift, const unsigned *to)
{
    struct lift_view was[REF_MAX_TENSORS];
    memcpy(was, lift->view, sizeof was);
    for (unsigned i = 0; i < lift->views; i++)
        lift->view[to[i]] = was[i];
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        if (lift->step[i].array >= 0)
            lift->step[i].array = (int8_t)to[lift->step[i].array];
    }
    lift->written = move_bits(lift->written, to, lift->views);
    lift->read = move_bits(lift->read, to, lift->views);
}

enum lift_refusal lift_find_tables(struct lift *lift, struct error *err)
{
    unsigned to[REF_MAX_TENSORS] = {0}, front = 0;
    lift->tables = 0;
    for (unsigned i = 0; i < lift->views; i++)
        lift->tables += is_address_table(lift, i);
    unsigned back = lift->views - lift->tables;
    for (unsigned i = 0; i < lift->views; i++)
        to[i] = is_address_table(lift, i) ? back++ : front++;
    move_views(lift, to);
    const struct ptx_instruction *other = find_other_use(lift);
    if (other || lift->tables > MOST_TABLES)
        return lift_refuse(lift, other, LIFT_TABLE, err);
    for (unsigned i = 0; i < lift->views - lift->tables; i++) {
        struct lift_view *view = &lift->view[i];
        for (unsigned k = lift->views - lift->tables; k < lift->views; k++) {
            if (is_table_of(lift, k, view))
                view->table = k;
        }
    }
    return LIFT_OK;
}

void lift_put_table(struct textbuf *out, const struct lift *lift, const struct lift_view *view,
                    unsigned element)
{
    const char *extent = lift->view[view->table].extent;
    textbuf_printf(out, "&(%s) / 8][min(%d, %u / max(1, (%s) / 8) / 16 * 16) / %u]", extent,
                   ROW_BYTES, (unsigned)ALL_BYTES / lift->tables, extent, element);
}

void lift_put_row(struct lift_writer *w, const struct ptx_operand *memory, unsigned bytes)
{
    lift_put_plain(w, "{");
    lift_put_plain(w, ".param .b64 cuvet_r, cuvet_s, cuvet_k, cuvet_a;");
    lift_put_plain(w, ".param .b32 cuvet_t, cuvet_l, cuvet_n;");
    lift_put_plain(w, "add.s64 %%ca1, %%r%u, %lld;", memory->items[0].reg,
                   (long long)memory->offset);
    lift_put_plain(w, "st.param.b64 [cuvet_s], %%cstate;");
    lift_put_plain(w, "st.param.b64 [cuvet_k], %%ccall;");
    lift_put_plain(w, "st.param.b32 [cuvet_t], %d;", w->step->array);
    lift_put_plain(w, "st.param.b32 [cuvet_l], %u;", w->lift->view[w->step->array].table);
    lift_put_plain(w, "st.param.b64 [cuvet_a], %%ca1;");
    lift_put_plain(w, "st.param.b32 [cuvet_n], %u;", bytes);
    lift_put_plain(w, "call (cuvet_r), cuvet_lift_row, (cuvet_s, cuvet_k, cuvet_t, cuvet_l, "
                      "cuvet_a, cuvet_n);");
    lift_put_plain(w, "ld.param.b64 %%ca1, [cuvet_r];");
    lift_put_plain(w, "}");
    lift_put_plain(w, "setp.eq.u64 %%cq1, %%ca1, -1;");
}
