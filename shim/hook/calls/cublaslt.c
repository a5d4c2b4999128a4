/* cublaslt.c - the wrapper of cublasLtMatmul: the descriptors of the call, by the library's own
 * queries. */
#include <string.h>

#include "hook/calls/gemm.h"
#include "hook/calls/wrap.h"
#include "lang/dtype.h"

/* One matrix. */
struct lt_layout {
    uint32_t type;
    int32_t order, batch, batch_mode;
    uint64_t rows, cols;
    int64_t ld, batch_offset;
};

struct lt_desc {
    int32_t compute, scale, pointer_mode, transa, transb, transc, fill;
    uint32_t epilogue;
    const void *bias, *aux, *a_scale, *b_scale, *c_scale, *d_scale, *amax, *d_out_scale, *aux_scale,
        *aux_amax;
    int64_t bias_batch, aux_ld, aux_batch;
    int32_t bias_type, aux_type, a_scale_mode, b_scale_mode;
    int8_t fast;
};

/* An attribute that the library does not support is left as it is. */
static void get(const struct library_queries *query, const void *desc, int attribute, void *out,
                size_t size)
{
    unsigned char bytes[8] = {0};
    size_t written = 0;
    if (query->desc_get(desc, attribute, bytes, size, &written) == BLAS_SUCCESS)
        memcpy(out, bytes, size);
}
#define GET(attribute, field) get(query, desc, LT_##attribute, &out->field, sizeof out->field)

static void read_lt_epilogue(const struct library_queries *query, const void *desc,
                             struct lt_desc *out)
{
    if (out->epilogue & LT_EPILOGUE_WITH_BIAS) {
        GET(BIAS_POINTER, bias);
        GET(BIAS_BATCH_STRIDE, bias_batch);
        GET(BIAS_TYPE, bias_type);
    }
    if (out->epilogue & LT_EPILOGUE_AUX) {
        GET(AUX_POINTER, aux);
        GET(AUX_LD, aux_ld);
        GET(AUX_BATCH_STRIDE, aux_batch);
        GET(AUX_TYPE, aux_type);
        GET(AUX_SCALE_POINTER, aux_scale);
        GET(AUX_AMAX_POINTER, aux_amax);
    }
}

static void read_desc(const struct library_queries *query, const void *desc, bool narrow,
                      struct lt_desc *out)
{
    *out = (struct lt_desc){
        .epilogue = LT_EPILOGUE_DEFAULT, .fill = LT_FILL_FULL, .bias_type = -1, .aux_type = -1};
    GET(COMPUTE_TYPE, compute);
    GET(SCALE_TYPE, scale);
    GET(POINTER_MODE, pointer_mode);
    GET(TRANSA, transa);
    GET(TRANSB, transb);
    GET(TRANSC, transc);
    GET(FILL_MODE, fill);
    GET(EPILOGUE, epilogue);
    if (out->epilogue != LT_EPILOGUE_DEFAULT)
        read_lt_epilogue(query, desc, out);
    if (!narrow)
        return;
    GET(A_SCALE_POINTER, a_scale);
    GET(B_SCALE_POINTER, b_scale);
    GET(C_SCALE_POINTER, c_scale);
    GET(D_SCALE_POINTER, d_scale);
    GET(AMAX_D_POINTER, amax);
    GET(FAST_ACCUM, fast);
    GET(A_SCALE_MODE, a_scale_mode);
    GET(B_SCALE_MODE, b_scale_mode);
    GET(D_OUT_SCALE_POINTER, d_out_scale);
}
#undef GET

struct lt_attribute {
    int attribute;
    void *out;
    size_t size;
};

static bool read_layout_attributes(const struct library_queries *query, const void *layout,
                                   const struct lt_attribute *rows, size_t count)
{
    size_t written;
    for (size_t i = 0; i < count; i++) {
        if (query->layout_get(layout, rows[i].attribute, rows[i].out, rows[i].size, &written))
            return false;
    }
    return true;
}

static bool read_layout(const struct library_queries *query, const void *layout,
                        struct lt_layout *out)
{
    size_t written;
    const struct lt_attribute rows[] = {
        {LT_LAYOUT_TYPE, &out->type, sizeof out->type},
        {LT_LAYOUT_ORDER, &out->order, sizeof out->order},
        {LT_LAYOUT_ROWS, &out->rows, sizeof out->rows},
        {LT_LAYOUT_COLS, &out->cols, sizeof out->cols},
        {LT_LAYOUT_LD, &out->ld, sizeof out->ld},
        {LT_LAYOUT_BATCH_COUNT, &out->batch, sizeof out->batch},
    };
    out->batch_offset = 0;
    out->batch_mode = 0;
    if (!read_layout_attributes(query, layout, rows, sizeof rows / sizeof *rows))
        return false;
    if (out->batch <= 1)
        return true;
    /* The first versions support strided batches only. */
    if (query->layout_get(layout, LT_LAYOUT_BATCH_MODE, &out->batch_mode, sizeof out->batch_mode,
                          &written))
        out->batch_mode = 0;
    return query->layout_get(layout, LT_LAYOUT_BATCH_OFFSET, &out->batch_offset,
                             sizeof out->batch_offset, &written) == BLAS_SUCCESS;
}

