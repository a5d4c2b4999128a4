/* test_ptx_body.c - the PTX reader's bodies: registers, scopes, labels, instructions, operands,
 * calls. */
#include "ptx_text.h"

static const struct ptx_operand *operand(const struct ptx_function *f, unsigned instruction,
                                         unsigned index)
{
    assert_true(instruction < f->instruction_count);
    assert_true(index < f->instructions[instruction].operand_count);
    return &f->instructions[instruction].operands[index];
}

static void expect_register(const struct ptx_function *f, const struct ptx_operand *operand,
                            const char *name)
{
    assert_int_equal(operand->kind, PTX_REGISTER);
    assert_true(operand->reg < f->register_count);
    assert_string_equal(f->registers[operand->reg].name, name);
}

static void expect_immediate(const struct ptx_operand *operand, enum ptx_type type, uint64_t bits)
{
    assert_int_equal(operand->kind, PTX_IMMEDIATE);
    assert_int_equal(operand->immediate_type, type);
    assert_int_equal(operand->bits, bits);
}

static void registers_come_as_ranges_and_lists(void **state)
{
    (void)state;
    const struct ptx_function *k =
        body_of(HEAD ".entry k { .reg .pred %p<3>; .reg .f64 a, %b<0>, c; ret; }", "k");
    assert_int_equal(k->register_count, 5);
    assert_string_equal(k->registers[2].name, "%p2");
    assert_int_equal(k->registers[2].type, PTX_PRED);
    assert_string_equal(k->registers[4].name, "c");
    assert_int_equal(k->registers[4].type, PTX_F64);
    k = body_of(HEAD ".entry k { .reg .b64 %many<9000>; mov.b64 %many0, %many8999; }", "k");
    assert_int_equal(k->register_count, 9000);
    expect_register(k, operand(k, 0, 0), "%many0");
    expect_register(k, operand(k, 0, 1), "%many8999");
    refuse(KERNEL("\n.reg .b32 %r<2>;"),
           "m.ptx:7: found a second '%r0', expected a new name; the first is a register");
    refuse(KERNEL(".reg .v2 .b32 v;"),
           "m.ptx:6: found a vector in .reg, expected a single register: "
           "vector registers are not supported");
    refuse(KERNEL(".reg .b32 %x<9999999>;"),
           "m.ptx:6: found '9999999', expected a number of registers of at most 1048576");
    refuse(KERNEL(".reg .b32 %x<1048570>;"),
           "m.ptx:6: found more than 1048576 registers, expected fewer");
    refuse(KERNEL("mov.b32 %r1, %r9;"),
           "m.ptx:6: found register '%r9', expected one that a .reg declares");
}

static void words_are_taken_apart(void **state)
{
    (void)state;
    const struct ptx_function *k =
        body(KERNEL("cvt.rn.ftz.f32.s32 %f1, %r1;\n"
                    "ld.volatile.global.v2.u32 {%r1,%r2}, [%rd1];\n"
                    "ld.shared::cta.b32 %r1, [%rd1]; mapa.shared::cluster.u64 %rd1, %rd2, %r1;\n"
                    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%rd1], "
                    "[%rd2], 4, [%rd3];\n"
                    "ret; ld .param\n .u64 %rd1, [p];\n"));
    const struct ptx_instruction *i = k->instructions;
    assert_int_equal(k->instruction_count, 7);
    assert_string_equal(i[0].text, "cvt.rn.ftz.f32.s32");
    assert_string_equal(i[0].opcode, "cvt");
    assert_int_equal(i[0].modifier_count, 2);
    assert_true(ptx_has_modifier(&i[0], "ftz"));
    assert_false(ptx_has_modifier(&i[0], "rz"));
    assert_int_equal(i[0].type_count, 2);
    assert_int_equal(i[0].types[0], PTX_F32);
    assert_int_equal(i[0].types[1], PTX_S32);
    assert_int_equal(i[0].vector, 1);
    assert_int_equal(i[0].line, 6);
    assert_int_equal(i[1].space, PTX_GLOBAL);
    assert_int_equal(i[1].vector, 2);
    assert_int_equal(i[1].modifier_count, 1);
    assert_int_equal(i[2].space, PTX_SHARED);
    assert_int_equal(i[2].modifier_count, 0);
    assert_int_equal(i[3].space, PTX_SHARED);
    assert_true(ptx_has_modifier(&i[3], "cluster"));
    assert_int_equal(i[4].space, PTX_SHARED);
    assert_true(ptx_has_modifier(&i[4], "global"));
    assert_true(ptx_has_modifier(&i[4], "mbarrier::complete_tx::bytes"));
    assert_int_equal(i[5].operand_count, 0);
    assert_string_equal(i[6].text, "ld.param.u64");
    assert_int_equal(i[6].space, PTX_PARAM);
    assert_ptr_equal(i[6].operands[1].items[0].variable, &k->params[0]);
    refuse(KERNEL("add..s32 %r1, %r1, 1;"),
           "m.ptx:6: found 'add..s32', expected a word on each side of a dot");
    refuse(KERNEL("mma.f32.f32.f32.f32.f32.f32 %r1;"),
           "m.ptx:6: found 'mma.f32.f32.f32.f32.f32.f32', "
           "expected at most 5 types and 12 modifiers");
}

