#include "compile/compile_wire.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t request_magic = 0x51455243, answer_magic = 0x534e4143;

char *compile_wire_request(enum compile_kind kind, const struct user_text *text, int arch,
                           size_t *bytes)
{
    struct compile_request head = {
        .magic = request_magic,
        .kind = kind,
        .arch = arch,
        .first_line = text->first_line,
        .yaml_line = text->yaml_line,
        .where = (uint32_t)strlen(text->where) + 1,
        .file = (uint32_t)strlen(text->file) + 1,
        .text = (uint32_t)strlen(text->text) + 1,
    };
    *bytes = sizeof head + head.where + head.file + head.text;
    char *message = malloc(*bytes);
    if (message) {
        char *at = mempcpy(message, &head, sizeof head);
        at = mempcpy(at, text->where, head.where);
        at = mempcpy(at, text->file, head.file);
        memcpy(at, text->text, head.text);
    }
    return message;
}

size_t compile_wire_follows_request(const struct compile_request *head)
{
    size_t bytes = (size_t)head->where + head->file + head->text;
    bool sound = head->magic == request_magic && head->where && head->file && head->text;
    return sound && bytes <= COMPILE_WIRE_BYTES ? bytes : 0;
}

bool compile_wire_text(const struct compile_request *head, const char *bytes, struct user_text *out)
{
    *out = (struct user_text){
        .where = bytes,
        .file = bytes + head->where,
        .text = bytes + head->where + head->file,
        .first_line = head->first_line,
        .yaml_line = head->yaml_line,
    };
    return strnlen(out->where, head->where) == head->where - 1 &&
           strnlen(out->file, head->file) == head->file - 1 &&
           strnlen(out->text, head->text) == head->text - 1;
}

char *compile_wire_answer(enum status status, bool cached, const char *sentence,
                          const struct ref_image *image, size_t *bytes)
{
    struct compile_answer head = {
        .magic = answer_magic,
        .status = (uint32_t)status,
        .cached = cached,
        .sentence = (uint32_t)strlen(sentence) + 1,
        .cubin = image->cubin_bytes,
        .ptx = image->ptx_bytes,
    };
    *bytes = sizeof head + head.sentence + head.cubin + head.ptx;
    char *message = malloc(*bytes);
    if (message) {
        char *at = mempcpy(message, &head, sizeof head);
        at = mempcpy(at, sentence, head.sentence);
        if (head.cubin)
            at = mempcpy(at, image->cubin, head.cubin);
        if (head.ptx)
            memcpy(at, image->ptx, head.ptx);
    }
    return message;
}

size_t compile_wire_follows_answer(const struct compile_answer *head)
{
    bool sound = head->magic == answer_magic && head->sentence &&
                 head->sentence <= COMPILE_WIRE_BYTES && head->cubin <= COMPILE_WIRE_BYTES &&
                 head->ptx <= COMPILE_WIRE_BYTES;
    size_t bytes = sound ? head->sentence + head->cubin + head->ptx : 0;
    return bytes <= COMPILE_WIRE_BYTES ? bytes : 0;
}

enum status compile_wire_result(const struct compile_answer *head, const char *bytes,
                                struct ref_image *image, struct error *err)
{
    *image = (struct ref_image){0};
    if (head->status)
        return error_set(err, (enum status)head->status, "%.*s", (int)head->sentence - 1, bytes);
    if (!ref_image_fill(image, bytes + head->sentence, head->cubin, head->ptx))
        return error_set(err, STATUS_NO_MEMORY, "no memory for a compiled reference");
    return STATUS_OK;
}
