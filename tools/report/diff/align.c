#include "tools/report/diff/align.h"

#include <stdbool.h>
#include <stdlib.h>

/* Steps of one search for the middle of a path, at least; more for long sequences. */
enum { LEAST_STEPS = 256 };

/* One sequence without the elements that the other lacks. */
struct side {
    uint64_t *element;
    size_t *index; /* in the whole sequence */
    size_t count;
};

struct aligning {
    struct side side[2];
    /* By diagonal, x - y: the furthest x of paths from the front, and from the back. */
    ptrdiff_t *forward, *backward;
    ptrdiff_t steps;
    size_t *partner;
};

/* The ranges [x, xend) of the first and [y, yend) of the second sequence. */
struct range {
    ptrdiff_t x, xend, y, yend;
};

/* Where a path divides. */
struct middle {
    ptrdiff_t x, y;
};

static bool same(const struct aligning *a, ptrdiff_t x, ptrdiff_t y)
{
    return a->side[0].element[x] == a->side[1].element[y];
}

/* ---- the middle of a path ---- */

struct search {
    struct aligning *a;
    struct range r;
    ptrdiff_t low, high;                    /* diagonals of the range */
    ptrdiff_t front, front_low, front_high; /* of the paths from the front */
    ptrdiff_t back, back_low, back_high;    /* and from the back */
    bool odd;
};

/* One more step of all paths from the front; true: one meets a path from the back. */
static bool step_forward(struct search *s, struct middle *out)
{
    ptrdiff_t *v = s->a->forward;
    if (s->front_low > s->low)
        v[--s->front_low - 1] = -1;
    else
        s->front_low++;
    if (s->front_high < s->high)
        v[++s->front_high + 1] = -1;
    else
        s->front_high--;
    for (ptrdiff_t d = s->front_high; d >= s->front_low; d -= 2) {
        ptrdiff_t x = v[d - 1] < v[d + 1] ? v[d + 1] : v[d - 1] + 1, y = x - d;
        while (x < s->r.xend && y < s->r.yend && same(s->a, x, y))
            x++, y++;
        v[d] = x;
        if (s->odd && s->back_low <= d && d <= s->back_high && s->a->backward[d] <= x) {
            *out = (struct middle){x, y};
            return true;
        }
    }
    return false;
}

static bool step_backward(struct search *s, struct middle *out)
{
    ptrdiff_t *v = s->a->backward;
    if (s->back_low > s->low)
        v[--s->back_low - 1] = PTRDIFF_MAX;
    else
        s->back_low++;
    if (s->back_high < s->high)
        v[++s->back_high + 1] = PTRDIFF_MAX;
    else
        s->back_high--;
    for (ptrdiff_t d = s->back_high; d >= s->back_low; d -= 2) {
        ptrdiff_t x = v[d - 1] < v[d + 1] ? v[d - 1] : v[d + 1] - 1, y = x - d;
        while (x > s->r.x && y > s->r.y && same(s->a, x - 1, y - 1))
            x--, y--;
        v[d] = x;
        if (!s->odd && s->front_low <= d && d <= s->front_high && x <= s->a->forward[d]) {
            *out = (struct middle){x, y};
            return true;
        }
    }
    return false;
}

/* The path from the front that came furthest. */
static struct middle furthest(const struct search *s)
{
    struct middle best = {s->r.x, s->r.y};
    for (ptrdiff_t d = s->front_low; d <= s->front_high; d += 2) {
        ptrdiff_t x = s->a->forward[d] < s->r.xend ? s->a->forward[d] : s->r.xend, y = x - d;
        if (y > s->r.yend) {
            x = s->r.yend + d;
            y = s->r.yend;
        }
        if (x + y > best.x + best.y)
            best = (struct middle){x, y};
    }
    return best;
}

/* A point that a shortest path through the range goes through. The range begins and ends with
 * elements that differ, and neither side is empty. */
static struct middle find_middle(struct aligning *a, const struct range *r)
{
    struct search s = {.a = a, .r = *r, .low = r->x - r->yend, .high = r->xend - r->y};
    struct middle out;
    s.front = s.front_low = s.front_high = r->x - r->y;
    s.back = s.back_low = s.back_high = r->xend - r->yend;
    s.odd = (s.front - s.back) & 1;
    a->forward[s.front] = r->x;
    a->backward[s.back] = r->xend;
    for (ptrdiff_t steps = 0; steps < a->steps; steps++) {
        if (step_forward(&s, &out) || step_backward(&s, &out))
            return out;
    }
    return furthest(&s);
}

