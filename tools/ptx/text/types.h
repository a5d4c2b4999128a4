/* types.h - the names of types and spaces. */
#ifndef PTX_TYPES_H
#define PTX_TYPES_H

#include "ptx/text/lexer.h"
#include "ptx/ptx.h"

enum ptx_type type_named(struct slice name);   /* PTX_NO_TYPE where it is none */
enum ptx_space space_named(struct slice name); /* "shared"; PTX_GENERIC where it is none */
unsigned vector_named(struct slice name);      /* 2, 4 or 8 for "v2" to "v8", else 0 */

#endif
