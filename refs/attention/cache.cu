/*
 * cache.cu - appending to key/value caches: rows that are written, and rows that have to stay.
 *
 * A token's head goes to a place of the cache; what no token goes to has to be as it was. Both are
 * checked on a sample. Two tokens for one place are a race, for which the formulas do not hold.
 * Caches are [blocks][page][heads][dim]; other orders of these dims are given by strides.
 */
#include "ref.h"

/* Heads or places of a sample, for about 2^22 comparisons of n places. */
#define APPEND_BUDGET(n) ((n) > 32768 ? 128 : 4194304 / ((n) + 1))

// token t goes to place slots(t), none where that is negative: vLLM's reshape_and_cache_flash
REFERENCE_ONCE(cache_append,
               "in key[tokens][heads][dim], in value?[tokens][heads][width], in slots[tokens], "
               "inout key_cache[blocks][page][heads][dim], "
               "inout value_cache?[blocks][page][heads][width], each heads, each dim, "
               "touch blocks page by slots, each tokens by slots")
{
    SAMPLE(i, page > 0 ? tokens * heads : 0, 16384)
    {
        long long t = i / heads, h = i % heads, slot = INDEX(slots(t));
        long long b = slot / page, s = slot % page;
        EACH(c, slot < 0 ? 0 : dim) key_cache(b, s, h, c) = key(t, h, c);
        EACH(c, slot < 0 || !value_cache.given ? 0 : width)
        value_cache(b, s, h, c) = value(t, h, c);
    }
    SAMPLE(i, blocks * page * heads, APPEND_BUDGET(tokens))
    {
        long long at = i / heads, b = at / page, s = at % page, h = i % heads;
        long long hits = INDEX(SUM_IF(t, tokens, INDEX(slots(t)) == at, NUMBER(1)));
        EACH(c, hits > 0 ? 0 : dim) key_cache(b, s, h, c) = key_cache.before(b, s, h, c);
        EACH(c, hits > 0 || !value_cache.given ? 0 : width)
        value_cache(b, s, h, c) = value_cache.before(b, s, h, c);
    }
}

// the same with keys as [dim / x][page][x] and values as [dim][page]: vLLM's reshape_and_cache,
// whose x elements are 16 bytes; inner = page x
REFERENCE_ONCE(cache_append_split,
               "in key[tokens][heads][dim], in value[tokens][heads][width], in slots[tokens], "
               "inout key_cache[blocks][heads][chunks][inner], "
               "inout value_cache[blocks][heads][width][page], each heads")
{
    long long x = page > 0 ? inner / page : 0;
    SAMPLE(i, x > 0 ? tokens * heads : 0, 16384)
    {
        long long t = i / heads, h = i % heads, slot = INDEX(slots(t));
        long long b = slot / page, s = slot % page;
        LOOP(c, slot < 0 ? 0 : dim) key_cache(b, h, c / x, s * x + c % x) = key(t, h, c);
        LOOP(c, slot < 0 ? 0 : width) value_cache(b, h, c, s) = value(t, h, c);
    }
    SAMPLE(i, x > 0 ? blocks * page * heads : 0, APPEND_BUDGET(tokens))
    {
        long long at = i / heads, b = at / page, s = at % page, h = i % heads;
        long long hits = INDEX(SUM_IF(t, tokens, INDEX(slots(t)) == at, NUMBER(1)));
        LOOP(c, hits > 0 ? 0 : dim)
        key_cache(b, h, c / x, s * x + c % x) = key_cache.before(b, h, c / x, s * x + c % x);
        LOOP(c, hits > 0 ? 0 : width) value_cache(b, h, c, s) = value_cache.before(b, h, c, s);
    }
}

// a row of the cache for each sequence: token i of sequence n goes to place filled(n) + i of row
// row(n), or n: FlashAttention's k_new, cache_seqlens and cache_batch_idx
REFERENCE_ONCE(cache_append_rows,
               "in key[batch][added][heads][dim], in value?[batch][added][heads][width], "
               "in filled[batch], in row?[batch], inout key_cache[rows][places][heads][dim], "
               "inout value_cache?[rows][places][heads][width], each heads, each dim, "
               "touch rows by row")
{
    SAMPLE(item, batch * added * heads, 16384)
    {
        long long n = item / heads / added, i = item / heads % added, h = item % heads;
        long long r = row.given ? INDEX(row(n)) : n, s = INDEX(filled(n)) + i;
        EACH(c, dim) key_cache(r, s, h, c) = key(n, i, h, c);
        EACH(c, value_cache.given ? width : 0) value_cache(r, s, h, c) = value(n, i, h, c);
    }
    SAMPLE(item, rows * places * heads, APPEND_BUDGET(batch))
    {
        long long r = item / heads / places, s = item / heads % places, h = item % heads;
        TERM(here, n, (row.given ? INDEX(row(n)) : n) == r);
        TERM(past, n, s - INDEX(filled(n)));
        long long hits =
            INDEX(SUM_IF(n, batch, here(n) && past(n) >= 0 && past(n) < added, NUMBER(1)));
        EACH(c, hits > 0 ? 0 : dim) key_cache(r, s, h, c) = key_cache.before(r, s, h, c);
        EACH(c, hits > 0 || !value_cache.given ? 0 : width)
        value_cache(r, s, h, c) = value_cache.before(r, s, h, c);
    }
}

