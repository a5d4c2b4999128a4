#include "ptx/lines.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 1 << 20, FILES_MOST = 256, LINES_MOST = 1 << 20 };

/* ---- sections ---- */

struct section {
    const uint8_t *bytes;
    size_t count;
};

struct cubin {
    const uint8_t *bytes;
    size_t count;
    Elf64_Ehdr elf;
    struct section names;
};

static bool header(const struct cubin *cubin, unsigned i, Elf64_Shdr *out)
{
    if (i >= cubin->elf.e_shnum)
        return false;
    memcpy(out, cubin->bytes + cubin->elf.e_shoff + i * sizeof(*out), sizeof(*out));
    return out->sh_type == SHT_NOBITS ||
           (out->sh_offset <= cubin->count && out->sh_size <= cubin->count - out->sh_offset);
}

static bool cubin_open(struct cubin *cubin, const uint8_t *bytes, size_t count)
{
    Elf64_Shdr names;
    *cubin = (struct cubin){.bytes = bytes, .count = count};
    if (count < sizeof(cubin->elf))
        return false;
    memcpy(&cubin->elf, bytes, sizeof(cubin->elf));
    if (cubin->elf.e_shentsize != sizeof(Elf64_Shdr) || cubin->elf.e_shoff > count ||
        cubin->elf.e_shnum > (count - cubin->elf.e_shoff) / sizeof(Elf64_Shdr) ||
        !header(cubin, cubin->elf.e_shstrndx, &names))
        return false;
    cubin->names = (struct section){bytes + names.sh_offset, names.sh_size};
    return true;
}

/* A string of a section of strings, "" where it does not end there. */
static const char *string_at(struct section strings, uint64_t at)
{
    if (at >= strings.count || !memchr(strings.bytes + at, 0, strings.count - at))
        return "";
    return (const char *)strings.bytes + at;
}

static struct section find(const struct cubin *cubin, const char *name)
{
    Elf64_Shdr section;
    for (unsigned i = 0; i < cubin->elf.e_shnum; i++)
        if (header(cubin, i, &section) && section.sh_type != SHT_NOBITS &&
            !strcmp(string_at(cubin->names, section.sh_name), name))
            return (struct section){cubin->bytes + section.sh_offset, section.sh_size};
    return (struct section){NULL, 0};
}

/* ---- which function a sequence of addresses belongs to ---- */

/* "k" or ".text.k", the symbol at whose address a table's place is set. */
static bool is_of(const struct cubin *cubin, const Elf64_Sym *symbol, const char *kernel)
{
    const char *name = string_at(find(cubin, ".strtab"), symbol->st_name);
    Elf64_Shdr section;
    if (!*name && header(cubin, symbol->st_shndx, &section))
        name = string_at(cubin->names, section.sh_name);
    return !strcmp(!strncmp(name, ".text.", 6) ? name + 6 : name, kernel);
}

static bool belongs(const struct cubin *cubin, struct section relocations, size_t offset,
                    const char *kernel)
{
    const struct section symbols = find(cubin, ".symtab");
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= relocations.count; at += sizeof(Elf64_Rela)) {
        Elf64_Rela rela;
        Elf64_Sym symbol;
        memcpy(&rela, relocations.bytes + at, sizeof(rela));
        const uint64_t index = ELF64_R_SYM(rela.r_info);
        if (rela.r_offset != offset || index >= symbols.count / sizeof(symbol))
            continue;
        memcpy(&symbol, symbols.bytes + index * sizeof(symbol), sizeof(symbol));
        return is_of(cubin, &symbol, kernel);
    }
    return false;
}

/* ---- line tables: DWARF, versions 2 to 4 ---- */

struct row {
    uint64_t address;
    unsigned file, line;
};

struct table {
    struct row *row; /* of the kernel, in the order of addresses */
    size_t rows;
    const char *file[FILES_MOST];
    unsigned files;
};

struct reader {
    const struct cubin *cubin;
    struct section bytes, relocations;
    const char *kernel;
    size_t at;
    bool failed;
    uint64_t address;
    unsigned file, line, minimum, opcode_base, range;
    int base;
    bool wanted; /* the sequence is the kernel's */
    const uint8_t *lengths;
};