/* False: an order of tiles, or lists of addresses, which strides cannot describe. */
static bool lt_matrix(const struct lt_layout *layout, const void *data, int trans,
                      struct product_matrix *out)
{
    bool rows = layout->order == LT_ORDER_ROW;
    int64_t row = rows ? layout->ld : 1, col = rows ? 1 : layout->ld;
    *out =
        (struct product_matrix){data, blas_dtype((int)layout->type), trans == BLAS_OP_N ? row : col,
                                trans == BLAS_OP_N ? col : row, layout->batch_offset};
    return (layout->order == LT_ORDER_COL || rows) && layout->batch_mode == 0;
}

static const void *of_side(bool turned, const void *a, const void *b)
{
    return turned ? b : a;
}

static uint32_t epilogue_words(uint32_t epilogue)
{
    static const struct {
        uint32_t bit, word;
    } rows[] = {
#define EPILOGUE(name) {LT_EPILOGUE_##name, PRODUCT_##name},
        LT_EPILOGUE_LIST(EPILOGUE)
#undef EPILOGUE
    };
    uint32_t words = 0, known = LT_EPILOGUE_DEFAULT;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        words |= epilogue & rows[i].bit ? rows[i].word : 0;
        known |= rows[i].bit;
    }
    return words | (epilogue & ~known ? PRODUCT_OTHER : 0);
}

/* Of f8 products a bias has 16 bits, where C has not. */
static uint8_t bias_type(const struct product *product, const struct lt_desc *desc)
{
    bool wide = product->c_type == DTYPE_F16 || product->c_type == DTYPE_BF16;
    if (desc->bias_type >= 0)
        return blas_dtype(desc->bias_type);
    return dtype_bytes((enum dtype)product->a_type) == 1 && !wide ? DTYPE_BF16 : product->c_type;
}

static void set_epilogue(struct product *product, const struct lt_desc *desc, bool turned)
{
    struct product_arguments *out = &product->arguments;
    product->words |= epilogue_words(desc->epilogue);
    if (!turned && product->words & (PRODUCT_BIAS | PRODUCT_BGRAD))
        product->words |= PRODUCT_OTHER; /* one number for each row of c */
    product->bias_type = bias_type(product, desc);
    bool one_input = (product->words & PRODUCT_BGRADA) != (product->words & PRODUCT_BGRADB) >> 1;
    if (turned && one_input)
        product->words ^= PRODUCT_BGRADA | PRODUCT_BGRADB;
    if ((desc->aux_type >= 0 && blas_dtype(desc->aux_type) != product->c_type) || desc->aux_scale ||
        desc->aux_amax)
        product->words |= PRODUCT_OTHER;
    out->bias = (uint64_t)(uintptr_t)desc->bias;
    out->bias_batch = desc->bias_batch;
    out->aux = (uint64_t)(uintptr_t)desc->aux;
    out->aux_row = desc->aux_ld;
    out->aux_batch = desc->aux_batch;
}

/* How many scales an input has along the dim that C has too, and along k, and how they lie. */
struct lt_scales {
    int64_t outer, inner, outer_step, inner_step;
};

/* False: they lie in tiles, or in an order that is not known. */
static bool scales_of(int mode, int64_t size, int64_t k, struct lt_scales *out)
{
    const int64_t blocks = (k + 127) / 128;
    switch (mode) {
    case LT_SCALE_ONE:
        *out = (struct lt_scales){1, 1, 1, 1};
        return true;
    case LT_SCALE_OUTER:
        *out = (struct lt_scales){size, 1, 1, 1};
        return true;
    case LT_SCALE_VEC128:
        *out = (struct lt_scales){size, blocks, 1, size};
        return true;
    case LT_SCALE_BLOCK: /* lines of a multiple of 4 */
        *out = (struct lt_scales){(size + 127) / 128, blocks, (blocks + 3) / 4 * 4, 1};
        return true;
    default:
        return false;
    }
}

