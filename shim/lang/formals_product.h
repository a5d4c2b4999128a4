/* formals_product.h - what the dims of a promised product stand for; for formals.c. */
#ifndef VERIFY_FORMALS_PRODUCT_H
#define VERIFY_FORMALS_PRODUCT_H

#include "lang/formals.h"

/* Fills batch, rows, cols and sum; NULL, or why the arrays cannot be those of a product. Pure. */
const char *formals_resolve_product(const struct formals *formals, struct formal_product *product);

#endif