static uint64_t number(struct reader *r, unsigned bytes)
{
    uint64_t value = 0;
    if (r->failed || bytes > r->bytes.count - r->at) {
        r->failed = true;
        return 0;
    }
    memcpy(&value, r->bytes.bytes + r->at, bytes < 8 ? bytes : 8);
    r->at += bytes;
    return value;
}

static uint64_t leb(struct reader *r, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)number(r, 1);
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        shift += 7;
    } while (byte & 0x80 && !r->failed);
    if (is_signed && byte & 0x40 && shift < 64)
        value |= ~(uint64_t)0 << shift;
    return value;
}

static const char *text(struct reader *r)
{
    const char *begin = string_at(r->bytes, r->at);
    r->failed = r->failed || r->at >= r->bytes.count;
    r->at += strlen(begin) + 1;
    return begin;
}

static void read_names(struct reader *r, struct table *table)
{
    while (!r->failed && *text(r)) /* folders: files are shown by their names */
        ;
    while (!r->failed) {
        const char *name = text(r);
        if (!*name)
            break;
        leb(r, false);
        leb(r, false);
        leb(r, false);
        if (table->files + 1 < FILES_MOST)
            table->file[++table->files] = name;
    }
}

static void add_row(struct reader *r, struct table *table)
{
    if (!r->wanted || table->rows == ROWS_MOST)
        return;
    if (!(table->rows & (table->rows + 1)) || !table->row) { /* full: 0, 1, 3, 7, ... */
        struct row *more = realloc(table->row, (2 * table->rows + 2) * sizeof(*more));
        if (!more) {
            r->failed = true;
            return;
        }
        table->row = more;
    }
    table->row[table->rows++] = (struct row){r->address, r->file, r->line};
}

static void begin_sequence(struct reader *r)
{
    r->address = 0;
    r->file = r->line = 1;
    r->wanted = false;
}

static void extended(struct reader *r)
{
    const uint64_t length = leb(r, false);
    const size_t end = r->at + length;
    const uint64_t opcode = length ? number(r, 1) : 0;
    if (opcode == 1) {
        begin_sequence(r);
    } else if (opcode == 2) {
        r->wanted = belongs(r->cubin, r->relocations, r->at, r->kernel);
        r->address = 0; /* relative to the function */
    }
    r->failed = r->failed || end < r->at || end > r->bytes.count;
    r->at = r->failed ? r->at : end;
}

static void standard(struct reader *r, struct table *table, unsigned opcode)
{
    switch (opcode) {
    case 1:
        add_row(r, table);
        break;
    case 2:
        r->address += leb(r, false) * r->minimum;
        break;
    case 3:
        r->line += (unsigned)leb(r, true);
        break;
    case 4:
        r->file = (unsigned)leb(r, false);
        break;
    case 8:
        r->address += (uint64_t)((255 - r->opcode_base) / r->range) * r->minimum;
        break;
    case 9:
        r->address += number(r, 2);
        break;
    default:
        for (unsigned i = 0; i < r->lengths[opcode - 1] && !r->failed; i++)
            leb(r, false);
    }
}

static void run_program(struct reader *r, struct table *table, size_t end)
{
    begin_sequence(r);
    while (r->at < end && !r->failed) {
        const unsigned opcode = (unsigned)number(r, 1);
        if (opcode == 0) {
            extended(r);
        } else if (opcode < r->opcode_base) {
            standard(r, table, opcode);
        } else {
            const unsigned step = opcode - r->opcode_base;
            r->address += (uint64_t)(step / r->range) * r->minimum;
            r->line += (unsigned)(r->base + (int)(step % r->range));
            add_row(r, table);
        }
    }
}

/* One unit, of which each has a table of files of its own. */
static void read_unit(struct reader *r, struct table *table)
{
    const uint64_t length = number(r, 4);
    const size_t end = r->at + length;
    const unsigned version = (unsigned)number(r, 2);
    const uint64_t rest = number(r, 4);
    const size_t program = r->at + rest;
    r->failed = r->failed || length > r->bytes.count || end > r->bytes.count || program > end ||
                version < 2 || version > 4;
    r->minimum = (unsigned)number(r, version >= 4 ? 2 : 1) & 0xff;
    number(r, 1);
    r->base = (int8_t)number(r, 1);
    r->range = (unsigned)number(r, 1);
    r->opcode_base = (unsigned)number(r, 1);
    r->lengths = r->bytes.bytes + r->at;
    r->failed = r->failed || !r->range || !r->opcode_base;
    number(r, r->opcode_base ? r->opcode_base - 1 : 0);
    if (r->failed)
        return;
    read_names(r, table);
    r->at = program;
    run_program(r, table, end);
    r->at = end;
}

