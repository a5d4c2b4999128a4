#include "call/product.h"

void product_set(struct product *product, const struct product_matrix *a,
                 const struct product_matrix *b, const struct product_matrix *c, int64_t rows,
                 int64_t cols, int64_t sum, bool by_columns)
{
    const struct product_matrix *left = by_columns ? b : a, *right = by_columns ? a : b;
    struct product_arguments *out = &product->arguments;
    product->a_type = left->type;
    product->b_type = right->type;
    product->c_type = c->type;
    out->a = (uint64_t)(uintptr_t)left->data;
    out->b = (uint64_t)(uintptr_t)right->data;
    out->c = (uint64_t)(uintptr_t)c->data;
    out->m = by_columns ? cols : rows;
    out->n = by_columns ? rows : cols;
    out->k = sum;
    out->a_row = by_columns ? left->col : left->row;
    out->a_col = by_columns ? left->row : left->col;
    out->b_row = by_columns ? right->col : right->row;
    out->b_col = by_columns ? right->row : right->col;
    out->c_row = by_columns ? c->col : c->row;
    out->a_batch = left->batch;
    out->b_batch = right->batch;
    out->c_batch = c->batch;
}

#define ARGUMENT(name) {PRODUCT_AT_##name * sizeof(uint64_t), sizeof(uint64_t), 0},
const struct param_layout product_layout = {.count = PRODUCT_ARGUMENTS,
                                            .param = {
#define PRODUCT_POINTER ARGUMENT
#define PRODUCT_INTEGER ARGUMENT
#define PRODUCT_REAL    ARGUMENT
#include "call/product.def"
#undef PRODUCT_POINTER
#undef PRODUCT_INTEGER
#undef PRODUCT_REAL
                                            }};

void product_params(const struct product *product, void *params[PRODUCT_ARGUMENTS])
{
    const uint64_t *argument = (const uint64_t *)&product->arguments;
    for (int i = 0; i < PRODUCT_ARGUMENTS; i++)
        params[i] = (void *)(uintptr_t)&argument[i];
}
