/* test_ptx.c - the PTX reader's outermost level: declarations, initial values, line information. */
#include "ptx_text.h"

static const struct ptx_variable *variable(const char *text, const char *name)
{
    char whole[1024];
    snprintf(whole, sizeof whole, HEAD "%s\n", text);
    const struct ptx_variable *found = ptx_find_variable(load(whole), name);
    assert_non_null(found);
    assert_string_equal(found->name, name);
    return found;
}

static void expect_data(const char *text, size_t bytes, const void *data)
{
    const struct ptx_variable *v = variable(text, "x");
    assert_int_equal(v->bytes, bytes);
    assert_non_null(v->data);
    assert_memory_equal(v->data, data, bytes);
}

static void the_head_tells_version_target_and_size(void **state)
{
    (void)state;
    const struct ptx_module *m =
        load("// c\n/* .version 1.0 */ .version 8.7 .target sm_90a, debug\n"
             ".address_size 32");
    assert_int_equal(m->version_major, 8);
    assert_int_equal(m->version_minor, 7);
    assert_string_equal(m->target, "sm_90a");
    assert_string_equal(m->name, "m.ptx");
    assert_int_equal(m->arch, 90);
    assert_int_equal(m->address_size, 32);
    assert_int_equal(load(".version 6.0 .target sm_100f")->arch, 100);
    assert_int_equal(loaded->address_size, 64);
    refuse("", "m.ptx:1: found the end of the text, expected '.version' at the beginning of PTX");
    refuse(".target sm_80",
           "m.ptx:1: found '.target', expected '.version' at the beginning of PTX");
    refuse(".version 8",
           "m.ptx:1: found the end of the text, expected '.' and the second number of "
           "the version");
    refuse(".version 8.0\n\n.reg", "m.ptx:3: found '.reg', expected a directive such as .entry, "
                                   ".func, .global, .const or .shared");
    refuse(".version 8.0\n", "m.ptx:2: found the end of the text, expected '.target'");
    refuse(".version 8.0 .target sm_80 .address_size 48", "m.ptx:1: found '48', expected 32 or 64");
}

static void text_need_not_end_and_a_nul_ends_it(void **state)
{
    (void)state;
    struct error err = {0};
    static const char text[] = HEAD ".global .b32 a;\0garbage {{{";
    forget(NULL);
    assert_int_equal(ptx_read(text, sizeof text, "m", &loaded, &err), STATUS_OK);
    assert_int_equal(loaded->variable_count, 1);
    forget(NULL);
    assert_int_equal(ptx_read(text, strlen(HEAD), "m", &loaded, &err), STATUS_OK);
    assert_int_equal(loaded->variable_count, 0);
}

static void variables_have_space_type_size_and_linkage(void **state)
{
    (void)state;
    const struct ptx_variable *v = variable(".visible .global .align 16 .b8 x[4][3];", "x");
    assert_int_equal(v->space, PTX_GLOBAL);
    assert_int_equal(v->type, PTX_B8);
    assert_int_equal(v->align, 16);
    assert_int_equal(v->bytes, 12);
    assert_true(v->array && v->is_visible && !v->is_extern && !v->data);
    assert_int_equal(v->line, 4);
    v = variable(".const .v4 .f32 a, x[2];", "x");
    assert_int_equal(v->space, PTX_CONST);
    assert_int_equal(v->vector, 4);
    assert_int_equal(v->align, 16);
    assert_int_equal(v->bytes, 32);
    assert_int_equal(v->index, 1);
    v = variable(".extern .shared .align 16 .b8 x[];", "x");
    assert_int_equal(v->bytes, 0);
    assert_true(v->array && v->is_extern);
    v = variable(".weak .global .attribute(.managed) .u64 x;", "x");
    assert_true(v->is_weak && !v->array);
    assert_int_equal(v->align, 8);
    assert_true(variable(".common .global .attribute(.unified(1, 2)) .f64 x;", "x")->is_weak);
    assert_int_equal(variable(".const[2] .b128 x[0x2+1];", "x")->bytes, 48);
    assert_int_equal(variable(".global .texref x;", "x")->bytes, 8);
    assert_null(ptx_find_variable(loaded, "y"));
    assert_null(ptx_find_function(loaded, "x"));
}