static void read_table(const struct cubin *cubin, const char *name, const char *relocations,
                       const char *kernel, struct table *table)
{
    struct reader r = {.cubin = cubin,
                       .bytes = find(cubin, name),
                       .relocations = find(cubin, relocations),
                       .kernel = kernel};
    while (r.at < r.bytes.count && !r.failed && !table->rows)
        read_unit(&r, table);
}

/* ---- PTX lines to locations ---- */

struct ptx_lines {
    struct ptx_location *of; /* by PTX line; line 0: none */
    unsigned count;
};

/* The row of an address: the last one that does not lie behind it. */
static const struct row *row_at(const struct table *table, uint64_t address)
{
    const struct row *best = NULL;
    for (size_t i = 0; i < table->rows && table->row[i].address <= address; i++)
        best = &table->row[i];
    return best;
}

static struct ptx_lines *join(const struct table *ptx, const struct table *source)
{
    struct ptx_lines *lines = calloc(1, sizeof(*lines));
    for (size_t i = 0; lines && i < ptx->rows; i++)
        if (ptx->row[i].line < LINES_MOST && ptx->row[i].line >= lines->count)
            lines->count = ptx->row[i].line + 1;
    if (lines)
        lines->of = calloc(lines->count + 1, sizeof(*lines->of));
    for (size_t i = 0; lines && lines->of && i < ptx->rows; i++) {
        const struct row *row = row_at(source, ptx->row[i].address);
        const unsigned line = ptx->row[i].line;
        if (!row || !row->file || row->file > source->files || line >= lines->count ||
            lines->of[line].line)
            continue;
        lines->of[line] = (struct ptx_location){.file = source->file[row->file], .line = row->line};
    }
    if (lines && !lines->of) {
        free(lines);
        return NULL;
    }
    return lines;
}

struct ptx_lines *ptx_lines_read(const uint8_t *bytes, size_t count, const char *kernel)
{
    struct cubin cubin;
    struct table ptx = {0}, source = {0};
    struct ptx_lines *lines = NULL;
    if (!cubin_open(&cubin, bytes, count))
        return NULL;
    read_table(&cubin, ".nv_debug_line_sass", ".rela.nv_debug_line_sass", kernel, &ptx);
    read_table(&cubin, ".debug_line", ".rela.debug_line", kernel, &source);
    if (ptx.rows && source.rows)
        lines = join(&ptx, &source);
    free(ptx.row);
    free(source.row);
    return lines;
}

void ptx_lines_free(struct ptx_lines *lines)
{
    if (lines)
        free(lines->of);
    free(lines);
}

static bool uses(const struct ptx_operand *o, unsigned count, unsigned reg)
{
    for (unsigned i = 0; i < count; i++)
        if ((o[i].kind == PTX_REGISTER && o[i].reg == reg) ||
            (o[i].items && uses(o[i].items, o[i].count, reg)))
            return true;
    return false;
}

/* Of two instructions that became one of the machine's, the table has one. A conversion without a
 * line has that of the instruction before it whose result it takes. */
static const struct ptx_location *line_of_source(const struct ptx_function *function, unsigned i)
{
    const struct ptx_instruction *ins = &function->instructions[i];
    if (ins->operand_count < 2 || ins->operands[1].kind != PTX_REGISTER)
        return NULL;
    for (unsigned k = i; k-- > 0;) {
        const struct ptx_instruction *other = &function->instructions[k];
        if (other->operand_count && other->location &&
            uses(other->operands, 1, ins->operands[1].reg))
            return other->location;
    }
    return NULL;
}

void ptx_lines_apply(const struct ptx_lines *lines, const struct ptx_function *function)
{
    /* The module belongs to the caller. */
    struct ptx_instruction *ins = (struct ptx_instruction *)(uintptr_t)function->instructions;
    for (unsigned i = 0; i < function->instruction_count; i++)
        if (!ins[i].location && ins[i].line < lines->count && lines->of[ins[i].line].line)
            ins[i].location = &lines->of[ins[i].line];
    for (unsigned i = 0; i < function->instruction_count; i++)
        if (!ins[i].location)
            ins[i].location = line_of_source(function, i);
}
