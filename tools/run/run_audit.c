#include "tools/run/run_audit.h"

#include <gnu/libc-version.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Before 2.35 glibc calls each function of lazily bound libraries through a slow path in an audited
 * process, so there the auditor is for CUVET_HOOK=entry alone. */
static bool audits_well(void)
{
    unsigned major = 0, minor = 0;

    return sscanf(gnu_get_libc_version(), "%u.%u", &major, &minor) == 2 &&
           (major > 2 || minor >= 35);
}

void run_audit_find(struct textbuf *audit, const char *library)
{
    static const char name[] = "libcuvet-audit.so";
    const char *before = getenv("LD_AUDIT"), *hook = getenv("CUVET_HOOK");
    const char *slash = strrchr(library, '/');
    bool chosen = hook && *hook && strcmp(hook, "auto") != 0;
    bool wanted = chosen ? !strcmp(hook, "entry") : audits_well();
    struct textbuf path;

    textbuf_init(&path);
    textbuf_printf(&path, "%.*s%s", slash ? (int)(slash - library) + 1 : 0, library, name);
    if (wanted && !path.failed && access(path.data, R_OK) == 0)
        textbuf_printf(audit, "%s%s%s", before ? before : "", before && *before ? ":" : "",
                       path.data);
    textbuf_release(&path);
}

/* An audited program has little static thread-local storage for the libraries that it starts with:
 * as much again as it would have. No more, because each thread's stack has it. */
static void give_static_tls(void)
{
    static const char tunable[] = "glibc.rtld.optional_static_tls";
    const char *before = getenv("GLIBC_TUNABLES");
    struct textbuf value;

    if (before && strstr(before, tunable))
        return;
    textbuf_init(&value);
    textbuf_printf(&value, "%s%s%s=4096", before ? before : "", before && *before ? ":" : "",
                   tunable);
    if (!value.failed)
        setenv("GLIBC_TUNABLES", value.data, 1);
    textbuf_release(&value);
}

void run_audit_set(const struct textbuf *audit)
{
    if (!audit->length)
        return;
    setenv("LD_AUDIT", audit->data, 1);
    give_static_tls();
}