/* The scales of rows or blocks; the library's A is the product's b where that is turned over. */
static void set_blocks(struct product *product, const struct lt_desc *desc, bool turned)
{
    struct product_arguments *out = &product->arguments;
    struct lt_scales a, b;
    int left = turned ? desc->b_scale_mode : desc->a_scale_mode;
    int right = turned ? desc->a_scale_mode : desc->b_scale_mode;
    product->words |= PRODUCT_SCALES;
    out->how |= (int64_t)(desc->a_scale_mode & PRODUCT_MODE_MOST) << PRODUCT_MODE_A_SHIFT |
                (int64_t)(desc->b_scale_mode & PRODUCT_MODE_MOST) << PRODUCT_MODE_B_SHIFT;
    if (!scales_of(left, out->m, out->k, &a) || !scales_of(right, out->n, out->k, &b)) {
        product->words |=
            left > LT_SCALE_BLOCK || right > LT_SCALE_BLOCK ? PRODUCT_OTHER : PRODUCT_TILED;
        return;
    }
    out->a_scale_high = a.outer;
    out->a_scale_wide = a.inner;
    out->a_scale_row = a.outer_step;
    out->a_scale_col = a.inner_step;
    out->b_scale_high = b.inner;
    out->b_scale_wide = b.outer;
    out->b_scale_row = b.inner_step;
    out->b_scale_col = b.outer_step;
    if (!out->a_scale || !out->b_scale || product->words & PRODUCT_BATCH)
        product->words |= PRODUCT_OTHER;
}

static void set_scales(struct product *product, const struct lt_desc *desc, bool turned)
{
    struct product_arguments *out = &product->arguments;
    out->a_scale = (uint64_t)(uintptr_t)of_side(turned, desc->a_scale, desc->b_scale);
    out->b_scale = (uint64_t)(uintptr_t)of_side(turned, desc->b_scale, desc->a_scale);
    out->c_scale = (uint64_t)(uintptr_t)desc->d_scale;
    if (desc->a_scale_mode || desc->b_scale_mode)
        set_blocks(product, desc, turned);
    else if (desc->a_scale || desc->b_scale)
        product->words |= PRODUCT_SCALE;
    if (desc->d_scale)
        product->words |= PRODUCT_SCALED;
    if (desc->amax)
        product->words |= PRODUCT_AMAX;
    if (desc->fast)
        product->words |= PRODUCT_FAST;
    if (desc->c_scale || desc->d_out_scale)
        product->words |= PRODUCT_OTHER;
}

/* beta times C, which may be D itself. */
static void set_added(struct product *product, const struct product_matrix *added,
                      const struct product_matrix *d, bool turned)
{
    struct product_arguments *out = &product->arguments;
    if (added->data == d->data && added->row == d->row && added->col == d->col) {
        product->words |= PRODUCT_BETA;
        return;
    }
    product->words |= PRODUCT_ADDED;
    if (added->type != d->type)
        product->words |= PRODUCT_OTHER;
    out->added = (uint64_t)(uintptr_t)added->data;
    out->added_row = turned ? added->col : added->row;
    out->added_col = turned ? added->row : added->col;
    out->added_batch = added->batch;
}

/* Where alpha and beta are. */
static void set_lt_factors(struct product *product, const struct lt_desc *desc, uint8_t scale,
                           const void *alpha, const void *beta)
{
    struct product_arguments *out = &product->arguments;
    if (desc->pointer_mode == BLAS_POINTER_HOST) {
        out->alpha = dtype_load((enum dtype)scale, alpha);
        out->beta = beta ? dtype_load((enum dtype)scale, beta) : 0;
        return;
    }
    product->words |= PRODUCT_DEVICE;
    if (desc->pointer_mode != BLAS_POINTER_DEVICE)
        product->words |= PRODUCT_OTHER; /* a vector of factors */
    out->alpha_at = (uint64_t)(uintptr_t)alpha;
    out->beta_at = (uint64_t)(uintptr_t)beta;
    out->beta = 1; /* unknown: c is taken to be read */
}

struct lt_call {
    const void *desc, *alpha, *a, *a_layout, *b, *b_layout, *beta, *c, *c_layout, *d, *d_layout;
    const void *algorithm;
    size_t workspace;
};

/* Whether the algorithm may round parts of a sum to the type of C: the library's own choice, where
 * the call has none, may. */
