#include "tools/discover/probing_text.h"

#include <inttypes.h>
#include <string.h>
#include "lang/dtype.h"
#include "text/printable.h"

enum { SHOWN_LAUNCHES = 3 };

void probing_put_report(const struct probing_report *report, struct textbuf *out)
{
    unsigned good = report->same + report->rounded;
    if (!report->launches) {
        textbuf_printf(out,
                       "  #   no launch was run again: no memory of its launches was recorded\n");
        return;
    }
    textbuf_printf(out, "  #   run again: %u of %u launches gave the recorded results", good,
                   report->launches);
    if (report->rounded)
        textbuf_printf(out, ", %u of them within rounding", report->rounded);
    if (*report->sentence)
        textbuf_printf(out, "; %s", PRINTABLE(report->sentence));
    if (report->late)
        textbuf_printf(out, "; the time ended before all was done");
    textbuf_printf(out, "\n");
}

static void put_range(const struct poison_marks *marks, const struct probed *probed,
                      struct textbuf *out)
{
    textbuf_printf(out, "bytes %" PRIu64 "..%" PRIu64 " of %" PRIu64, marks->begin, marks->end - 1,
                   probed->bytes);
}

static void put_read(const struct probed *probed, struct textbuf *out)
{
    if (!probed->reads) {
        textbuf_printf(out, "reads none");
    } else if (probed->edges) {
        textbuf_printf(out, "reads ");
        put_range(&probed->read, probed, out);
    } else {
        textbuf_printf(out, "reads some of %" PRIu64 " bytes", probed->bytes);
    }
}

static void put_written(const struct probed *probed, unsigned size, struct textbuf *out)
{
    const struct poison_marks *written = &probed->written;
    uint64_t all = size ? (written->end - written->begin + size - 1) / size : written->elements;
    if (!probed->writes) {
        textbuf_printf(out, ", writes none");
        return;
    }
    textbuf_printf(out, ", writes ");
    put_range(written, probed, out);
    if (written->elements < all)
        textbuf_printf(out, " (%" PRIu64 " of %" PRIu64 " elements)", written->elements, all);
    if (probed->adds)
        textbuf_printf(out, ", adds to them");
    else if (probed->keeps)
        textbuf_printf(out, ", what they held makes a difference");
}

static void put_reached(const struct probed *probed, struct textbuf *out)
{
    bool reads = probed->reached.reads, writes = probed->reached.writes;
    if (probed->reached.places)
        textbuf_printf(out, "; addresses in it lead to %" PRIu64 " bytes, %s",
                       probed->reached.bytes,
                       reads && writes ? "read and written"
                       : reads         ? "read"
                       : writes        ? "written"
                                       : "neither read nor written");
}

static void put_launch(const struct probed *probed, unsigned size, struct textbuf *out)
{
    if (!probed->reads && !probed->writes) {
        textbuf_printf(out, "reads and writes none of %" PRIu64 " bytes", probed->bytes);
    } else {
        put_read(probed, out);
        put_written(probed, size, out);
    }
    put_reached(probed, out);
}

static bool is_alike(const struct probed *a, const struct probed *b)
{
    return a->known == b->known && a->reads == b->reads && a->writes == b->writes &&
           a->keeps == b->keeps && a->adds == b->adds && a->edges == b->edges &&
           a->bytes == b->bytes && !memcmp(&a->read, &b->read, sizeof a->read) &&
           !memcmp(&a->written, &b->written, sizeof a->written) &&
           a->reached.bytes == b->reached.bytes;
}

/* One line for each launch that differs from those before it. */
static void put_launches(const struct fact *fact, struct textbuf *out)
{
    unsigned shown = 0;
    for (unsigned i = 0; i < SEEN_SAMPLES && shown < SHOWN_LAUNCHES; i++) {
        bool fresh = fact->probed[i].known;
        for (unsigned j = 0; j < i && fresh; j++)
            fresh = !is_alike(&fact->probed[i], &fact->probed[j]);
        if (!fresh)
            continue;
        textbuf_printf(out, "  #       %s", shown++ ? "and " : "run again, it ");
        put_launch(&fact->probed[i], dtype_bytes(fact->dtype), out);
        textbuf_printf(out, "\n");
    }
}

/* Where the code shows an access that no run has, or a run has one that the code does not show. */
static void put_conflicts(const struct fact *fact, struct textbuf *out)
{
    struct probed_counts counts = facts_probed(fact);
    const struct coded *coded = &fact->coded;
    bool writes = coded->writes || coded->adds;
    const struct {
        bool holds;
        const char *sentence;
    } rows[] = {
        {fact->scratch, "launches leave there what they found, and need it: a counter"},
        {coded->reads && !counts.reads && counts.writes,
         "the code reads it, but what it held makes no difference: scratch (ws), or an output that "
         "is read back"},
        {coded->reads && !counts.reads && !counts.writes,
         "the code reads it, but no byte of it matters in these launches"},
        {writes && !counts.writes && !fact->scratch,
         "the code writes it, but no byte of it in these launches"},
        {!writes && coded->reads && counts.writes,
         "the code shows no write to it, but these launches write it"},
        {!coded->reads && !coded->adds && coded->writes && counts.reads,
         "the code shows no read of it, but these launches need what it held"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].holds)
            textbuf_printf(out, "  #       %s\n", rows[i].sentence);
    }
}

void probing_put(const struct facts *facts, unsigned number, struct textbuf *out)
{
    const struct fact *fact = &facts->fact[number];
    if (fact->kind != FACT_ARRAY)
        return;
    put_launches(fact, out);
    if (facts_probed(fact).launches)
        put_conflicts(fact, out);
}
