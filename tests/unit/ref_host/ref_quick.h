/* ref_quick.h - the functions of refs/dialect/ref_exponential.h that only special kernels take, for
 * C. */
#ifndef TESTS_REF_QUICK_H
#define TESTS_REF_QUICK_H

#ifdef __cplusplus
extern "C" {
#endif

double quick_exp(double x);
double quick_sigmoid(double x);
double quick_one_plus_erf(double x);
double quick_one_plus_tanh(double x);

#ifdef __cplusplus
}
#endif

#endif
