#include "linter/linter_wire.h"

#include <string.h>

enum { REQUEST_MAGIC = 0x6c696e31, ANSWER_MAGIC = 0x6c696e32 };

void lint_wire_request(struct lint_request *head, size_t symbol, size_t image)
{
    head->magic = REQUEST_MAGIC;
    head->symbol = (uint32_t)symbol;
    head->image = (uint32_t)image;
}

void lint_wire_answer(struct lint_answer *head, enum lint_outcome outcome, uint32_t notes,
                      size_t bytes)
{
    *head = (struct lint_answer){ANSWER_MAGIC, (uint32_t)outcome, notes, (uint32_t)bytes};
}

bool lint_wire_is_request(const struct lint_request *head)
{
    return head->magic == REQUEST_MAGIC && head->symbol > 1 &&
           head->symbol <= LINTER_SYMBOL_BYTES && head->image && head->image <= LINTER_IMAGE_BYTES;
}

bool lint_wire_is_answer(const struct lint_answer *head)
{
    return head->magic == ANSWER_MAGIC && head->outcome <= LINT_OTHER_BUILD &&
           head->bytes <= LINTER_ANSWER_BYTES;
}

static void put_wire_text(struct textbuf *out, const char *text)
{
    textbuf_add(out, text ? text : "", text ? strlen(text) + 1 : 1);
}

void lint_wire_put(struct textbuf *out, const struct lint_note *note)
{
    const uint32_t numbers[3] = {note->line, note->source_line, note->more};
    textbuf_add(out, (const char *)numbers, sizeof numbers);
    put_wire_text(out, note->rule);
    put_wire_text(out, note->severity);
    put_wire_text(out, note->sentence);
    put_wire_text(out, note->source);
}

static bool take_wire_text(const char **at, const char *end, const char **out)
{
    const char *zero = *at < end ? memchr(*at, '\0', (size_t)(end - *at)) : NULL;
    *out = *at;
    *at = zero ? zero + 1 : end;
    return zero != NULL;
}

bool lint_wire_take(const char **at, const char *end, struct lint_note *out)
{
    uint32_t numbers[3];
    if ((size_t)(end - *at) < sizeof numbers)
        return false;
    memcpy(numbers, *at, sizeof numbers);
    *at += sizeof numbers;
    *out = (struct lint_note){.line = numbers[0], .source_line = numbers[1], .more = numbers[2]};
    return take_wire_text(at, end, &out->rule) && take_wire_text(at, end, &out->severity) &&
           take_wire_text(at, end, &out->sentence) && take_wire_text(at, end, &out->source);
}