static void immediates_have_a_type(void **state)
{
    (void)state;
    const struct ptx_function *k = body(KERNEL(
        "x 1, -1, 0x1F, 7U, 0f3F800000, -0f3F800000, 0d3ff0000000000000, 2.5, 0xffffffffffffffff;\n"
        "y 010, 0b11, (4+4)*2, WARP_SZ, !0, ~0x0, 1 ? 2 : 3;"));
    expect_immediate(operand(k, 0, 0), PTX_S64, 1);
    expect_immediate(operand(k, 0, 1), PTX_S64, UINT64_MAX);
    expect_immediate(operand(k, 0, 2), PTX_S64, 31);
    expect_immediate(operand(k, 0, 3), PTX_U64, 7);
    expect_immediate(operand(k, 0, 4), PTX_F32, 0x3f800000);
    expect_immediate(operand(k, 0, 5), PTX_F32, 0xbf800000);
    expect_immediate(operand(k, 0, 6), PTX_F64, UINT64_C(0x3ff0000000000000));
    expect_immediate(operand(k, 0, 7), PTX_F64, UINT64_C(0x4004000000000000));
    expect_immediate(operand(k, 0, 8), PTX_U64, UINT64_MAX);
    expect_immediate(operand(k, 1, 0), PTX_S64, 8);
    expect_immediate(operand(k, 1, 1), PTX_S64, 3);
    expect_immediate(operand(k, 1, 2), PTX_S64, 16);
    assert_int_equal(operand(k, 1, 3)->kind, PTX_SPECIAL);
    expect_immediate(operand(k, 1, 4), PTX_S64, 1);
    expect_immediate(operand(k, 1, 5), PTX_S64, UINT64_MAX);
    expect_immediate(operand(k, 1, 6), PTX_S64, 2);
    refuse(KERNEL("x 08;"), "m.ptx:6: found '08', expected a number");
    refuse(KERNEL("x 1 2;"), "m.ptx:6: found '2', expected ',' or ';' behind an operand");
    refuse(KERNEL("x 1,\n;"), "m.ptx:7: found ';', expected an operand");
}