// the same in pages: place s of sequence n is in page table(n, s / page)
REFERENCE_ONCE(cache_append_paged,
               "in key[batch][added][heads][dim], in value?[batch][added][heads][width], "
               "in filled[batch], in table[batch][pages], "
               "inout key_cache[blocks][page][heads][dim], "
               "inout value_cache?[blocks][page][heads][width], each heads, each dim, "
               "touch blocks by table")
{
    TERM(place, t, INDEX(filled(t / added)) + t % added);
    TERM(block, t, INDEX(table(t / added, place(t) / page)));
    SAMPLE(item, page > 0 ? batch * added * heads : 0, 16384)
    {
        long long t = item / heads, n = t / added, i = t % added, h = item % heads;
        long long b = block(t), s = place(t) % page;
        EACH(c, dim) key_cache(b, s, h, c) = key(n, i, h, c);
        EACH(c, value_cache.given ? width : 0) value_cache(b, s, h, c) = value(n, i, h, c);
    }
    SAMPLE(item, blocks * page * heads, APPEND_BUDGET(batch * added))
    {
        long long b = item / heads / page, s = item / heads % page, h = item % heads;
        long long hits =
            INDEX(SUM_IF(t, batch * added, block(t) == b && place(t) % page == s, NUMBER(1)));
        EACH(c, hits > 0 ? 0 : dim) key_cache(b, s, h, c) = key_cache.before(b, s, h, c);
        EACH(c, hits > 0 || !value_cache.given ? 0 : width)
        value_cache(b, s, h, c) = value_cache.before(b, s, h, c);
    }
}

// the same with pages that are listed one sequence behind the other: place s of sequence n is in
// page kv_indices(kv_indptr(n) + s / page). Token t goes to place positions(t) of sequence
// batch_indices(t); without the latter it is of the sequence n with append_indptr(n) <= t, or of
// sequence t; without the former a sequence's tokens are the last that it has room for by
// last_page_len: FlashInfer's append_paged_kv_cache
REFERENCE_ONCE(cache_append_csr,
               "in key[tokens][heads][dim], in value?[tokens][heads][width], "
               "in batch_indices?[tokens], in positions?[tokens], in append_indptr?[bounds], "
               "in kv_indptr[bounds], in kv_indices[listed], in last_page_len[sequences], "
               "inout key_cache[blocks][page][heads][dim], "
               "inout value_cache?[blocks][page][heads][width], each heads, each dim, "
               "touch blocks by kv_indices")
{
    bool search = !batch_indices.given && append_indptr.given;
    TERM(among, t, INDEX(SUM(b, bounds, NUMBER(INDEX(append_indptr(b)) <= t))) - 1);
    TERM(owner, t, batch_indices.given ? INDEX(batch_indices(t)) : search ? among(t) : t);
    TERM(first, n, INDEX(kv_indptr(n)));
    TERM(filled, n, (first(n + 1) - first(n) - 1) * page + INDEX(last_page_len(n)));
    TERM(end, t, search ? INDEX(append_indptr(owner(t) + 1)) : t + 1);
    TERM(last, t, first(owner(t) + 1) > first(owner(t)) ? filled(owner(t)) + t - end(t) : -1);
    TERM(inside, t, owner(t) >= 0 && owner(t) + 1 < bounds);
    TERM(place, t, !inside(t) ? -1 : positions.given ? INDEX(positions(t)) : last(t));
    TERM(block, t, place(t) < 0 ? -1 : INDEX(kv_indices(first(owner(t)) + place(t) / page)));
    SAMPLE(item, page > 0 ? tokens * heads : 0, 16384)
    {
        long long t = item / heads, h = item % heads, b = block(t), s = place(t) % page;
        EACH(c, b < 0 ? 0 : dim) key_cache(b, s, h, c) = key(t, h, c);
        EACH(c, b < 0 || !value_cache.given ? 0 : width)
        value_cache(b, s, h, c) = value(t, h, c);
    }
    SAMPLE(item, blocks * page * heads, APPEND_BUDGET(tokens * (search ? bounds : 1)))
    {
        long long b = item / heads / page, s = item / heads % page, h = item % heads;
        long long hits = INDEX(SUM_IF(t, tokens, block(t) == b && place(t) % page == s, NUMBER(1)));
        EACH(c, hits > 0 ? 0 : dim) key_cache(b, s, h, c) = key_cache.before(b, s, h, c);
        EACH(c, hits > 0 || !value_cache.given ? 0 : width)
        value_cache(b, s, h, c) = value_cache.before(b, s, h, c);
    }
}
