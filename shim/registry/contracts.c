#include "registry/contracts.h"

#include <string.h>
#include "plan/registry_keys.h"

/* ---- reading ---- */

/* `what` may be bits alone. */
static enum status read_bits(const struct yaml_node *node, const char *what, bool *out,
                             struct error *err)
{
    const char *text = "bits";
    enum status status = yaml_text(node, what, &text, err);
    *out = true;
    return !status && strcmp(text, "bits") != 0
               ? yaml_error(err, node, "'%s' is '%.40s'; expected bits", what, text)
               : status;
}

static enum status read_margin(const struct yaml_node *node, struct contract *out,
                               struct error *err)
{
    const struct yaml_node *rtol = yaml_get(node, "rtol"), *atol = yaml_get(node, "atol");
    const struct yaml_node *single = yaml_get(node, "single");
    enum status status = keys_check(node, KEYS_AGREE, err);
    out->bits = false;
    if (!status && !rtol && !atol)
        status = yaml_error(err, node, "'agree' has no margin; expected rtol, atol, or both");
    if (!status && rtol)
        status = yaml_real(rtol, "rtol", 0, 1e300, &out->rtol, err);
    if (!status && atol)
        status = yaml_real(atol, "atol", 0, 1e300, &out->atol, err);
    return !status && single ? read_bits(single, "single", &out->single_bits, err) : status;
}

static enum status read_agree(const struct yaml_node *node, struct contract *out, struct error *err)
{
    const char *text = "bits";
    out->bits = true;
    if (node && node->kind == YAML_KIND_MAPPING)
        return read_margin(node, out, err);
    enum status status = node ? yaml_text(node, "agree", &text, err) : STATUS_OK;
    if (!status && strcmp(text, "bits") != 0)
        status = yaml_error(
            err, node, "'agree' is '%.40s'; expected bits, or {rtol: NUMBER, atol: NUMBER}", text);
    return status;
}

static enum status read_item(const struct yaml_node *node, struct contract *out, struct error *err)
{
    enum status status = node ? yaml_text(node, "item", &out->item, err) : STATUS_OK;
    if (!status && node && !strcmp(out->item, "launch"))
        out->item = "";
    return status;
}

static enum status read_within(const struct yaml_node *node, struct contract *out,
                               struct error *err)
{
    const char *text = "";
    enum status status = node ? yaml_text(node, "within", &text, err) : STATUS_OK;
    out->within = node != NULL;
    if (!status && node && strcmp(text, "kernel") != 0)
        status = yaml_error(err, node, "'within' is '%.40s'; expected kernel", text);
    return status;
}

static enum status read_contract_kernel(const struct yaml_node *node, struct contract_entry *entry,
                                        struct error *err)
{
    const char *text;
    enum status status = yaml_text(node, "kernels", &text, err);
    if (!status && entry->kernels == CONTRACT_KERNELS)
        status = yaml_error(err, node, "more than %d kernels in one contract; use a pattern",
                            CONTRACT_KERNELS);
    if (status)
        return status;
    status = pattern_compile(&entry->kernel[entry->kernels], text, err);
    if (status)
        error_prefix(err, "%s:%u:%u", node->file, node->line, node->column);
    else
        entry->kernels++;
    return status;
}

static enum status read_kernels(const struct yaml_node *node, struct contract_entry *entry,
                                struct error *err)
{
    enum status status = STATUS_OK;
    if (node->kind != YAML_KIND_SEQUENCE)
        return read_contract_kernel(node, entry, err);
    for (size_t i = 0; !status && i < node->count; i++)
        status = read_contract_kernel(node->item[i], entry, err);
    return status;
}

static void release_contract(struct contract_entry *entry)
{
    for (unsigned i = 0; i < entry->kernels; i++)
        pattern_destroy(entry->kernel[i]);
}

static enum status read_contract(const struct yaml_node *node, struct contract_entry *entry,
                                 struct error *err)
{
    const struct yaml_node *name = yaml_get(node, "name"), *kernels = yaml_get(node, "kernels");
    enum status status = yaml_expect(node, "parity", YAML_KIND_MAPPING, err);
    if (!status)
        status = keys_check(node, KEYS_PARITY, err);
    if (!status && (!name || !kernels))
        status = yaml_error(err, node, "the contract has no '%s'", name ? "kernels" : "name");
    if (!status)
        status = yaml_text(name, "name", &entry->contract.name, err);
    if (!status)
        status = read_item(yaml_get(node, "item"), &entry->contract, err);
    if (!status)
        status = read_agree(yaml_get(node, "agree"), &entry->contract, err);
    if (!status)
        status = read_within(yaml_get(node, "within"), &entry->contract, err);
    return status ? status : read_kernels(kernels, entry, err);
}

enum status contracts_add(struct contracts *contracts, struct arena *arena,
                          const struct yaml_node *node, struct error *err)
{
    if (contracts->count == CONTRACTS)
        return yaml_error(err, node, "more than %d contracts", CONTRACTS);
    struct contract_entry *entry = arena_alloc(arena, sizeof *entry);
    if (entry)
        entry->contract.where = arena_format(arena, "%s:%u", node->file, node->line);
    if (!entry || !entry->contract.where)
        return error_set(err, STATUS_NO_MEMORY, "%s: no memory", node->file);
    entry->contract.number = contracts->count;
    enum status status = read_contract(node, entry, err);
    if (status)
        release_contract(entry);
    else
        contracts->entry[contracts->count++] = entry;
    return status;
}

void contracts_release(struct contracts *contracts)
{
    for (unsigned i = 0; i < contracts->count; i++)
        release_contract(contracts->entry[i]);
    contracts->count = 0;
}

/* ---- meeting a kernel ---- */

static bool names_kernel(const struct contract_entry *entry, const struct symbol_names *names,
                         struct arena *scratch)
{
    struct captures unused;
    for (unsigned i = 0; i < entry->kernels; i++) {
        if (pattern_match(entry->kernel[i], names, scratch, &unused) == PATTERN_YES)
            return true;
    }
    return false;
}

const struct contract *contracts_find(const struct contracts *contracts,
                                      const struct symbol_names *names, struct arena *scratch)
{
    for (unsigned i = contracts->count; i-- > 0;) {
        if (names_kernel(contracts->entry[i], names, scratch))
            return &contracts->entry[i]->contract;
    }
    return NULL;
}
