#include "tests/unit/ref_host/ref_dims.h"
#include "refs/dialect/ref_space.h"

bool dims_are_sane(const long long *size, int count)
{
    ref_call call = {};
    for (int i = 0; i < count; i++)
        call.size[i] = size[i];
    return ref_sane_dims(call, count);
}
