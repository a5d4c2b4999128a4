/*
 * ref_near.h - near() of formulas (refs/dialect/ref_value.h), for C: what special kernels take a
 * result for before they work out its error.
 */
#ifndef TESTS_REF_NEAR_H
#define TESTS_REF_NEAR_H

#ifdef __cplusplus
extern "C" {
#endif

/* Two loaded numbers, two of a row, and a scalar argument. */
struct near_input {
    float x, w;
    double m, n, s;
};

/* In a kernel that accumulates in f32. */
struct near_result {
    double near, value, error;
};

struct near_formula {
    const char *name;
    struct near_result (*at)(const struct near_input *);
};

extern const struct near_formula near_formulas[];
extern const unsigned near_formula_count;

/* sum(e^(x[i] - m)) of a row that a warp shares; of the subject, `lanes` do, as it declares. */
struct near_sums {
    int near; /* the near sum can be had: this and its error */
    double sum, error;
    double exact, exact_error;
};

void sums_of_powers(struct near_sums *out, const float *x, unsigned count, double m, double lambda,
                    unsigned lanes);

/* e^x as the terms of a sum have it. */
double exp_as_term(double x);

#ifdef __cplusplus
}
#endif

#endif