static void operands_of_all_kinds(void **state)
{
    (void)state;
    const struct ptx_function *k = body(
        KERNEL(".shared .align 8 .b8 s[16]; .local .b32 l;\n"
               "mov.u32 %r1, %tid.x; mov.u32 %r2, %laneid; mov.b64 {%r1, _}, %rd1;\n"
               "setp.eq.and.s32 %p1|%p2, %r1, 0, !%p3; shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;\n"
               "mov.u64 %rd1, s+8; mov.u64 %rd1, l; mov.u64 %rd1, k; vadd.s32.u32.u32 %r1, %r2.b3, "
               "%r3.h1;\n"));
    const struct ptx_operand *o = operand(k, 0, 1);
    assert_int_equal(o->kind, PTX_SPECIAL);
    assert_string_equal(o->name, "%tid.x");
    assert_string_equal(operand(k, 1, 1)->name, "%laneid");
    o = operand(k, 2, 0);
    assert_int_equal(o->kind, PTX_VECTOR);
    assert_int_equal(o->count, 2);
    expect_register(k, &o->items[0], "%r1");
    assert_int_equal(o->items[1].kind, PTX_SINK);
    o = operand(k, 3, 0);
    assert_int_equal(o->kind, PTX_PAIR);
    expect_register(k, &o->items[1], "%p2");
    assert_true(operand(k, 3, 3)->negated);
    expect_register(k, &operand(k, 4, 0)->items[0], "%r1");
    o = operand(k, 5, 1);
    assert_int_equal(o->kind, PTX_ADDRESS_OF);
    assert_string_equal(o->variable->name, "s");
    assert_ptr_equal(o->variable, &k->variables[0]);
    assert_int_equal(o->offset, 8);
    assert_ptr_equal(operand(k, 6, 1)->variable, &k->variables[1]);
    assert_int_equal(k->variables[1].space, PTX_LOCAL);
    assert_int_equal(k->variables[1].index, 1);
    assert_int_equal(operand(k, 7, 1)->kind, PTX_FUNCTION);
    assert_string_equal(operand(k, 7, 1)->name, "k");
    expect_register(k, operand(k, 8, 1), "%r2");
    assert_string_equal(operand(k, 8, 1)->name, "b3");
    assert_string_equal(operand(k, 8, 2)->name, "h1");
    refuse(KERNEL("mov.u32 %r1, %r2.x;"),
           "m.ptx:6: found '.x' behind an operand, expected ',' or ';'");
    refuse(KERNEL("mov.u32 %r1, !s;"),
           "m.ptx:6: found '!' before something that is no register, expected a predicate");
    refuse(KERNEL("mov.u32 %r1, {{{{{{{{{%r1}}}}}}}}};"),
           "m.ptx:6: found '{', expected at most 8 brackets inside each other");
}

static void memory_operands(void **state)
{
    (void)state;
    const struct ptx_function *k = body(KERNEL(
        ".shared .b32 s[8];\n ld.b32 %r1, [%rd1]; ld.b32 %r1, [%rd1+16]; ld.b32 %r1, [%rd1 + -8];\n"
        "ld.b32 %r1, [%rd1-4]; ld.shared.b32 %r1, [s+4]; ld.b32 %r1, [64]; ld.b32 %r1, [p];\n"
        "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f0}, [%rd1, {%f1, %f2}];"));
    static const int64_t offsets[] = {0, 16, -8, -4};
    for (unsigned i = 0; i < 4; i++) {
        const struct ptx_operand *o = operand(k, i, 1);
        assert_int_equal(o->kind, PTX_MEMORY);
        expect_register(k, &o->items[0], "%rd1");
        assert_int_equal(o->offset, offsets[i]);
    }
    const struct ptx_operand *o = operand(k, 4, 1);
    assert_ptr_equal(o->items[0].variable, &k->variables[0]);
    assert_int_equal(o->offset, 4);
    assert_int_equal(o->items[0].offset, 0);
    expect_immediate(&operand(k, 5, 1)->items[0], PTX_S64, 64);
    assert_ptr_equal(operand(k, 6, 1)->items[0].variable, &k->params[0]);
    o = operand(k, 7, 1);
    assert_int_equal(o->count, 2);
    assert_int_equal(o->items[1].kind, PTX_VECTOR);
    refuse(KERNEL("ld.b32 %r1, [%rd1"),
           "m.ptx:6: found '}', expected '+', ',' or ']' in an address");
    refuse(KERNEL("ld.b32 %r1, [%rd1+x];"), "m.ptx:6: found 'x', expected an offset");
    refuse(KERNEL("ld.b32 %r1, [1.5];"), "m.ptx:6: found a floating-point number as an address, "
                                         "expected a whole one");
}

