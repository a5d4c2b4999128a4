#include "lang/formals_product.h"

#include <stddef.h>

static bool has(const struct formal *formal, int size)
{
    return size >= 0 && formals_axis(formal, size) >= 0;
}

const char *formals_resolve_product(const struct formals *formals, struct formal_product *product)
{
    const struct formal *out = formals_array(formals, product->out);
    const struct formal *a = formals_array(formals, product->a);
    const struct formal *b = formals_array(formals, product->b);
    int dims = out->ndim;
    if (dims < 2 || dims > 3 || a->ndim != dims || b->ndim != dims)
        return "a product is of two matrices, or of batches of them";
    product->batch = dims == 3 ? out->dim[0].size : -1;
    product->rows = out->dim[dims - 2].size;
    product->cols = out->dim[dims - 1].size;
    product->sum = -1;
    for (int i = 0; i < dims; i++) {
        int size = a->dim[i].size;
        if (has(b, size) && !has(out, size))
            product->sum = size;
    }
    bool fits = product->sum >= 0 && has(a, product->rows) && has(b, product->cols);
    if (dims == 3)
        fits &= has(a, product->batch) && has(b, product->batch);
    for (int i = 0; i < product->addends; i++) {
        const struct formal *added = formals_array(formals, product->added[i].array);
        for (int d = 0; d < added->ndim; d++)
            fits &= has(out, added->dim[d].size);
    }
    return fits ? NULL : "the dims of these arrays are not those of a product";
}
