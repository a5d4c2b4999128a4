/* kernels.cu - a kernel for each of the graphs that take turns. */
#include "kernels.cuh"

RMSNORM_RIGHT(norm_right_0)
RMSNORM_RIGHT(norm_right_1)
RMSNORM_RIGHT(norm_right_2)
RMSNORM_RIGHT(norm_right_3)
RMSNORM_RIGHT(norm_right_4)
RMSNORM_RIGHT(norm_right_5)
RMSNORM_RIGHT(norm_right_6)
RMSNORM_RIGHT(norm_right_7)
RMSNORM_WRONG(norm_wrong_0)
RMSNORM_WRONG(norm_wrong_1)
RMSNORM_WRONG(norm_wrong_2)
RMSNORM_WRONG(norm_wrong_3)
RMSNORM_WRONG(norm_wrong_4)
RMSNORM_WRONG(norm_wrong_5)
RMSNORM_WRONG(norm_wrong_6)
RMSNORM_WRONG(norm_wrong_7)