static void an_extern_variable_and_its_definition_are_one(void **state)
{
    (void)state;
    const struct ptx_variable *v =
        variable(".extern .global .b32 x[]; .global .b32 y; .visible .global .b32 x[3];", "x");
    assert_int_equal(loaded->variable_count, 2);
    assert_int_equal(v->bytes, 12);
    assert_int_equal(v->index, 0);
    assert_false(v->is_extern);
    v = variable(".visible .global .b32 x[3]; .extern .global .b32 x[];", "x");
    assert_int_equal(v->bytes, 12);
    refuse(HEAD ".global .b32 x;\n.global .b32 x;",
           "m.ptx:5: found a second 'x', expected a new name; the first is a variable");
}

static void whole_numbers_fill_elements(void **state)
{
    (void)state;
    expect_data(".global .b8 x[4] = {1, 0xff, -1};", 4, "\1\xff\xff\0");
    expect_data(".global .u16 x = 0x1234;", 2, "\x34\x12");
    expect_data(".global .s32 x[] = {1, 2, 010, 0b11};", 16, (const uint32_t[]){1, 2, 8, 3});
    expect_data(".global .u64 x = 18446744073709551615;", 8, "\xff\xff\xff\xff\xff\xff\xff\xff");
    expect_data(".const .b64 x = (1 << 4 | 1) * 2 - 3U;", 8, (const uint64_t[]){31});
    expect_data(".const .s32 x = 1 ? 2 > 1 ? 7 : 8 : 9;", 4, (const uint32_t[]){7});
    expect_data(".const .s32 x = -7 / 2 + -7 % 4 + ~0 + !0 + (.s64)5;", 4, (const int32_t[]){-1});
    expect_data(".const .s32 x = (1 == 1) + (1 != 2) + (1 <= 1) + (2 >= 3) + (1 && 0) + (0 || 5);",
                4, (const int32_t[]){4});
    expect_data(".const .s64 x = ((.u64)-1 >> 60) + (-8 >> 1) + (6 & 3 ^ 1);", 8,
                (const int64_t[]){14});
    expect_data(".const .s64 x = 7U / 2 + 7U % 4 + 7 / -1 + 5 % -1 + (1 << 64) + (-1 >> 70);", 8,
                (const int64_t[]){-2});
    assert_null(variable(".global .b32 x[2] = {0, 0};", "x")->data);
    const uint64_t minus[2] = {UINT64_MAX - 1, UINT64_MAX};
    expect_data(".global .b128 x = -2;", 16, minus);
}

static void floating_point_values(void **state)
{
    (void)state;
    expect_data(".global .f32 x[3] = {0f3fC00000, 1.5, -0f3fc00000};", 12,
                (const float[]){1.5f, 1.5f, -1.5f});
    expect_data(".global .f64 x[4] = {0d3FF8000000000000, 1e3, -2, 0f40000000};", 32,
                (const double[]){1.5, 1000, -2, 2});
    expect_data(".global .f64 x = 25e-1;", 8, (const double[]){2.5});
    expect_data(".global .b32 x = 0x3fc00000;", 4, (const float[]){1.5f});
    refuse(HEAD ".global .b32 x = 1.5;",
           "m.ptx:4: found a floating-point number as a value of type "
           ".b32, expected a whole one");
    refuse(HEAD ".global .f32 x = 0f3f80;",
           "m.ptx:4: found '0f3f80', expected 8 hexadecimal digits after 0f");
    refuse(HEAD ".global .f64 x = 0d00112233445566778;",
           "m.ptx:4: found '0d00112233445566778', expected only 16 hexadecimal digits after 0d");
    refuse(HEAD ".global .f32 x = 1.5 + 2;", "m.ptx:4: found arithmetic on floating-point numbers, "
                                             "expected one number");
}

