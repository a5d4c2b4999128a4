/*
 * transform.h - results that a kernel computed by a transform. Collector thread only, the side's
 * context current.
 *
 * Convolutions by Winograd's or Fourier's transforms are exact in the norm, not in each element: an
 * error is a share of the numbers of its tile, also where the element's own terms are all zero.
 * Measured with cuDNN 9.19 on an H200, the gradient of weights of 320 pixels whose dy is zero but
 * for one in 44: elements that are 0 were off by up to 2^-22 of the largest one.
 */
#ifndef JUDGE_TRANSFORM_H
#define JUDGE_TRANSFORM_H

#include "context/side.h"

/* Whether all of the errors lie below `share` of `largest`, and the classes agree. Pure. */
bool transform_explains(const struct ref_verdict *numbers, double share, double largest);

/* For a lane with a mismatch whose tolerance has `transform`, and whose one output is of f32 and
 * copied without gaps: nothing is decided where the errors are those of a transform. */
void transform_allow(struct side *side, struct lane *lane);

#endif