static void guards_are_predicates(void **state)
{
    (void)state;
    const struct ptx_function *k = body(KERNEL("@%p1 ret;\n@!%p2\nret; ret;"));
    const struct ptx_instruction *i = k->instructions;
    assert_true(i[0].guarded && !i[0].guard_negated);
    assert_string_equal(k->registers[i[0].guard].name, "%p1");
    assert_true(i[1].guarded && i[1].guard_negated);
    assert_int_equal(i[1].line, 7);
    assert_false(i[2].guarded);
    refuse(KERNEL("@%r1 ret;"),
           "m.ptx:6: found '%r1', expected a predicate behind '@' that a .reg .pred declares");
    refuse(KERNEL("@%p1 ;"), "m.ptx:6: found ';', expected an instruction behind a predicate");
}

static void labels_reach_forward_and_back(void **state)
{
    (void)state;
    const struct ptx_function *k =
        body(KERNEL("$L1: add.s32 %r1, %r1, 1;\n@%p1 bra $L1; bra.uni end; trap;\nend:"));
    assert_int_equal(operand(k, 1, 0)->kind, PTX_LABEL);
    assert_int_equal(operand(k, 1, 0)->target, 0);
    assert_string_equal(operand(k, 1, 0)->name, "$L1");
    assert_int_equal(operand(k, 2, 0)->target, 4);
    assert_int_equal(k->instruction_count, 4);
    refuse(KERNEL("bra\nnowhere;"),
           "m.ptx:7: found 'nowhere', expected a name that is declared or a label of this scope");
    refuse(KERNEL("L: ret;\nL: ret;"),
           "m.ptx:7: found a second 'L', expected a new name; the first is a label");
    refuse(KERNEL("bra %r1;"), "m.ptx:6: found '%r1', expected a label");
    refuse(KERNEL(".shared .b32 s;\nbra s;"),
           "m.ptx:7: found 's', expected a label; it is a variable");
}

static void scopes_have_their_own_names(void **state)
{
    (void)state;
    const struct ptx_function *k =
        body(KERNEL("{ .reg .pred q; .reg .b64 %r1; W: @q bra D; mov.b64 %r1, 0; bra W; D: }\n"
                    "{ .reg .pred q; W: @!q bra D; bra W; D: { bra D; bra out; } }\n"
                    "mov.b32 %r1, 0; out: ret;"));
    assert_int_equal(operand(k, 0, 0)->target, 3);
    assert_int_equal(operand(k, 2, 0)->target, 0);
    assert_int_equal(operand(k, 3, 0)->target, 5);
    assert_int_equal(operand(k, 4, 0)->target, 3);
    assert_int_equal(operand(k, 5, 0)->target, 5);
    assert_int_equal(operand(k, 6, 0)->target, 8);
    assert_int_equal(k->registers[operand(k, 1, 0)->reg].type, PTX_B64);
    assert_int_equal(k->registers[operand(k, 7, 0)->reg].type, PTX_B32);
    assert_int_not_equal(k->instructions[0].guard, k->instructions[3].guard);
    refuse(KERNEL("{ L: }\nbra L;"),
           "m.ptx:7: found 'L', expected a name that is declared or a label of this scope");
    refuse(KERNEL("{ .reg .b32 a; }\nmov.b32 %r1, a;"),
           "m.ptx:7: found 'a', expected a name that is declared or a label of this scope");
    char deep[1024] = HEAD ".entry k {\n";
    memset(deep + strlen(deep), '{', 130);
    memset(deep + strlen(deep), '}', 131);
    refuse(deep, "m.ptx:5: found '{', expected at most 128 '{' inside each other");
}

#define FUNCTIONS                                                                                  \
    ".extern .func nothing;\n.func (.param .b32 r) f(.param .b32 a, .param .b64 b) { ret; }\n"

static const struct ptx_function *calling(const char *statements)
{
    static char text[2048];
    snprintf(text, sizeof text,
             HEAD FUNCTIONS
             ".entry k(.param .b32 p) {\n.reg .b32 %%r<9>; .reg .b64 %%rd<4>;\n%s\n}",
             statements);
    return body_of(text, "k");
}

