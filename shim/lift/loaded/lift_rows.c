/*
 * lift_rows.c - arrays of which a kernel reaches the rows that numbers from memory name, such as
 * the weights of experts: these rows alone are copied. How far rows lie apart, and how far a row
 * reaches, are read from the addresses: index * pitch + the rest. Of scattered stores these show
 * whether an element has one index alone.
 */
#include <string.h>
#include "lift/lift_parts.h"

struct rows {
    unsigned by; /* the view of the indices */
    const struct lift_sum *pitch, *rest;
    int64_t bytes; /* of the largest access */
};

static bool same_sum(const struct lift_sum *a, const struct lift_sum *b)
{
    return lift_sum_at_most(a, b) && lift_sum_at_most(b, a);
}

/* The place in the table of a view and the register of its index; -1: the table is full. */
static int row_number(struct lift *lift, unsigned view, unsigned reg)
{
    for (unsigned i = 0; i < lift->rows; i++) {
        if (lift->row[i].view == view && lift->row[i].reg == reg)
            return (int)i;
    }
    if (lift->rows == LIFT_ROWS)
        return -1;
    lift->row[lift->rows] = (struct lift_row){view, reg};
    return (int)lift->rows++;
}

/* Takes what one access has to all of them. */
static bool join_rows(struct lift *lift, struct rows *all, const struct rows *one)
{
    if (!all->pitch) {
        *all = *one;
        return true;
    }
    all->bytes = one->bytes > all->bytes ? one->bytes : all->bytes;
    if (!lift_sum_at_most(one->rest, all->rest))
        all->rest = lift_sum_cover(lift, all->rest, one->rest);
    return all->rest && one->by == all->by && same_sum(one->pitch, all->pitch);
}

static bool add_access(struct lift *lift, unsigned at, struct lift_index index, struct rows *all)
{
    struct rows one = {.by = (unsigned)index.array};
    return lift_row_reach(lift, at, (unsigned)index.reg, &one.pitch, &one.rest, &one.bytes) &&
           join_rows(lift, all, &one);
}

static bool read_rows(struct lift *lift, unsigned at, struct rows *all)
{
    const struct ptx_instruction *ins = &lift->kernel->instructions[at];
    const unsigned array = (unsigned)lift->step[at].array;
    const unsigned memory = lift->step[at].class_ == CLASS_STORE ? 0 : 1;
    if (lift_is_bulk(lift->step[at].class_))
        return false;
    const struct lift_index index = lift_find_index(lift, &ins->operands[memory]);
    if (index.reg < 0 || (unsigned)index.array == array)
        return false;
    int row = row_number(lift, array, (unsigned)index.reg);
    lift->step[at].row = row + 1;
    return row >= 0 && !lift->view[index.array].dims && add_access(lift, at, index, all);
}

static bool has_names(const struct lift_term *term, const struct lift_term *names)
{
    unsigned found = 0;
    for (unsigned i = 0; i < term->names && found < names->names; i++)
        found += strcmp(term->name[i], names->name[found]) == 0;
    return found == names->names;
}

/* Whether the rest goes on by whole rows: then an index is where something begins, such as a
 * sequence of tokens, and names no row. */
static bool rest_goes_on(const struct rows *rows)
{
    const struct lift_term number = {.times = rows->pitch->constant};
    const struct lift_term *pitch = rows->pitch->count ? &rows->pitch->term[0] : &number;
    bool on =
        rows->pitch->count > 1 || (!rows->pitch->count && rows->rest->constant >= number.times);
    for (unsigned i = 0; i < rows->rest->count; i++)
        on |= has_names(&rows->rest->term[i], pitch) && rows->rest->term[i].times >= pitch->times;
    return on;
}

static bool stays_in_row(struct lift *lift, const struct rows *rows)
{
    const struct lift_sum *end = lift_sum_add(lift, rows->rest, lift_sum_number(lift, 1));
    return end && (lift_sum_at_most(end, rows->pitch) || !rest_goes_on(rows));
}

static bool find_named_rows(struct lift *lift, unsigned array)
{
    struct lift_view *view = &lift->view[array];
    struct rows all = {0};
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        if (lift->step[i].array == (int)array && !read_rows(lift, i, &all))
            return false;
    }
    if (!stays_in_row(lift, &all))
        return false;
    const char *pitch = lift_sum_text(lift, all.pitch), *rest = lift_sum_text(lift, all.rest);
    const struct lift_view *by = &lift->view[all.by];
    if (!pitch || !rest || !by->extent)
        return false;
    view->pitch = pitch;
    view->row_unit = (unsigned)all.bytes;
    view->row = arena_format(&lift->arena, "min(((%s) / %lld + 1) * %lld, %s)", rest,
                             (long long)all.bytes, (long long)all.bytes, pitch);
    view->rows = view->row ? all.by + 1 : 0;
    return view->rows;
}

bool lift_names_rows(const struct lift *lift, unsigned array)
{
    bool any = false;
    for (unsigned i = 0; i < lift->views; i++)
        any |= lift->view[i].rows == array + 1;
    return any;
}

/* The array whose numbers name the places of all stores to an array, one element by one number
 * alone; it is copied from its start to its end. */
static void find_named_places(struct lift *lift, unsigned array)
{
    struct lift_view *view = &lift->view[array];
    struct rows all = {0};
    bool named = true;
    for (unsigned i = 0; i < lift->kernel->instruction_count; i++) {
        if (lift->step[i].array != (int)array || !lift_stores(lift, i))
            continue;
        struct lift_index index = {-1, -1};
        if (!lift_is_bulk(lift->step[i].class_))
            index = lift_find_index(lift, &lift->kernel->instructions[i].operands[0]);
        lift->step[i].index = index.reg;
        named = named && index.reg >= 0 && add_access(lift, i, index, &all);
    }
    const struct lift_view *by = &lift->view[all.by];
    named = named && stays_in_row(lift, &all) && by->extent && !by->dims;
    view->index = named ? (int)all.by : -1;
}

void lift_find_rows(struct lift *lift)
{
    if (lift->tables)
        return;
    for (unsigned i = 0; i < lift->views; i++) {
        const unsigned before = lift->rows;
        if (lift->view[i].extent || lift->view[i].dims || find_named_rows(lift, i))
            continue;
        lift->rows = before;
        for (unsigned k = 0; k < lift->kernel->instruction_count; k++)
            lift->step[k].row = lift->step[k].array == (int)i ? 0 : lift->step[k].row;
    }
    /* An array whose own rows are named elsewhere is not there as a whole, to name others'. */
    for (unsigned i = 0; i < lift->views; i++) {
        if (lift->view[i].rows && lift->view[lift->view[i].rows - 1].rows)
            lift->view[i].rows = 0;
    }
    for (unsigned k = 0; k < lift->kernel->instruction_count; k++) {
        if (lift->step[k].array >= 0 && !lift->view[lift->step[k].array].rows)
            lift->step[k].row = 0;
    }
    for (unsigned i = 0; i < lift->views; i++) {
        if (lift->view[i].scattered)
            find_named_places(lift, i);
    }
}
