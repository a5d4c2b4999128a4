/*
 * test_lint.c - each rule on a kernel that it catches and on one on which all rules stay quiet.
 *
 * samples/RULE.caught.ptx marks the line to be found with "// here"; where none is marked it is
 * that of the kernel. samples/RULE.yaml is the registry of both, where the rule needs an entry.
 * RULE.caught-WHAT.ptx and RULE.quiet-WHAT.ptx are further ones. A line "// launch GRID BLOCK
 * SHARED", seven numbers, is a launch of the kernel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <glob.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/common/says.h"
#include "tests/unit/fakes/packed_fatbin.h"
#include "tests/unit/fakes/small_elf.h"
#include "tools/lint/input.h"
#include "tools/lint/out.h"

#define SAMPLES "tests/unit/lint/samples/"

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (!file || !text || fread(text, 1, (1 << 20) - 1, file) == 0)
        fail_msg("%s cannot be read", path);
    fclose(file);
    return text;
}

static void complain(void *user, const char *sentence)
{
    (void)user;
    fail_msg("%s", sentence);
}

static struct registry *registry_beside(const char *rule)
{
    char path[256];
    struct registry *registry = NULL;
    snprintf(path, sizeof path, SAMPLES "%s.yaml", rule);
    struct registry_source source = {.files = path};
    if (access(path, R_OK) == 0)
        registry_load(&registry, &source, complain, NULL);
    return registry;
}

/* False: the sample has none. */
static bool launch_of(const char *path, struct lint_launch *out)
{
    char *text = read_text(path), *at = strstr(text, "// launch ");
    if (at &&
        sscanf(at, "// launch %u %u %u %u %u %u %u", &out->grid[0], &out->grid[1], &out->grid[2],
               &out->block[0], &out->block[1], &out->block[2], &out->shared) != 7)
        fail_msg("%s: expected seven numbers behind // launch", path);
    free(text);
    return at != NULL;
}

static void lint_file(struct lint_report *report, const char *rule, const char *path)
{
    struct error err = {0};
    static struct lint_launch launch;
    *report = (struct lint_report){.settings.registry = registry_beside(rule)};
    if (launch_of(path, &launch))
        report->settings.launch = &launch;
    if (lint_path(report, path, &err))
        fail_msg("%s", err.text);
    assert_int_equal(report->kernels, 1);
    assert_int_equal(report->skipped, 0);
}

static void lint_sample(struct lint_report *report, const char *rule, const char *kind)
{
    char path[256];
    snprintf(path, sizeof path, SAMPLES "%s.%s.ptx", rule, kind);
    lint_file(report, rule, path);
}

static void end(struct lint_report *report)
{
    registry_destroy(report->settings.registry);
    lint_release(report);
}

/* The marked line, else that of the kernel. */
static unsigned wanted_line(const char *path)
{
    char *text = read_text(path), *mark = strstr(text, "// here");
    if (!mark)
        mark = strstr(text, ".entry");
    unsigned line = 1;
    for (const char *at = text; at < mark; at++)
        line += *at == '\n';
    free(text);
    return line;
}

static void check_caught(const struct lint_rule *rule, const char *path)
{
    struct lint_report report;
    unsigned line = wanted_line(path);
    bool found = false;
    lint_file(&report, rule->id, path);
    for (size_t i = 0; i < report.findings; i++) {
        const struct lint_finding *f = &report.finding[i];
        if (f->rule != rule && f->severity > LINT_HINT)
            fail_msg("%s: line %u: %s [%s]", path, f->line, f->text, f->rule->id);
        found |= f->line == line;
    }
    if (!found)
        fail_msg("%s: nothing is found at line %u", path, line);
    end(&report);
}

static void check_quiet(const struct lint_rule *rule, const char *path)
{
    struct lint_report report;
    lint_file(&report, rule->id, path);
    if (report.findings)
        fail_msg("%s: line %u: %s [%s]", path, report.finding[0].line, report.finding[0].text,
                 report.finding[0].rule->id);
    end(&report);
}