static void direct_calls(void **state)
{
    (void)state;
    const struct ptx_function *k =
        calling("{ .param .b32 param0; .param .b64 param1; .param .b32 retval0;\n"
                "call.uni (retval0),\nf,\n(\nparam0,\nparam1\n); }\n"
                "{ .param .b32 param0; call (%r1), f, (param0, 7); }\n"
                "call nothing; call.uni nothing, (); call (_), f, (%r1, %rd1);");
    const struct ptx_instruction *i = k->instructions;
    assert_int_equal(k->variable_count, 4);
    assert_int_equal(i[0].results, 1);
    assert_int_equal(i[0].operand_count, 4);
    assert_int_equal(i[0].operands[0].kind, PTX_FUNCTION);
    assert_string_equal(i[0].operands[0].name, "f");
    assert_ptr_equal(i[0].operands[1].variable, &k->variables[2]);
    assert_ptr_equal(i[0].operands[3].variable, &k->variables[1]);
    assert_null(i[0].prototype);
    assert_ptr_equal(i[1].operands[2].variable, &k->variables[3]);
    expect_immediate(&i[1].operands[3], PTX_S64, 7);
    assert_int_equal(i[2].operand_count, 1);
    assert_int_equal(i[2].results, 0);
    assert_int_equal(i[3].operand_count, 1);
    assert_int_equal(i[4].operands[1].kind, PTX_SINK);
    refuse(KERNEL("call f;"),
           "m.ptx:6: found a call of 'f', expected a function that is declared before");
    refuse(KERNEL("call 7;"),
           "m.ptx:6: found a call of neither a function nor a register, expected one of them");
    refuse(KERNEL("call (%r1) k;"),
           "m.ptx:6: found 'k', expected ',' behind the results of a call");
}

static void indirect_calls_have_prototypes(void **state)
{
    (void)state;
    const struct ptx_function *k = calling(
        "before : .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[24]);\n"
        "call (%r1), %rd1, (%rd2, p), before;\n"
        "{ call %rd1, after; } call (%r1), %rd1, (%r1, %rd1), list;\n"
        "after: .callprototype _ ();\nlist: .calltargets f;");
    const struct ptx_instruction *i = k->instructions;
    assert_int_equal(i[0].operands[0].kind, PTX_REGISTER);
    assert_int_equal(i[0].results, 1);
    assert_int_equal(i[0].prototype->result_count, 1);
    assert_int_equal(i[0].prototype->param_count, 2);
    assert_int_equal(i[0].prototype->params[1].bytes, 24);
    assert_int_equal(i[1].operand_count, 1);
    assert_int_equal(i[1].prototype->param_count, 0);
    assert_int_equal(i[2].prototype->param_count, 2);
    assert_ptr_equal(i[2].prototype->params, ptx_find_function(loaded, "f")->params);
    refuse(KERNEL("call %rd1,\nnone;"),
           "m.ptx:7: found 'none', expected a name that is declared or a label of this scope");
    refuse(KERNEL("L: call %rd1, L;"), "m.ptx:6: found 'L', expected a prototype; it is a label");
    refuse(KERNEL("L: .calltargets x;"),
           "m.ptx:6: found 'x', expected a function that is declared before");
}

static void indirect_branches_have_their_targets(void **state)
{
    (void)state;
    const struct ptx_function *k = body(
        KERNEL("$ts: .branchtargets\n$A,\n$B, $A;\n@%p1 brx.idx %r1, $ts;\n$A: ret;\n$B: trap;"));
    assert_int_equal(k->instruction_count, 3);
    const struct ptx_operand *o = operand(k, 0, 1);
    assert_int_equal(o->kind, PTX_VECTOR);
    assert_int_equal(o->count, 3);
    assert_int_equal(o->items[0].target, 1);
    assert_int_equal(o->items[1].target, 2);
    assert_int_equal(o->items[2].target, 1);
    assert_int_equal(
        operand(body(KERNEL("brx.idx.uni %r1, ts;\nA: ret; ts: .branchtargets A;")), 0, 1)
            ->items[0]
            .target,
        1);
    refuse(KERNEL("ts: .branchtargets A\nret;"),
           "m.ptx:7: found 'ret', expected ',' or ';' behind a label");
}