static void braces_nest_as_dimensions_do(void **state)
{
    (void)state;
    expect_data(".global .b8 x[2][3] = {{1, 2}, {3, 4, 5}};", 6, "\1\2\0\3\4\5");
    expect_data(".global .b8 x[2][3] = {1, 2, 3, 4};", 6, "\1\2\3\4\0\0");
    expect_data(".global .b8 x[][2][2] = {{{1}, {2, 3}}, {{}, {4}}};", 8, "\1\0\2\3\0\0\4\0");
    expect_data(".global .v2 .b16 x = {1, 2};", 4, "\1\0\2\0");
    expect_data(".global .v2 .b8 x[2] = {{1, 2}, {3, 4}};", 4, "\1\2\3\4");
    refuse(HEAD ".global .b8 x[2] = {1, 2,\n3};",
           "m.ptx:5: found '3', expected '}'; 'x' has 2 elements there");
    refuse(HEAD ".global .b8 x[2] = {{1}, 2};",
           "m.ptx:4: found '{', expected a number; 'x' has 1 dimensions");
    refuse(HEAD ".global .b8 x[2] = 1;",
           "m.ptx:4: found '1', expected '{' before the elements of 'x'");
    refuse(HEAD ".global .b8 x[2] = {1 2};",
           "m.ptx:4: found '2', expected ',' or '}' in an initial value");
    refuse(HEAD ".shared .b32 x = 1;", "m.ptx:4: found '=', expected ';' or ','; only .global and "
                                       ".const variables have initial values");
}

static void addresses_in_initial_values(void **state)
{
    (void)state;
    const struct ptx_variable *v =
        variable(".global .b32 y; .global .u64 x[4] = {7, y, generic(y)+4, f-8};", "x");
    assert_int_equal(v->relocation_count, 3);
    assert_int_equal(v->relocations[0].offset, 8);
    assert_int_equal(v->relocations[0].bytes, 8);
    assert_string_equal(v->relocations[0].name, "y");
    assert_false(v->relocations[0].generic);
    assert_true(v->relocations[1].generic);
    assert_int_equal(v->relocations[1].addend, 4);
    assert_string_equal(v->relocations[2].name, "f");
    assert_int_equal(v->relocations[2].addend, -8);
    assert_int_equal(v->data[0], 7);
    v = variable(".global .u8 x[3] = {0xFF(y), 0xFF00(generic(y)+2), 1};", "x");
    assert_int_equal(v->relocation_count, 2);
    assert_int_equal(v->relocations[0].shift, 0);
    assert_int_equal(v->relocations[1].shift, 8);
    assert_int_equal(v->relocations[1].bytes, 1);
    assert_int_equal(v->relocations[1].offset, 1);
    assert_int_equal(v->relocations[1].addend, 2);
    assert_true(v->relocations[1].generic);
    refuse(HEAD ".global .u8 x = 0xFFF(y);",
           "m.ptx:4: found '(', expected a mask before '(' that has the 8 bits of one element");
    refuse(HEAD ".global .u64 x = generic(7);",
           "m.ptx:4: found '7', expected a number, a name or generic(name)");
}

static void functions_have_parameters_results_and_limits(void **state)
{
    (void)state;
    const struct ptx_module *m =
        load(HEAD ".visible .entry k(\n.param .align 8 .b8 a[24],\n"
                  ".param .u64 .ptr .global .align 16 b, .param .f32 c)\n"
                  ".maxntid 256, 2\n.minnctapersm 3 .maxnreg 64 .reqnctapercluster 2\n"
                  ".explicitcluster .pragma \"x y\";\n{ ret; }\n"
                  ".func (.param .b32 r) f(.param .b64 a) .noreturn { ret; }\n"
                  ".extern .func (.param .b32 _) vprintf\n(\n.param .b64 _, .param .b8 v[]\n)\n;\n"
                  ".weak .entry none .reqntid 1, 2, 3 { }");
    assert_int_equal(m->function_count, 4);
    const struct ptx_function *k = ptx_find_function(m, "k");
    assert_true(k->is_entry && k->is_visible && k->has_body && !k->body_read);
    assert_int_equal(k->param_count, 3);
    assert_int_equal(k->params[0].bytes, 24);
    assert_int_equal(k->params[0].align, 8);
    assert_string_equal(k->params[1].name, "b");
    assert_int_equal(k->params[1].align, 8);
    assert_int_equal(k->params[2].index, 2);
    assert_int_equal(k->params[2].space, PTX_PARAM);
    assert_int_equal(k->params[2].line, 6);
    assert_int_equal(k->maxntid[0], 256);
    assert_int_equal(k->maxntid[1], 2);
    assert_int_equal(k->maxntid[2], 1);
    assert_int_equal(k->reqntid[0], 0);
    assert_int_equal(k->minnctapersm, 3);
    assert_int_equal(k->maxnreg, 64);
    assert_int_equal(k->reqcluster[0], 2);
    const struct ptx_function *f = ptx_find_function(m, "f");
    assert_true(!f->is_entry && f->noreturn);
    assert_int_equal(f->result_count, 1);
    assert_string_equal(f->results[0].name, "r");
    const struct ptx_function *v = ptx_find_function(m, "vprintf");
    assert_true(v->is_extern && !v->has_body);
    assert_true(v->params[1].array && v->params[1].bytes == 0);
    assert_int_equal(ptx_find_function(m, "none")->reqntid[2], 3);
    assert_int_equal(ptx_find_function(m, "none")->param_count, 0);
}

