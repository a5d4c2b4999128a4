/* ref_dims.h - which dims the references take (refs/dialect/ref_space.h), for C. */
#ifndef TESTS_REF_DIMS_H
#define TESTS_REF_DIMS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

bool dims_are_sane(const long long *size, int count);

#ifdef __cplusplus
}
#endif

#endif