static bool is_reduced(const struct library_queries *query, const struct lt_call *call,
                       const struct product *product)
{
    uint32_t scheme = 0;
    size_t written;
    if (product->accumulation != ACCUMULATION_F32 ||
        dtype_bytes((enum dtype)product->c_type) >= sizeof(float))
        return false;
    if (!call->algorithm || !query->algorithm_get ||
        query->algorithm_get(call->algorithm, LT_ALGORITHM_REDUCTION, &scheme, sizeof scheme,
                             &written) != BLAS_SUCCESS)
        return true;
    return scheme & (LT_REDUCTION_IN_PLACE | LT_REDUCTION_OUTPUT_TYPE);
}

/* What a replay needs to make the same call. */
static void set_how(const struct lt_call *call, const struct lt_desc *desc,
                    const struct lt_layout *const layout[4], struct product_arguments *out)
{
    static const int rows[] = {PRODUCT_ROWS_A, PRODUCT_ROWS_B, PRODUCT_ROWS_ADDED, PRODUCT_ROWS_C};
    out->how = PRODUCT_HOW_KNOWN | (desc->transa == BLAS_OP_N ? 0 : PRODUCT_TRANS_A) |
               (desc->transb == BLAS_OP_N ? 0 : PRODUCT_TRANS_B) |
               (layout[3]->order == LT_ORDER_ROW ? 0 : PRODUCT_TURNED);
    for (int i = 0; i < 4; i++)
        out->how |= layout[i]->order == LT_ORDER_ROW ? rows[i] : 0;
    out->compute = desc->compute;
    out->workspace = (int64_t)call->workspace;
    if (!call->algorithm)
        return;
    out->how |= PRODUCT_ALGORITHM;
    memcpy((char *)out + offsetof(struct product_arguments, algorithm0), call->algorithm,
           PRODUCT_ALGORITHM_BYTES);
}

static bool describe_lt_call(const struct library_queries *query, const struct lt_call *call,
                             struct product *product)
{
    struct lt_desc desc;
    struct lt_layout a, b, c, d;
    struct product_matrix left, right, added, out;
    uint8_t scale;
    if (!read_layout(query, call->a_layout, &a) || !read_layout(query, call->b_layout, &b) ||
        !read_layout(query, call->d_layout, &d) ||
        (call->c_layout != call->d_layout && !read_layout(query, call->c_layout, &c)))
        return false;
    if (call->c_layout == call->d_layout)
        c = d;
    bool narrow = dtype_bytes((enum dtype)blas_dtype((int)a.type)) <= 1;
    read_desc(query, call->desc, narrow, &desc);
    bool turned = d.order != LT_ORDER_ROW;
    bool plain =
        lt_matrix(&a, call->a, desc.transa, &left) & lt_matrix(&b, call->b, desc.transb, &right) &
        lt_matrix(&c, call->c, BLAS_OP_N, &added) & lt_matrix(&d, call->d, BLAS_OP_N, &out);
    product_set(product, &left, &right, &out, (int64_t)d.rows, (int64_t)d.cols,
                (int64_t)(desc.transa == BLAS_OP_N ? a.cols : a.rows), turned);
    product->arguments.batch = d.batch;
    set_how(call, &desc, (const struct lt_layout *const[4]){&a, &b, &c, &d}, &product->arguments);
    product->accumulation = (uint8_t)blas_accumulation(desc.compute, &scale);
    product->words = (plain && !desc.transc && desc.fill == LT_FILL_FULL ? 0 : PRODUCT_OTHER) |
                     (d.batch != 1 ? PRODUCT_BATCH : 0);
    set_lt_factors(product, &desc, blas_dtype(desc.scale), call->alpha, call->beta);
    if (product->arguments.beta != 0)
        set_added(product, &added, &out, turned);
    set_epilogue(product, &desc, turned);
    if (narrow)
        set_scales(product, &desc, turned);
    if (is_reduced(query, call, product))
        product->words |= PRODUCT_REDUCED;
    return true;
}

static bool matmul_begin(struct call_frame *frame, const struct library *library,
                         const struct lt_call *call, const void *stream)
{
    const struct library_queries *query = &library->query;
    frame->product.arguments.version = library->version;
    return query->desc_get && query->layout_get && call->alpha && call->d &&
           describe_lt_call(query, call, &frame->product) && product_begin(frame, stream);
}

WRAP(cublasLtMatmul,
     (void *handle, const void *desc, const void *alpha, const void *a, const void *a_layout,
      const void *b, const void *b_layout, const void *beta, const void *c, const void *c_layout,
      void *d, const void *d_layout, const void *algorithm, void *workspace, size_t workspace_bytes,
      void *stream),
     (handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algorithm,
      workspace, workspace_bytes, stream),
     matmul_begin(&frame, library,
                  &(struct lt_call){desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d,
                                    d_layout, algorithm, workspace ? workspace_bytes : 0},
                  stream))