/* Each rule has at least one sample of the kind. */
static void each_sample(const char *kind, void (*check)(const struct lint_rule *, const char *))
{
    for (const struct lint_rule *rule = lint_rules; rule->id; rule++) {
        char pattern[256];
        glob_t files;
        snprintf(pattern, sizeof pattern, SAMPLES "%s.%s*.ptx", rule->id, kind);
        if (glob(pattern, 0, NULL, &files))
            fail_msg("%s has no sample %s", rule->id, pattern);
        for (size_t i = 0; i < files.gl_pathc; i++)
            check(rule, files.gl_pathv[i]);
        globfree(&files);
    }
}

static void each_rule_catches(void **state)
{
    (void)state;
    each_sample("caught", check_caught);
}

static void each_rule_stays_quiet(void **state)
{
    (void)state;
    each_sample("quiet", check_quiet);
}

/* -- suppression and severities -- */

static size_t count_of(const char *rule, const struct lint_settings *settings)
{
    char path[256];
    struct error err = {0};
    struct lint_report report = {.settings = *settings};
    snprintf(path, sizeof path, SAMPLES "%s.caught.ptx", rule);
    assert_int_equal(lint_path(&report, path, &err), STATUS_OK);
    size_t count = report.findings;
    lint_release(&report);
    return count;
}

static void rules_are_left_out(void **state)
{
    (void)state;
    bool ignored[64] = {false};
    struct lint_settings settings = {.ignored = ignored};
    assert_int_equal(count_of("spin-weak", &settings), 1);
    ignored[lint_find_rule("spin-weak") - lint_rules] = true;
    assert_int_equal(count_of("spin-weak", &settings), 0);
    assert_null(lint_find_rule("spin-week"));
}

static void hints_are_shown_on_demand(void **state)
{
    (void)state;
    struct lint_settings settings = {.least = LINT_NOTE};
    assert_int_equal(count_of("vector-alignment", &settings), 0);
    settings.least = LINT_HINT;
    assert_int_equal(count_of("vector-alignment", &settings), 1);
}

static void kernels_are_picked(void **state)
{
    (void)state;
    struct lint_settings settings = {.kernel = "/^k$/"};
    assert_int_equal(count_of("spin-weak", &settings), 1);
    settings.kernel = "other*";
    assert_int_equal(count_of("spin-weak", &settings), 0);
}

/* -- input -- */

static enum status lint_bytes(const void *bytes, size_t count, struct lint_report *report,
                              struct error *err)
{
    *report = (struct lint_report){0};
    *err = (struct error){0};
    return lint_image(report, bytes, count, "m", err);
}

static void wrong_input_is_refused(void **state)
{
    (void)state;
    struct lint_report report;
    struct error err;
    assert_int_equal(lint_bytes("\1\2\3\4", 4, &report, &err), STATUS_INVALID);
    expect_says(err.text, "m: the image is none of PTX");
    lint_release(&report);
    const char cut[] = ".version 8.0\n.target sm_80\n.visible .entry k(";
    assert_int_equal(lint_bytes(cut, sizeof cut - 1, &report, &err), STATUS_INVALID);
    lint_release(&report);
}

/* A cubin of Triton or -lineinfo: its text is in a section of its own, each line ended by NUL. In a
 * fatbin, too. */
static void a_cubin_carries_its_text(void **state)
{
    (void)state;
    struct lint_report report;
    struct error err;
    struct small_elf elf = small_elf("k");
    char *text = read_text(SAMPLES "spin-weak.caught.ptx");
    size_t length = strlen(text);
    uint8_t *image = malloc(sizeof elf + length);
    assert_non_null(image);
    for (char *at = text; (at = strchr(at, '\n'));)
        *at = '\0';
    elf.header.e_machine = 190;
    elf.header.e_flags = 90;
    elf.section[0].sh_type = SHT_PROGBITS;
    elf.section[0].sh_offset = sizeof elf;
    elf.section[0].sh_size = length;
    memcpy(image, &elf, sizeof elf);
    memcpy(image + sizeof elf, text, length);
    assert_int_equal(lint_bytes(image, sizeof elf + length, &report, &err), STATUS_NOT_FOUND);
    expect_says(err.text, "m holds no PTX, only machine code");
    lint_release(&report);
    strcpy(elf.names + 1, ".nv_debug_ptx_txt");
    memcpy(image, &elf, sizeof elf);
    assert_int_equal(lint_bytes(image, sizeof elf + length, &report, &err), STATUS_OK);
    assert_int_equal(report.findings, 1);
    assert_int_equal(report.finding[0].line, wanted_line(SAMPLES "spin-weak.caught.ptx"));
    lint_release(&report);
    struct packed_fatbin fatbin = {0};
    packed_fatbin_add(&fatbin, SMALL_CUBIN, 90, 0, PACKED_ZSTD, image, sizeof elf + length);
    assert_int_equal(lint_bytes(&fatbin, fatbin.header_bytes + fatbin.bytes, &report, &err),
                     STATUS_OK);
    assert_int_equal(report.findings, 1);
    lint_release(&report);
    elf.section[0].sh_size = length + 1; /* beyond the end */
    memcpy(image, &elf, sizeof elf);
    assert_int_equal(lint_bytes(image, sizeof elf + length, &report, &err), STATUS_NOT_FOUND);
    lint_release(&report);
    free(image);
    free(text);
}

