/*
 * pattern.h - how an entry names kernels.
 *
 *     gelu_forward_kernel      exact: mangled, demangled, or demangled without return type and
 *                              parameters
 *     *rms_norm_kernel*        glob with * ? [..], of a whole name
 *     /rms_norm<(?<T>\w+)>/    PCRE2, anywhere in a name
 *
 * The mangled name is tried first, then the demangled one, then the plain one; build hashes of
 * anonymous namespaces are stripped from all but the mangled name. Immutable after compiling; any
 * thread may match.
 */
#ifndef NAMES_PATTERN_H
#define NAMES_PATTERN_H

#include "base/arena.h"
#include "base/error.h"
#include "lang/signature.h"
#include "names/symbol.h"

struct pattern;

/* STATUS_INVALID with what is wrong with a regex or glob. */
enum status pattern_compile(struct pattern **out, const char *text, struct error *err);
void pattern_destroy(struct pattern *pattern); /* NULL is fine */

/* The named groups, without values; names live as long as the pattern. */
void pattern_groups(const struct pattern *pattern, struct captures *out);

/* PATTERN_UNKNOWN: a regex took more steps than a name is worth, or more memory. */
enum pattern_match { PATTERN_NO, PATTERN_YES, PATTERN_UNKNOWN };

/* Whether the pattern names the kernel. Then *out has the groups with what they caught, as texts
 * of the arena. */
enum pattern_match pattern_match(const struct pattern *pattern, const struct symbol_names *names,
                                 struct arena *arena, struct captures *out);

const char *pattern_text(const struct pattern *pattern);

#endif