static void a_declaration_and_a_definition_are_one(void **state)
{
    (void)state;
    const char *text = HEAD ".func f(.param .b32 a);\n.visible .func g { ret; }\n"
                            ".visible .func f(.param .b32 b)\n{ ret; }\n.func f(.param .b32 c);";
    const struct ptx_function *f = body_of(text, "f");
    assert_int_equal(loaded->function_count, 2);
    assert_ptr_equal(f, loaded->functions);
    assert_string_equal(f->params[0].name, "b");
    assert_true(f->is_visible && !f->is_extern);
    assert_int_equal(f->line, 6);
    refuse(HEAD ".func f { }\n.func f { }",
           "m.ptx:5: found a second body of 'f', expected one; the first is in line 4");
    refuse(HEAD ".func f;\n.func f(.param .b32 a) { }",
           "m.ptx:5: found 'f' with other parameters or "
           "results than in line 4, expected the same");
}

static void an_alias_has_the_body_of_its_target(void **state)
{
    (void)state;
    const struct ptx_function *f =
        body_of(HEAD ".visible .func a(.param .b32 x); .func b(.param .b32 y) { trap; ret; }\n"
                     ".alias a, b;",
                "a");
    assert_string_equal(f->name, "a");
    assert_int_equal(f->instruction_count, 2);
    assert_true(f->is_visible);
    assert_string_equal(f->params[0].name, "y");
    refuse(HEAD ".func a;\n.alias a, b;",
           "m.ptx:5: found 'b' behind an alias, expected a function with a body");
    refuse(HEAD ".alias a, b;",
           "m.ptx:4: found an alias 'a', expected the name of a function that is "
           "declared without a body");
}

static void errors_in_declarations_name_the_line(void **state)
{
    (void)state;
    refuse(HEAD ".visible .entry k(\n.param .u64)", "m.ptx:5: found ')', expected the name of a "
                                                    "variable");
    refuse(HEAD ".entry k(.param .u64 a .param .u64 b)",
           "m.ptx:4: found '.param', expected ',' or ')' after a parameter");
    refuse(HEAD ".func f(.reg .b32 a) { }", "m.ptx:4: found a parameter in .reg, expected .param: "
                                            "parameters in registers are not supported");
    refuse(HEAD ".entry (.param .b32 r) k { }",
           "m.ptx:4: found '(', expected a name; a kernel has no result");
    refuse(HEAD ".entry k() .frob { }",
           "m.ptx:4: found '.frob', expected '{', ';' or a directive such as .maxntid");
    refuse(HEAD ".entry k()\n{\n{ }\n/* } */ // }\n",
           "m.ptx:8: found the end of the text, expected the '}' of the '{' in line 5");
    refuse(HEAD ".entry k() { .pragma \"} }\n",
           "m.ptx:4: found a string without an end, expected '\"' on its line");
    refuse(HEAD ".global .align 3 .b32 x;",
           "m.ptx:4: found '3', expected an alignment that is a power of two");
    refuse(HEAD ".global x;", "m.ptx:4: found 'x', expected a type such as .b32");
    refuse(HEAD ".global .q32 x;",
           "m.ptx:4: found '.q32', expected a type such as .b32, or .align");
    refuse(HEAD ".global .pred x;",
           "m.ptx:4: found a variable of type .pred, expected a type with bytes");
    refuse(HEAD ".global .u4 x[4] = {1, 2, 3, 4};",
           "m.ptx:4: found a variable of type .u4, expected a type with bytes");
    refuse(HEAD ".const .s2 x;",
           "m.ptx:4: found a variable of type .s2, expected a type with bytes");
    refuse(HEAD ".global .b32 x[1.5];",
           "m.ptx:4: found '1.5', expected the size of an array without a fraction");
    refuse(HEAD ".global .b32 x[-1];", "m.ptx:4: found an array of size -1, expected 0 to 2^40");
    refuse(HEAD ".global .b32 x[1/0];", "m.ptx:4: found a division by 0, expected another divisor");
    refuse(HEAD ".global .b32 x[99999999999999999999];",
           "m.ptx:4: found '99999999999999999999', expected a number of at most 64 bits");
    refuse(HEAD ".global .b32 x",
           "m.ptx:4: found the end of the text, expected ',', '=' or ';' behind "
           "a variable");
    refuse(HEAD "\x01\x02",
           "m.ptx:4: found '?', expected a directive such as .entry, .func, .global, "
           ".const or .shared");
}

