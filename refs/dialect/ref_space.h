/*
 * ref_space.h - index spaces, and how they are dealt to the grid.
 */
#ifndef REFS_REF_SPACE_H
#define REFS_REF_SPACE_H

#include "ref_judge.h"

/* No index space is larger: what is beyond comes from a broken call, not from a program. */
#define REF_MAX_SPACE ((long long)1 << 44)

/* Whether arrays can have these dims: the product of the largest two leaves room, so that formulas
 * may multiply. The product of all dims of several flat arrays is larger. */
REF_FN bool ref_sane_dims(const ref_call &call, int dims)
{
    double most = 1, second = 1;
    bool sane = true;
    for (int i = 0; i < dims; i++) {
        double size = (double)call.size[i];
        sane = sane && size >= 0;
        second = ref_more(second, size < most ? size : most);
        most = ref_more(most, size);
    }
    return sane && most * second < 0x1p62;
}

REF_SLOW bool ref_sane_dims_wide(const ref_call *call, int dims)
{
    return ref_sane_dims(*call, dims);
}

/* Packs of 0 .. n - 1, dealt to the lanes of a group. */
template <class E> struct ref_packs {
    static constexpr int width = ref_lanes<E>::count;
    ref_pack<width> at;
    long long n;
    int step;

    REF_FN ref_packs(long long n_, int lane, int lanes) : n(n_), step(lanes * width)
    {
        at.i = (long long)lane * width;
        fit();
    }
    REF_FN void fit()
    {
        long long left = n - at.i;
        at.count = left >= width ? width : (int)left;
    }
    REF_FN bool more() const
    {
        return at.i < n;
    }
    REF_FN void next()
    {
        at.i += step;
        fit();
    }
};

/* Items first .. end - 1, one for each group of the grid in turn. */
struct ref_items {
    long long at, end, step;
};

/* Packs of a rows x cols space, dealt to all threads of the grid. */
template <class E> struct ref_cells {
    static constexpr int width = ref_lanes<E>::count;
    long long row, c, per_row, cols, left, step, step_rows, step_packs;

    REF_FN ref_pack<width> pack() const
    {
        long long rest = cols - c * width;
        return {c * width, rest >= width ? width : (int)rest};
    }
    REF_FN bool more() const
    {
        return left > 0;
    }
    REF_FN void next()
    {
        left -= step;
        row += step_rows;
        c += step_packs;
        if (c >= per_row) {
            c -= per_row;
            row++;
        }
    }
};

/* The part of 0 .. n - 1 that belongs to this launch; both products stay below 2^63. */
REF_FN ref_items ref_piece(const ref_call &call, long long n)
{
    ref_items items = {0, n, 1};
    if (call.pieces <= 1)
        return items;
    long long pieces = call.pieces, piece = call.piece;
    long long share = n / pieces, rest = n % pieces;
    items.at = share * piece + rest * piece / pieces;
    items.end = share * (piece + 1) + rest * (piece + 1) / pieces;
    return items;
}

/* Deals a call's index spaces to the threads of the grid. */
template <class E> struct ref_dealer : ref_figures<E> {
    using ref_figures<E>::ref_figures;
    using ref_figures<E>::call;
    using ref_figures<E>::hot;

    /* An index space that a formula made too large or negative is empty, and refused. */
    REF_FN long long space(long long n)
    {
        if (n >= 0 && n <= REF_MAX_SPACE)
            return n;
        hot.refused++;
        return 0;
    }

    REF_FN ref_items deal_items(long long n, [[maybe_unused]] int lanes)
    {
        ref_items it = ref_piece(call, space(n));
#ifdef __CUDACC__
        int groups = REF_THREADS / lanes;
        it.at += (long long)(blockIdx.x - call.first_block) * groups + threadIdx.x / lanes;
        it.step = (long long)call.blocks * groups;
#endif
        return it;
    }

    REF_FN ref_cells<E> deal_cells(long long rows, long long cols)
    {
        ref_cells<E> it;
        it.cols = space(cols);
        it.per_row = it.cols / it.width + (it.cols % it.width != 0);
        bool fits = (double)rows * (double)it.per_row <= (double)REF_MAX_SPACE;
        ref_items mine = ref_piece(call, space(fits ? rows * it.per_row : -1));
        it.step = 1;
#ifdef __CUDACC__
        mine.at += (long long)(blockIdx.x - call.first_block) * REF_THREADS + threadIdx.x;
        it.step = (long long)call.blocks * REF_THREADS;
#endif
        long long per_row = it.per_row > 0 ? it.per_row : 1;
        it.left = mine.end - mine.at;
        it.row = mine.at / per_row;
        it.c = mine.at % per_row;
        it.step_rows = it.step / per_row;
        it.step_packs = it.step % per_row;
        return it;
    }
};

