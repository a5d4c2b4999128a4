/* number.h - numbers from text, the same in every locale that the program may have set.
 * Each function takes the whole text or refuses it; *out is written only on success. */
#ifndef TEXT_NUMBER_H
#define TEXT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

bool number_real(const char *text, double *out);     /* 0.5, 1e-5; finite only */
bool number_integer(const char *text, int64_t *out); /* -12, 0x1f */
bool number_unsigned(const char *text, uint64_t *out);
bool number_share(const char *text, double *out);   /* 5%, 0.5% as a fraction; off as 0 */
bool number_size(const char *text, uint64_t *out);  /* bytes: 4096, 64K, 256M, 2G */
bool number_limit(const char *text, uint64_t *out); /* the same, above 0; off as 0 */

#endif
