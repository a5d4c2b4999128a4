/* generated.h - which compiler made a kernel, by its name. Pure. */
#ifndef NAMES_GENERATED_H
#define NAMES_GENERATED_H

enum generator { GENERATOR_NONE, GENERATOR_XLA, GENERATOR_INDUCTOR };

/* The compiler whose kernels have such symbols: XLA's fusions ("loop_add_fusion_3",
 * "wrapped_slice"), Inductor's kernels ("triton_poi_fused_add_0"). */
enum generator generator_of(const char *symbol);

#endif
