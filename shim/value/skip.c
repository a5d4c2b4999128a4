#include "value/skip.h"

struct skip_row {
    const char *text, *sentence;
};

static const struct skip_row skip_rows[SKIP_COUNT] = {
    [SKIP_NONE] = {"none", "the launch was not skipped"},
#define SKIP(name, text, sentence) [SKIP_##name] = {text, sentence},
    SKIP_LIST(SKIP)
#undef SKIP
};

static const struct skip_row *reason_row(enum skip skip)
{
    static const struct skip_row unknown = {"unknown", "for a reason that has no name"};

    return (unsigned)skip < SKIP_COUNT ? &skip_rows[skip] : &unknown;
}

const char *skip_text(enum skip skip)
{
    return reason_row(skip)->text;
}

const char *skip_sentence(enum skip skip)
{
    return reason_row(skip)->sentence;
}