#define LINES                                                                                      \
    HEAD ".visible .entry k {\n.loc 1 7 3\nbar.sync 0;\n.loc 2 9 1, function_name $L_s1+1, "       \
         "inlined_at 1 8 0\ntrap;\n.loc 2 9 5, inlined_at 1 8 0, function_name $L_s0\nret;\n}\n"   \
         ".file 1 \"/a/b.cu\"\n.file 2 \"/inc\" \"c.h\", 17, 18\n.file 3 \"/x\" \"/y.h\"\n"        \
         ".section .debug_str\n{\n$L_s0:\n.b8 102,111\n.b8 111, 0\n$L_s1:\n.b8 95,103,0\n}\n"      \
         ".section .debug_info { .b32 .debug_str+3 // }\n \"}\" .b8 1 }\n"

static void instructions_know_their_source_lines(void **state)
{
    (void)state;
    const struct ptx_function *k = body_of(LINES, "k");
    assert_int_equal(k->instruction_count, 3);
    const struct ptx_instruction *i = k->instructions;
    assert_string_equal(i[0].location->file, "/a/b.cu");
    assert_int_equal(i[0].location->line, 7);
    assert_null(i[0].location->function);
    assert_int_equal(i[0].line, 6);
    assert_string_equal(i[1].location->file, "/inc/c.h");
    assert_string_equal(i[1].location->function, "g");
    assert_string_equal(i[1].location->caller->file, "/a/b.cu");
    assert_int_equal(i[1].location->caller->line, 8);
    assert_null(i[0].location->caller);
    assert_string_equal(i[2].location->function, "foo");
    assert_null(body_of(HEAD ".entry k { ret; }", "k")->instructions[0].location);
    refuse(HEAD ".file 1 \"a\"\n.entry k {\n.loc 4 1 1\nret; }",
           "m.ptx:6: found file 4, expected a number that a .file has");
    refuse(HEAD ".file 1 \"a\"\n.entry k {\n.loc 1 1 1, function_name $x\nret; }",
           "m.ptx:6: found '$x', expected a label of the section .debug_str");
    refuse(HEAD ".section .debug_str { .b8 256 }",
           "m.ptx:4: found '256', expected a byte of at most 255");
}

static void types_have_names_and_bits(void **state)
{
    (void)state;
    assert_int_equal(ptx_type_bits(PTX_PRED), 1);
    assert_int_equal(ptx_type_bits(PTX_BF16X2), 32);
    assert_int_equal(ptx_type_bits(PTX_B128), 128);
    assert_string_equal(ptx_type_name(PTX_TF32), "tf32");
    for (int type = PTX_PRED; type <= PTX_S16X2; type++)
        assert_true(ptx_type_bits((enum ptx_type)type) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_tells_version_target_and_size),
        cmocka_unit_test(text_need_not_end_and_a_nul_ends_it),
        cmocka_unit_test(variables_have_space_type_size_and_linkage),
        cmocka_unit_test(an_extern_variable_and_its_definition_are_one),
        cmocka_unit_test(whole_numbers_fill_elements),
        cmocka_unit_test(floating_point_values),
        cmocka_unit_test(braces_nest_as_dimensions_do),
        cmocka_unit_test(addresses_in_initial_values),
        cmocka_unit_test(functions_have_parameters_results_and_limits),
        cmocka_unit_test(a_declaration_and_a_definition_are_one),
        cmocka_unit_test(an_alias_has_the_body_of_its_target),
        cmocka_unit_test(errors_in_declarations_name_the_line),
        cmocka_unit_test(instructions_know_their_source_lines),
        cmocka_unit_test(types_have_names_and_bits),
    };
    return cmocka_run_group_tests(tests, NULL, forget);
}