/* ---- ranges ---- */

static void pair(struct aligning *a, ptrdiff_t x, ptrdiff_t y)
{
    a->partner[a->side[0].index[x]] = a->side[1].index[y];
}

/* Pairs what is equal at both ends of the range, and leaves what lies between. */
static void trim(struct aligning *a, struct range *r)
{
    while (r->x < r->xend && r->y < r->yend && same(a, r->x, r->y))
        pair(a, r->x++, r->y++);
    while (r->x < r->xend && r->y < r->yend && same(a, r->xend - 1, r->yend - 1))
        pair(a, --r->xend, --r->yend);
}

/* The first half is a call, the second the next turn of the loop. */
static void align_range(struct aligning *a, struct range r)
{
    for (;;) {
        trim(a, &r);
        if (r.x == r.xend || r.y == r.yend)
            return;
        struct middle m = find_middle(a, &r);
        align_range(a, (struct range){r.x, m.x, r.y, m.y});
        r.x = m.x;
        r.y = m.y;
    }
}

/* ---- the whole ---- */

static int by_value(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* The elements of `of` that `other` has, too. */
static bool keep_common(struct side *side, const struct align_sequence *of,
                        const struct align_sequence *other)
{
    uint64_t *sorted = calloc(other->count + 1, sizeof *sorted);
    side->element = calloc(of->count + 1, sizeof *side->element);
    side->index = calloc(of->count + 1, sizeof *side->index);
    bool good = sorted && side->element && side->index;
    for (size_t i = 0; good && i < other->count; i++)
        sorted[i] = other->element[i];
    if (good)
        qsort(sorted, other->count, sizeof *sorted, by_value);
    for (size_t i = 0; good && i < of->count; i++) {
        if (!bsearch(&of->element[i], sorted, other->count, sizeof *sorted, by_value))
            continue;
        side->element[side->count] = of->element[i];
        side->index[side->count++] = i;
    }
    free(sorted);
    return good;
}

/* About the square root of the diagonals. */
static ptrdiff_t steps_for(size_t diagonals)
{
    ptrdiff_t steps = 1;
    while ((size_t)steps * (size_t)steps < diagonals)
        steps *= 2;
    return steps < LEAST_STEPS ? LEAST_STEPS : steps;
}

/* Pairs what the sequences begin and end with in common, and leaves the rest; the number of
 * elements before it. */
static size_t trim_ends(struct align_sequence *first, struct align_sequence *second,
                        size_t *partner)
{
    size_t front = 0, n = first->count, m = second->count;
    while (front < n && front < m && first->element[front] == second->element[front]) {
        partner[front] = front;
        front++;
    }
    while (n > front && m > front && first->element[n - 1] == second->element[m - 1])
        partner[--n] = --m;
    *first = (struct align_sequence){first->element + front, n - front};
    *second = (struct align_sequence){second->element + front, m - front};
    return front;
}

enum status align_make(const struct align_sequence *first, const struct align_sequence *second,
                       size_t *partner, struct error *err)
{
    struct align_sequence of = *first, other = *second;
    for (size_t i = 0; i < first->count; i++)
        partner[i] = ALIGN_NONE;
    size_t front = trim_ends(&of, &other, partner);
    struct aligning a = {.partner = partner + front};
    bool good = keep_common(&a.side[0], &of, &other) && keep_common(&a.side[1], &other, &of);
    size_t n = a.side[0].count, m = a.side[1].count, diagonals = n + m + 3;
    ptrdiff_t *room = good ? calloc(2 * diagonals, sizeof *room) : NULL;
    if (room) {
        a.steps = steps_for(diagonals);
        a.forward = room + m + 1; /* diagonals from -m - 1 to n + 1 */
        a.backward = a.forward + diagonals;
        align_range(&a, (struct range){0, (ptrdiff_t)n, 0, (ptrdiff_t)m});
    }
    for (size_t i = 0; i < of.count; i++)
        a.partner[i] += a.partner[i] == ALIGN_NONE ? 0 : front;
    free(room);
    for (int i = 0; i < 2; i++) {
        free(a.side[i].element);
        free(a.side[i].index);
    }
    return room ? STATUS_OK
                : error_set(err, STATUS_NO_MEMORY, "no memory to align %zu launches with %zu",
                            first->count, second->count);
}
