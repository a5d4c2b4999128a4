#include "tools/report/formats/out.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include "text/utf8.h"
#include "value/kernel_spec.h"

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void out_escaped(FILE *file, const char *text)
{
    const unsigned char *at = (const unsigned char *)(text ? text : "");
    size_t left = strlen((const char *)at);
    while (left > 0) {
        const char *entity = entity_of((char)*at);
        size_t length = utf8_length(at, left);
        uint32_t point = length ? utf8_point(at, length) : 0;
        if (entity)
            fputs(entity, file);
        else if (!length || utf8_steers(point) || point == 0xfffe || point == 0xffff)
            fputs("\xef\xbf\xbd", file);
        else
            fwrite(at, 1, length, file);
        at += length ? length : 1;
        left -= length ? length : 1;
    }
}

void out_quoted(char *out, size_t size, const char *text)
{
    size_t length = 0;
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+=:,@%";
    if (*text && text[strspn(text, plain)] == '\0') {
        snprintf(out, size, "%s", text);
        return;
    }
    if (size < 8)
        return;
    out[length++] = '\'';
    for (; *text && length + 6 < size; text++) {
        if (*text == '\'')
            length += (size_t)snprintf(out + length, size - length, "'\\''");
        else
            out[length++] = *text;
    }
    out[length++] = '\'';
    out[length] = '\0';
}

void out_time(char out[32], int64_t ms)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    if (!gmtime_r(&seconds, &utc) || strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        snprintf(out, 32, "?");
}

void out_ratio(char out[32], const struct model_kernel *kernel)
{
    if (model_checked(kernel->counts.verdict) == 0)
        snprintf(out, 32, "-");
    else
        verdict_ratio_text(out, kernel->counts.max_ratio, kernel->counts.violations == 0);
}

/* A case whose outcome the elements do not show. */
static bool is_case(const struct model_finding *finding)
{
    return finding->outcome && strcmp(finding->outcome, "mismatch") != 0;
}

void out_finding_text(char *out, size_t size, const struct model_finding *finding)
{
    char of[64] = "", up_to[64] = "";
    if (finding->of > finding->elements)
        snprintf(of, sizeof of, ", a sample: the launch has %" PRIu64 " elements", finding->of);
    if (isfinite(finding->max_ratio) && finding->violations > 0)
        snprintf(up_to, sizeof up_to, ", up to %.3g times", finding->max_ratio);
    if (finding->why && is_case(finding))
        snprintf(out, size, "%s: %s", finding->outcome, finding->why);
    else if (finding->why && !finding->violations)
        snprintf(out, size, "%s", finding->why);
    else
        snprintf(out, size, "%s%" PRIu64 " of %" PRIu64 " elements outside the bound%s%s",
                 model_is_lifted(finding->kernel) ? LIFTED_REFERENCE ": " : "", finding->violations,
                 finding->elements, up_to, of);
}

const char *out_bundle_verb(const struct model_finding *finding)
{
    return model_is_lifted(finding->kernel) ? "lift" : "replay";
}

const char *out_finding_more(const struct model_finding *finding)
{
    return finding->violations && !finding->outcome ? finding->why : NULL;
}

void out_again(char *out, size_t size, const struct model_finding *finding)
{
    char config[2048] = "", kernel[1200], seed[32], image[2048];
    *out = '\0';
    if (!finding->seed || !finding->config || !finding->image || !finding->kernel->symbol)
        return;
    if (finding->config[0])
        out_quoted(config, sizeof config, finding->config);
    out_quoted(kernel, sizeof kernel, finding->kernel->symbol);
    out_quoted(seed, sizeof seed, finding->seed);
    out_quoted(image, sizeof image, finding->image);
    bool probe = strcmp(out_rule_of(finding)->id, "probe") == 0;
    snprintf(out, size, "cuvet fuzz%s%s -k %s%s --case %s %s%s", config[0] ? " -c " : "", config,
             kernel, probe ? " --probe" : "", seed, finding->image[0] == '-' ? "./" : "", image);
}

/* Names are those of fuzz_outcome_text(), but for the second: a live check's, of a kernel that is
 * held against its own PTX. */
const struct out_rule out_rules[OUT_RULES] = {
    {"mismatch", "mismatch", "A kernel's output lies outside its error bound"},
    {"precision", "precision", "A kernel's output lies outside the bound of its own PTX in f64"},
    {"unwritten", "unwritten", "A kernel leaves elements of its output as they were"},
    {"input changed", "input-changed", "A kernel writes to an array that it may only read"},
    {"write outside", "write-outside", "A kernel writes to memory that lies in no array"},
    {"fault", "fault", "A launch does not run to its end"},
    {"hang", "hang", "A launch does not end in time"},
    {"probe", "probe", "A launch's result depends on what it may not depend on"},
};

const struct out_rule *out_rule_of(const struct model_finding *finding)
{
    const char *outcome = finding->outcome                   ? finding->outcome
                          : model_is_lifted(finding->kernel) ? "precision"
                                                             : "mismatch";
    for (int i = 0; i < OUT_RULES; i++) {
        if (strcmp(out_rules[i].outcome, outcome) == 0)
            return &out_rules[i];
    }
    return &out_rules[0];
}
