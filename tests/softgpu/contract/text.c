/* text.c - operations as PTX modules. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "contract.h"

/* Registers 4, 5, 6, 7 are the sources, and 3 the result. */
static char letter_of(enum kind kind)
{
    switch (kind_bits(kind)) {
    case 16:
        return 'h';
    case 32:
        return 'r';
    default:
        return 'd';
    }
}

static void print_register(FILE *out, const struct operation *op, char letter)
{
    static const char SOURCES[] = "ABCE";
    const char *at = strchr(SOURCES, letter);
    if (letter == 'P' || letter == 'Q')
        fprintf(out, "%%p%d", letter == 'P' ? 2 : 3);
    else if (letter == 'D')
        fprintf(out, "%%%c3", letter_of(op->result));
    else if (op->sources[at - SOURCES] == PREDICATE)
        fprintf(out, "%%p%d", (int)(at - SOURCES) + 4);
    else
        fprintf(out, "%%%c%d", letter_of(op->sources[at - SOURCES]), (int)(at - SOURCES) + 4);
}

/* Single capitals are registers. */
static void print_body(FILE *out, const struct operation *op, const char *body)
{
    for (const char *at = body; *at; at++) {
        bool alone = (at == body || (!isalnum((unsigned char)at[-1]) && at[-1] != '.')) &&
                     !isalnum((unsigned char)at[1]) && at[1] != '.';
        if (alone && strchr("ABCDEPQ", *at))
            print_register(out, op, *at);
        else
            fputc(*at, out);
    }
}

static void print_operation(FILE *out, const struct operation *op)
{
    char body[NAME_MAX_BYTES + 32];
    if (op->body) {
        print_body(out, op, op->body);
        return;
    }
    static const char *const SOURCES[] = {"", ", A", ", A, B", ", A, B, C", ", A, B, C, E"};
    /* Comparisons of single halves have one result. */
    bool lone = op->sources[0] == F16 || op->sources[0] == BF16;
    const char *result = op->result != PREDICATE ? "D" : lone ? "P" : "P|Q";
    snprintf(body, sizeof body, "%s %s%s;", op->name, result, SOURCES[op->source_count]);
    print_body(out, op, body);
    if (op->result == PREDICATE && lone)
        print_body(out, op, " mov.pred Q, P;");
}

static void print_kernel(FILE *out, const struct operation *op, unsigned number)
{
    fprintf(out,
            ".visible .entry op_%u(.param .u64 out, .param .u64 in0, .param .u64 in1,\n"
            "    .param .u64 in2, .param .u64 in3, .param .u32 count)\n{\n"
            "    .reg .pred %%p<8>;\n    .reg .b16 %%h<8>;\n    .reg .b32 %%r<12>;\n"
            "    .reg .b64 %%d<12>;\n"
            "    mov.u32 %%r0, %%ctaid.x;\n    mov.u32 %%r1, %%ntid.x;\n"
            "    mov.u32 %%r2, %%tid.x;\n    mad.lo.s32 %%r0, %%r0, %%r1, %%r2;\n"
            "    ld.param.u32 %%r1, [count];\n    setp.ge.u32 %%p0, %%r0, %%r1;\n"
            "    @%%p0 bra DONE;\n",
            number);
    for (unsigned s = 0; s < op->source_count; s++) {
        unsigned bits = kind_bits(op->sources[s]);
        fprintf(out,
                "    ld.param.u64 %%d0, [in%u];\n    mad.wide.u32 %%d0, %%r0, %u, %%d0;\n"
                "    ld.global.b%u %%%c%u, [%%d0];\n",
                s, bits / 8, bits, letter_of(op->sources[s]), s + 4);
        if (op->sources[s] == PREDICATE)
            fprintf(out, "    setp.ne.s32 %%p%u, %%r%u, 0;\n", s + 4, s + 4);
    }
    fprintf(out, "    ");
    print_operation(out, op);
    fprintf(out, "\n    ld.param.u64 %%d0, [out];\n    mad.wide.u32 %%d0, %%r0, %u, %%d0;\n",
            result_bits(op->result) / 8);
    if (op->result == PREDICATE)
        fprintf(out, "    selp.b32 %%r8, 1, 0, %%p2;\n    selp.b32 %%r9, 2, 0, %%p3;\n"
                     "    or.b32 %%r8, %%r8, %%r9;\n    st.global.u8 [%%d0], %%r8;\n");
    else
        fprintf(out, "    st.global.b%u [%%d0], %%%c3;\n", kind_bits(op->result),
                letter_of(op->result));
    fprintf(out, "DONE:\n    ret;\n}\n");
}

char *module_text(const struct operation *list, unsigned first, unsigned count)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        abort();
    unsigned arch = list[first].arch;
    fprintf(out, ".version %s\n.target sm_%u\n.address_size 64\n",
            arch < 89    ? "7.8"
            : arch < 100 ? "8.1"
                         : "8.6",
            arch);
    for (unsigned i = first; i < first + count; i++)
        print_kernel(out, &list[i], i);
    fclose(out);
    return text;
}