static void what_does_not_run_is_passed_over(void **state)
{
    (void)state;
    const struct ptx_function *k = body(KERNEL(".pragma \"nounroll\", \"x\"; /* a; } */ // } ;\n;; "
                                               ".file 1 \"x\" .loc 1 2 3\nret; // \"\n"));
    assert_int_equal(k->instruction_count, 1);
    refuse(KERNEL(".global .b32 x;"),
           "m.ptx:6: found '.global', expected an instruction, a label, or "
           ".reg, .local, .shared, .param, .loc or .pragma");
    refuse(KERNEL("= 7;"),
           "m.ptx:6: found '=', expected an instruction, a label, a directive or '}'");
    refuse(KERNEL("a.b: ret;"), "m.ptx:6: found ':', expected an operand");
}

static void instructions_of_tensor_cores_are_read_as_any(void **state)
{
    (void)state;
    const struct ptx_function *k = body(KERNEL(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, "
        "{%r5,%r6}, {%f0,%f1,%f2,%f3};\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, %p1, "
        "1, "
        "1, 0, 0;\n"
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], "
        "[%rd1, {%r2, %r3}], [%r4];\n"
        "tcgen05.ld.sync.aligned.16x64b.x2.b32 {%r1, %r2}, [%r3 + 0], 2;"));
    assert_int_equal(k->instructions[0].type_count, 4);
    assert_int_equal(operand(k, 0, 1)->count, 4);
    assert_int_equal(k->instructions[1].operand_count, 8);
    assert_int_equal(operand(k, 2, 1)->items[1].count, 2);
    assert_string_equal(k->instructions[3].opcode, "tcgen05");
}

static void reading_again_gives_the_same(void **state)
{
    (void)state;
    struct error err = {0};
    const struct ptx_function *k = body(KERNEL("ret;"));
    const struct ptx_instruction *before = k->instructions;
    assert_int_equal(ptx_read_body(loaded, loaded->functions, &err), STATUS_OK);
    assert_ptr_equal(k->instructions, before);
    load(
        HEAD
        ".extern .func e;\n.func bad { .reg .b32 %x; { ret } }\n.func good { .reg .b32 %x; ret; }");
    struct ptx_function *e = ptx_find_function(loaded, "e"),
                        *bad = ptx_find_function(loaded, "bad");
    assert_int_equal(ptx_read_body(loaded, e, &err), STATUS_NOT_FOUND);
    assert_string_equal(err.text, "m.ptx:4: function 'e' has no body");
    for (int i = 0; i < 2; i++) {
        err.text[0] = '\0';
        assert_int_equal(ptx_read_body(loaded, bad, &err), STATUS_INVALID);
        assert_string_equal(err.text, "m.ptx:5: found '}', expected an operand");
        assert_false(bad->body_read);
    }
    err.text[0] = '\0';
    assert_int_equal(ptx_read_body(loaded, ptx_find_function(loaded, "good"), &err), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_come_as_ranges_and_lists),
        cmocka_unit_test(words_are_taken_apart),
        cmocka_unit_test(immediates_have_a_type),
        cmocka_unit_test(operands_of_all_kinds),
        cmocka_unit_test(memory_operands),
        cmocka_unit_test(guards_are_predicates),
        cmocka_unit_test(labels_reach_forward_and_back),
        cmocka_unit_test(scopes_have_their_own_names),
        cmocka_unit_test(direct_calls),
        cmocka_unit_test(indirect_calls_have_prototypes),
        cmocka_unit_test(indirect_branches_have_their_targets),
        cmocka_unit_test(what_does_not_run_is_passed_over),
        cmocka_unit_test(instructions_of_tensor_cores_are_read_as_any),
        cmocka_unit_test(reading_again_gives_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, forget);
}