/* -- lines of a cubin -- */

enum { LINED_SECTIONS = 9 };

/* A cubin of a kernel k with its PTX and both tables of lines. */
struct lined {
    Elf64_Ehdr header;
    Elf64_Shdr section[LINED_SECTIONS];
    char names[160];
    size_t used; /* of `names` */
    uint8_t bytes[2048];
    size_t count;
};

static void lined_add(struct lined *l, unsigned i, const char *name, const void *bytes,
                      size_t count)
{
    strcpy(l->names + l->used, name);
    l->section[i] = (Elf64_Shdr){.sh_name = (Elf64_Word)l->used,
                                 .sh_type = SHT_PROGBITS,
                                 .sh_offset = offsetof(struct lined, bytes) + l->count,
                                 .sh_size = count};
    l->used += strlen(name) + 1;
    memcpy(l->bytes + l->count, bytes, count);
    l->count += count;
}

/* A DWARF 2 table of a file with a name of one letter: a row for each line, 16 bytes of code apart.
 * From byte ADDRESS_AT on it has the address of the function. */
enum { ADDRESS_AT = 34 };
static size_t line_table(uint8_t *out, char file, const unsigned *line, unsigned lines)
{
    const uint8_t head[] = {0, 0,  0, 0, 2, 0, 21, 0, 0, 0, 1, 1, 0xff,
                            4, 10, 0, 1, 1, 1, 1,  0, 0, 0, 1, 0};
    const uint8_t set_address[] = {0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0}, end[] = {0, 1, 1};
    size_t at = sizeof head;
    memcpy(out, head, sizeof head);
    memset(out + at, 0, 6);
    out[at] = (uint8_t)file;
    at += 6; /* its name, three numbers, and the end of the list */
    memcpy(out + at, set_address, sizeof set_address);
    at += sizeof set_address;
    for (unsigned i = 0, from = 1; i < lines; from = line[i++]) {
        const uint8_t row[] = {3, (uint8_t)((line[i] - from) & 0x7f), 1, 2, 16};
        memcpy(out + at, row, sizeof row);
        at += sizeof row;
    }
    memcpy(out + at, end, sizeof end);
    at += sizeof end;
    out[0] = (uint8_t)(at - 4);
    return at;
}

