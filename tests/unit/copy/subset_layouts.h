/* subset_layouts.h - the layouts of test_subset_launch.c, as registry entries. */
#ifndef TESTS_SUBSET_LAYOUTS_H
#define TESTS_SUBSET_LAYOUTS_H

#include <stdbool.h>

/* Parameters are pointers alone. `before`: how far from its allocation's start an array begins. */
static const struct layout {
    const char *entry;
    int pointers;
    bool in_place; /* the last pointer is the first */
    int before;    /* bytes */
} layouts[] = {
    {"const f32 a[512:80][64], const f32 b[512:96][64], f32 y[512:72][64], reference: "
     "add",
     3, false, 0},
    {"const f32 a[70001], const f32 b[70001], f32 y[70001], reference: add", 3, false, 0},
    {"const bf16 a[70001], const bf16 b[70001], bf16 y[70001], reference: add", 3, false, 6},
    {"const f32 a[512:66][64], const f32 b[512][64], f32 y[512:66][64], reference: add", 3, true,
     4},
    {"const f32 a[512][64], const f32 b[512:0][64], f32 y[512][64], reference: add", 3, false, 0},
    {"const f32 a[16][4][8][32], const f32 b[512][32], f32 y[16][4][8][32], reference: "
     "add",
     3, false, 0},
    {"const f32 a[16:32 * 33][32:33][32], const f32 b[512][32], f32 y[512][32], reference: "
     "add",
     3, false, 0},
    {"const f32 a[512:1][96:512], const f32 b[512][96], f32 y[512:1][96:512], "
     "reference: add",
     3, false, 0},
    {"const float4 x[9000], f32 y[36000], reference: gelu", 2, false, 0},
    {"const f32 x[20480], acc f32 y[20480], reference: scale, bind: {alpha: 2}", 2, false, 0},
    {"const f32 x[3][30001], acc f32 y[3][30001], reference: scale, bind: {alpha: 2}", 2, false, 8},
    {"const bf16 x[900:111][101], const bf16 w[101], bf16 y[900][101], f32 rstd[900], "
     "reference: rmsnorm, bind: {eps: 1e-5}",
     4, false, 4},
    {"const f32 x[900][96], const f32 w[96], f32 y[900][96], f32 rstd[900:3], "
     "reference: rmsnorm, bind: {eps: 1e-5}",
     4, true, 0},
    {"const f32 x[4][2][9999], f32 y[4][9999], reference: silu_and_mul", 2, false, 0},
    {"const f32 x[2][3][333][33], const f32 mask[2:333 * 33][3:0][333][33], f32 "
     "y[2][3][333][33], reference: softmax_masked",
     3, false, 0},
    {"const f32 x[60][30][31], f32 y[60][30][31], reference: softmax_causal", 2, false, 0},
    {"const f32 x[1000][32], const f32 w[8][32], const f32 bias[8], f32 y[1000][8], "
     "reference: linear",
     4, false, 0},
    {"const f32 x[8][32], const f32 w[1000][32], const f32 bias[1000], f32 "
     "y[8][1000], reference: linear",
     4, false, 0},
    {"const f32 a[60][1000], const f32 b[60][8], f32 c[1000][8], reference: "
     "matmul_tn, bind: {alpha: 1}",
     3, false, 0},
    {"const f32 a[100][8][9], const f32 b[100][9][7], f32 c[100][8][7], reference: "
     "bmm, bind: {alpha: 1}",
     3, false, 0},
    {"const f32 a[2][1024][9], const f32 b[2][9][4], f32 c[2][1024][4], reference: "
     "bmm, bind: {alpha: 1}",
     3, false, 0},
    {"const f32 a[2048][8], const f32 b[8][4], inout f32 c[2048:5][4], reference: "
     "gemm, bind: {beta: 1, alpha: 1}",
     3, false, 0},
    {"const f32 a[24:4100][4096], const f32 x[24], f32 y[4096], reference: gemv_t, "
     "bind: {n: 24}",
     3, false, 0},
    {"const f32 x[64][3001], f32 y[3001], reference: col_sum", 2, false, 0},
    {"const i64 ids[4000], const f32 table[10][8], f32 y[4000][8], reference: "
     "embedding",
     3, false, 0},
    {"const i64 ids[4][50], const f32 table[10][640], const f32 positions[50][640], "
     "f32 y[4][50][640], reference: embedding_positions",
     4, false, 0},
    {"const i32 ids[40], const f32 dy[40][5000], f32 dtable[10][5000], reference: "
     "embedding_backward, bind: {scale: 1}",
     3, false, 0},
    {"const f32 x[60][40][2][16], const f32 cos[60][16], const f32 sin[60][16], f32 "
     "y[60][40][2][16], reference: rope_halves, bind: {direction: 1}",
     4, false, 0},
    {"const f32 x[8][2][4][500], const f32 w[2][4], const f32 b[2][4], f32 "
     "y[8][2][4][500], reference: groupnorm, bind: {eps: 1e-5}",
     4, false, 0},
    {"const f32 q[20][24][8], const f32 k[20][8][8], const f32 v[20][8][8], "
     "f32 y[20][24][8], f32 lse[24][20], reference: attention, bind: {scale: 1, right: 0}",
     5, false, 0},
    {"const bf16 q[1][20:8][16:160][8], const bf16 k[1][20:8][8:160][8], "
     "const bf16 v[1][20:8][8:160][8], bf16 y[1][20:8][16:160][8], "
     "const f32 bias[1:0][16:1][20:0][20:0], f32 lse[1][16:1][20:16], "
     "reference: attention, bind: {scale: 1}",
     6, false, 4},
    {"const f32 q[20:200][8:12][8], const f32 k[20:200][8:12][8], const f32 v[20:200][8:12][8], "
     "f32 y[20:200][8:9][8], reference: attention, bind: {scale: 1}",
     4, false, 8},
    {"const f32 q[24][16][8], const f32 k[24][8][8], const f32 v[24][8][8], f32 y[24][16][8], "
     "const i32 starts[3], const i32 key_starts[3], f32 lse[16][24], "
     "reference: attention_varlen, bind: {scale: 1}",
     7, false, 0},
    {"const f32 q[24][16][8], const f32 k[24][8][8], const f32 v[24][8][8], "
     "const f32 dy[24][16][8], const i32 starts[3], const i32 key_starts[3], "
     "const f32 lse[16][24], const f32 delta[16][24], f32 dq[24][16][8], f32 dk[24][8][8], "
     "f32 dv[24][8][8], reference: attention_varlen_backward, bind: {scale: 1}",
     11, false, 0},
    {"const f32 q[1][10][16][8], const f32 k[1][12][8][8], const f32 v[1][12][8][8], "
     "const f32 dy[1][10][16][8], const f32 lse[1][16][10], const f32 y[1][10][16][8], "
     "const f32 bias[1][16][10][12], f32 dbias[1][16][10][12], f32 dq[1][10][16][8], "
     "f32 dk[1][12][8][8], f32 dv[1][12][8][8], reference: attention_backward, bind: {scale: 1}",
     11, false, 0},
    {"const f32 q[2][3][16][8], const f32 k[60][4][8][8], const f32 v[60][4][8][8], "
     "const i32 table[2][9], const i32 lengths[2], f32 y[2][3][16][8], "
     "reference: attention_paged, bind: {scale: 1}",
     6, false, 0},
    {"const q4_K w[300][512], f32 y[300][512], reference: dequantise_blocks", 2, false, 0},
    {"const q8_0 w[300:17][512], f32 y[300][512], reference: dequantise_blocks", 2, false, 0},
    {"const f32 x[2][512], const q8_0 w[300][512], f32 y[2][300], reference: linear_blocks", 3,
     false, 0},
    {"const q8_1 x[300][512], const q8_0 w[8][512], f32 y[300][8], reference: linear_blocks", 3,
     false, 0},
    {"const i8 q[300][128], const f32 scale[300][4], f32 y[300][128], reference: dequantise", 3,
     false, 0},
    {"const i8 q[4][9600], const f32 scale[4][9600], const f32 zero[4][9600], f32 y[4][9600], "
     "reference: dequantise",
     4, false, 0},
    {"const f32 x[300][128], const f32 scale[1], i8 q[300][128], "
     "reference: quantise",
     3, false, 0},
    {"const i8 x[400][128], const i8 w[8][128], const f32 x_scale[400], const f32 w_scale[1], "
     "f32 y[400][8], reference: linear_int8",
     5, false, 0},
    {"const f8e4m3 x[4][128], const f8e4m3 w[900][128], const f32 x_scale[4][4], "
     "const f32 w_scale[900][4], f32 y[4][900], reference: linear_f8",
     5, false, 0},
    {"inout f32 p[30000], const f32 g[30000], inout f32 m[30000], inout f32 v[30000], "
     "reference: adamw, bind: {lr: 1, beta1: 1, beta2: 1, eps: 1, decay: 0, c1: 1, c2: 1}",
     4, false, 0},
};

#endif
