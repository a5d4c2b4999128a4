/* ref_product.cpp - projections on the host, see ref_product.h. */
#include "ref_project.h"

namespace
{
const auto whole_pass = [](const auto &pass) {
    for (int64_t s = 0; s < pass.p.batch; s++) {
        for (int64_t kept = 0; kept < pass.kept(); kept++) {
            ref_pair sum = {0, 0};
            for (int64_t i = 0; i < pass.over(); i++)
                pass.add(s, kept, i, sum);
            pass.put(s, kept, sum);
        }
    }
};

const uint32_t *signs_of(const ref_product &product)
{
    static uint32_t signs[REF_PRODUCT_COLUMNS / 32];
    for (int64_t word = 0; word < (product.n + 31) / 32; word++)
        signs[word] = ref_signs(product.seed, (uint64_t)word);
    return signs;
}
} // namespace

extern "C" void ref_product_host_before(const struct ref_product *product, double *vectors)
{
    ref_vectors at = ref_vectors_at(*product, vectors);
    ref_pass_for<ref_before>(product->c, false,
                             ref_pass_of(*product, at, signs_of(*product), nullptr), whole_pass);
}

extern "C" void ref_product_host(const struct ref_product *product, double *vectors,
                                 struct ref_product_answer *answer)
{
    ref_vectors at = ref_vectors_at(*product, vectors);
    ref_pass<DTYPE_NONE> with = ref_pass_of(*product, at, signs_of(*product), answer);
    ref_product_clear(answer);
    ref_pass_for<ref_factors>(product->b, product->b_scales.data, with, whole_pass);
    ref_pass_for<ref_outputs>(product->c, false, with, whole_pass);
    ref_pass_for<ref_rows>(product->a, product->a_scales.data, with, whole_pass);
}