/* Two loops that wait for memory, on PTX lines of which each has a row of the table. */
static void a_cubin_has_source_lines(void **state)
{
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry k(.param .u64 x)\n{\n"
                               ".reg .pred %p; .reg .b32 %r; .reg .b64 %d;\n"
                               "ld.param.u64 %d, [x];\n"
                               "a: ld.global.u32 %r, [%d];\nsetp.eq.s32 %p, %r, 0;\n@%p bra a;\n"
                               "b: ld.global.u32 %r, [%d];\nsetp.eq.s32 %p, %r, 1;\n@%p bra b;\n"
                               "ret;\n}\n";
    const unsigned ptx_lines[] = {10, 13}, source_lines[] = {7};
    const Elf64_Rela rela = {.r_offset = ADDRESS_AT, .r_info = ELF64_R_INFO(1, 1)};
    const Elf64_Sym symbols[2] = {{0}, {.st_name = 1}};
    struct lined *l = calloc(1, sizeof *l);
    struct lint_report report;
    struct error err;
    uint8_t table[256];
    (void)state;
    assert_non_null(l);
    memcpy(l->header.e_ident, ELFMAG, SELFMAG);
    l->header.e_ident[EI_CLASS] = ELFCLASS64;
    l->header.e_machine = 190;
    l->header.e_flags = 90;
    l->header.e_shentsize = sizeof(Elf64_Shdr);
    l->header.e_shoff = offsetof(struct lined, section);
    l->header.e_shnum = LINED_SECTIONS;
    l->used = 1;
    lined_add(l, 1, ".nv_debug_ptx_txt", text, sizeof text - 1);
    lined_add(l, 2, ".nv_debug_line_sass", table, line_table(table, 'p', ptx_lines, 2));
    lined_add(l, 3, ".debug_line", table, line_table(table, 's', source_lines, 1));
    lined_add(l, 4, ".rela.nv_debug_line_sass", &rela, sizeof rela);
    lined_add(l, 5, ".rela.debug_line", &rela, sizeof rela);
    lined_add(l, 6, ".symtab", symbols, sizeof symbols);
    lined_add(l, 7, ".strtab", "\0k", 3);
    lined_add(l, 0, ".shstrtab", "", 1);
    l->section[0].sh_offset = offsetof(struct lined, names);
    l->section[0].sh_size = sizeof l->names;
    assert_int_equal(lint_bytes(l, sizeof *l, &report, &err), STATUS_OK);
    assert_int_equal(report.findings, 1); /* one a source line */
    assert_int_equal(report.finding[0].line, 10);
    assert_string_equal(report.finding[0].source, "s");
    assert_int_equal(report.finding[0].source_line, 7);
    lint_release(&report);
    strcpy(l->names + l->section[3].sh_name, ".nothing");
    assert_int_equal(lint_bytes(l, sizeof *l, &report, &err), STATUS_OK);
    assert_int_equal(report.findings, 2);
    assert_null(report.finding[0].source);
    lint_release(&report);
    free(l);
}

/* A shared object with the sample as PTX for sm_90 alone, in a fatbin of the section `section`. */
static size_t shared_object(uint8_t *out, size_t room, const char *section)
{
    enum { THIS_ARCH = 0x100000, FATBIN = 16, ENTRY = 64 };
    struct small_elf elf = small_elf("");
    char *text = read_text(SAMPLES "spin-weak.caught.ptx");
    uint64_t length = (strlen(text) + 8) / 8 * 8, behind = ENTRY + length, flags = THIS_ARCH;
    const uint32_t magic = 0xBA55ED50u, entry = ENTRY, arch = 90;
    const uint16_t version = 1, header = FATBIN, kind = 1;
    uint8_t *at = out + sizeof elf;
    assert_true(sizeof elf + FATBIN + behind <= room);
    strcpy(elf.names + 1, section);
    elf.section[0].sh_type = SHT_PROGBITS;
    elf.section[0].sh_offset = sizeof elf;
    elf.section[0].sh_size = FATBIN + behind;
    memset(out, 0, room);
    memcpy(out, &elf, sizeof elf);
    memcpy(at, &magic, 4);
    memcpy(at + 4, &version, 2);
    memcpy(at + 6, &header, 2);
    memcpy(at + 8, &behind, 8);
    at += FATBIN;
    memcpy(at, &kind, 2);
    memcpy(at + 4, &entry, 4);
    memcpy(at + 8, &length, 8);
    memcpy(at + 28, &arch, 4);
    memcpy(at + 40, &flags, 8);
    memcpy(at + ENTRY, text, strlen(text));
    free(text);
    return sizeof elf + FATBIN + behind;
}

/* Of -rdc=true, too, and PTX that one architecture alone runs. */
static void a_shared_object_is_read(void **state)
{
    static const struct {
        const char *section;
        size_t findings;
    } rows[] = {{".nv_fatbin", 1}, {"__nv_relfatbin", 1}, {".rodata", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lint_report report;
        struct error err;
        uint8_t image[8192];
        size_t bytes = shared_object(image, sizeof image, rows[i].section);
        enum status status = lint_bytes(image, bytes, &report, &err);
        assert_int_equal(status, rows[i].findings ? STATUS_OK : STATUS_INVALID);
        assert_int_equal(report.findings, rows[i].findings);
        lint_release(&report);
    }
}

static void write_bytes(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* Below a folder shared objects have versions in their names. */
static void versions_end_names(void **state)
{
    static const struct {
        const char *name;
        size_t texts;
    } rows[] = {{"libk.so", 1}, {"libk.so.4.8.5", 1}, {"libk.so.txt", 0}, {"k.sound", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[] = "/tmp/test_lint.XXXXXX", path[64];
        struct lint_report report = {0};
        struct error err = {0};
        uint8_t image[8192];
        size_t bytes = shared_object(image, sizeof image, ".nv_fatbin");
        assert_non_null(mkdtemp(folder));
        snprintf(path, sizeof path, "%s/%s", folder, rows[i].name);
        write_bytes(path, image, bytes);
        assert_int_equal(lint_path(&report, folder, &err),
                         rows[i].texts ? STATUS_OK : STATUS_NOT_FOUND);
        assert_int_equal(report.texts, rows[i].texts);
        lint_release(&report);
        unlink(path);
        rmdir(folder);
    }
}

/* A body that cannot be read leaves out its kernel, with the reason. */
static void a_broken_kernel_is_skipped(void **state)
{
    (void)state;
    struct lint_report report;
    struct error err;
    const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                        ".visible .entry bad()\n{\nadd.f32 %f1, %f2, %f3;\n}\n"
                        ".visible .entry good()\n{\nret;\n}\n";
    assert_int_equal(lint_bytes(text, sizeof text - 1, &report, &err), STATUS_OK);
    assert_int_equal(report.kernels, 1);
    assert_int_equal(report.skipped, 1);
    expect_says(report.first_skip, "%f1");
    lint_release(&report);
}

/* Loops that nothing leaves, blocks that nothing reaches, jumps to the end. */
static void odd_graphs_are_read(void **state)
{
    (void)state;
    struct lint_report report;
    struct error err;
    const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                        ".visible .entry k(.param .u32 n)\n{\n.reg .pred %p; .reg .b32 %r<4>;\n"
                        "ld.param.u32 %r1, [n];\nsetp.eq.s32 %p, %r1, 0;\n@%p bra out;\n"
                        "a: add.s32 %r2, %r2, %r1;\nbra b;\nadd.s32 %r3, %r3, %r2;\nc: bra c;\n"
                        "b: add.s32 %r1, %r1, 1;\n@%p bra a;\n@!%p bra c;\nout:\n}\n";
    assert_int_equal(lint_bytes(text, sizeof text - 1, &report, &err), STATUS_OK);
    assert_int_equal(report.kernels, 1);
    lint_release(&report);
}

/* -- output -- */

static char *written(void (*write)(FILE *, const struct lint_report *), const char *rule)
{
    struct lint_report report;
    char *text = NULL;
    size_t bytes;
    lint_sample(&report, rule, "caught");
    FILE *file = open_memstream(&text, &bytes);
    write(file, &report);
    fclose(file);
    end(&report);
    return text;
}

static void reports_are_written(void **state)
{
    (void)state;
    char *text = written(lint_out_text, "shared-race");
    expect_says(text, "warning: reads shared memory");
    expect_says(text, "1 kernel of 1 text: 1 warning, 0 notes");
    free(text);
    text = written(lint_out_json, "shared-race");
    expect_says(text, "\"rule\": \"shared-race\"");
    free(text);
    text = written(lint_out_sarif, "shared-race");
    expect_says(text, "\"ruleId\": \"shared-race\"");
    expect_says(text, "\"startLine\":");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_catches),          cmocka_unit_test(each_rule_stays_quiet),
        cmocka_unit_test(rules_are_left_out),         cmocka_unit_test(hints_are_shown_on_demand),
        cmocka_unit_test(kernels_are_picked),         cmocka_unit_test(wrong_input_is_refused),
        cmocka_unit_test(a_cubin_carries_its_text),   cmocka_unit_test(a_cubin_has_source_lines),
        cmocka_unit_test(a_broken_kernel_is_skipped), cmocka_unit_test(odd_graphs_are_read),
        cmocka_unit_test(reports_are_written),        cmocka_unit_test(a_shared_object_is_read),
        cmocka_unit_test(versions_end_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