/* The same with bounds in f64, once in the code. */
REF_SLOW ref_items ref_deal_items_wide(const ref_call *call, ref_hot<double> *hot, long long n,
                                       int lanes)
{
    return ref_dealer<double>(*call, hot).deal_items(n, lanes);
}

REF_SLOW ref_cells<double> ref_deal_cells_wide(const ref_call *call, ref_hot<double> *hot,
                                               long long rows, long long cols)
{
    return ref_dealer<double>(*call, hot).deal_cells(rows, cols);
}

/* One of `budget` strata of 0 .. total - 1, and in it a place drawn by (seed, k). */
REF_FN long long ref_draw(uint64_t seed, long long k, long long total, long long budget)
{
    if (total <= budget)
        return k;
    long long share = total / budget, rest = total % budget;
    long long first = k * share + (k < rest ? k : rest);
    uint64_t length = (uint64_t)(share + (k < rest));
    return first + (long long)ref_high_product(ref_random(seed, (uint64_t)k), length);
}

/* Kernels write outputs by tiles of this many rows and columns, or of fewer. */
#define REF_TILE 128

/* An element of one of several matrices, or one of their tiles. */
struct ref_drawn {
    long long matrix, row, col;
};

/* `batch` matrices of m x n elements, tile by tile. Those at the lower and right edge are smaller.
 */
struct ref_tiling {
    long long m, n, down, across;

    REF_FN ref_tiling(long long m_, long long n_)
        : m(m_), n(n_), down((m_ + REF_TILE - 1) / REF_TILE), across((n_ + REF_TILE - 1) / REF_TILE)
    {
    }
    REF_FN static long long side(long long size, long long tile)
    {
        long long left = size - tile * REF_TILE;
        return left < REF_TILE ? left : REF_TILE;
    }
    /* The tile that holds element `place` of all, counted tile by tile and without `taken` elements
     * of each; `place` becomes that of the element in the tile. */
    REF_FN ref_drawn find(long long &place, long long taken) const
    {
        ref_drawn tile;
        long long all = m * n - taken * down * across, band = REF_TILE * n - taken * across;
        tile.matrix = place / all;
        place -= tile.matrix * all;
        tile.row = place / band;
        place -= tile.row * band;
        long long each = side(m, tile.row) * REF_TILE - taken;
        tile.col = place / each;
        place -= tile.col * each;
        return tile;
    }
    REF_FN ref_drawn tile(long long number) const
    {
        long long row = number / across;
        return {row / down, row % down, number % across};
    }
    REF_FN long long elements(const ref_drawn &tile) const
    {
        return side(m, tile.row) * side(n, tile.col);
    }
    /* Element `place` of the tile. */
    REF_FN ref_drawn in(const ref_drawn &tile, long long place) const
    {
        long long wide = side(n, tile.col), row = place / wide;
        return {tile.matrix, tile.row * REF_TILE + row, tile.col * REF_TILE + place - row * wide};
    }
};

/* Of a tile, the element that is drawn first. */
REF_FN long long ref_draw_first(uint64_t seed, long long number, long long elements)
{
    return (long long)ref_high_product(ref_random(seed, (uint64_t)number), (uint64_t)elements);
}

/*
 * Element k of `budget` different ones of all matrices. As far as the budget goes each tile has one
 * drawn in it, and the others are drawn from strata of what is left; with more tiles than elements
 * a stratum is a run of tiles.
 */
REF_SLOW ref_drawn ref_draw_tiled(uint64_t seed, long long k, long long batch, long long m,
                                  long long n, long long budget)
{
    const ref_tiling tiling(m, n);
    const long long total = batch * m * n, tiles = batch * tiling.down * tiling.across;
    if (total <= budget) {
        long long row = k / n;
        return {row / m, row % m, k - row * n};
    }
    if (tiles > budget) {
        long long place = ref_draw(seed, k, total, budget);
        const ref_drawn tile = tiling.find(place, 0);
        return tiling.in(tile, place);
    }
    if (k < tiles) {
        const ref_drawn tile = tiling.tile(k);
        return tiling.in(tile, ref_draw_first(seed, k, tiling.elements(tile)));
    }
    long long place = ref_draw(~seed, k - tiles, total - tiles, budget - tiles);
    const ref_drawn tile = tiling.find(place, 1);
    long long number = (tile.matrix * tiling.down + tile.row) * tiling.across + tile.col;
    long long elements = tiling.elements(tile);
    place += ref_draw_first(seed, number, elements) + 1;
    return tiling.in(tile, place < elements ? place : place - elements);
}

#endif
