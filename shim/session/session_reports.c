#include "session/session_reports.h"

#include <stdio.h>
#include "base/arena.h"
#include "names/symbol.h"
#include "report/summary_parts.h"
#include "system/log.h"

/* `why`: what stands between name and sentence. */
static void report_kernel(const struct session_reports *reports, enum log_level level,
                          const char *symbol, const char *why, const char *reason,
                          const char *sentence)
{
    char text[1024];
    snprintf(text, sizeof text, "%s%s: %s", symbol, why, sentence);
    if (summary_kernel_note(reports->summary, symbol, reason, text))
        log_line(level, "%s%s: %s", symbol, why, sentence);
    journal_warning(reports->journal, "%s%s: %s", symbol, why, sentence);
}

void session_warned(const struct session_reports *reports, const char *symbol, enum skip skip,
                    const char *sentence)
{
    char why[64] = "";
    if (skip)
        snprintf(why, sizeof why, ": unchecked (%s)", skip_text(skip));
    report_kernel(reports, skip ? LOG_WARN : LOG_INFO, symbol, why,
                  skip ? skip_text(skip) : sentence, sentence);
}

void session_unfit(const struct session_reports *reports, const char *symbol, const char *sentence)
{
    report_kernel(reports, LOG_WARN, symbol, ": unchecked", sentence, sentence);
}

void session_launch_failed(const struct session_reports *reports, const struct launch *launch,
                           const char *error_name)
{
    const char *symbol = launch->symbol ? launch->symbol : "unknown kernel";
    if (!counters_launch_error(reports->counters, symbol, launch->grid, launch->block, error_name))
        return;
    journal_launch_error(reports->journal, symbol, launch->grid, launch->block, error_name);
    if (launch->call) {
        log_line(LOG_INFO, "%s: refused by the library", symbol);
        return;
    }
    log_line(LOG_WARN, "launch of %s with grid (%u,%u,%u), block (%u,%u,%u), %u bytes: %s", symbol,
             launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
             launch->block[2], launch->shared_bytes, error_name);
}

static const char *plain(struct arena *arena, const char *symbol)
{
    struct symbol_names names;
    return symbol && *symbol && symbol_describe(&names, arena, symbol) ? names.plain : symbol;
}

void session_api_failed(const struct session_reports *reports, const struct api_error *error)
{
    struct arena arena = {0};
    struct api_error named = *error;
    char text[API_ERROR_TEXT];
    named.at = plain(&arena, error->at);
    for (size_t i = 0; i < error->names; i++)
        named.name[i] = plain(&arena, error->name[i]);
    api_error_text(&named, text);
    journal_api_error(reports->journal, error, text);
    if (!error->own)
        log_line(LOG_WARN, "%s", text);
    summary_note(reports->summary, "%s", text);
    arena_release(&arena);
}

void session_contract_judged(const struct session_reports *reports,
                             struct contract_totals totals[CONTRACTS],
                             const struct check_report *report)
{
    char text[PARITY_TEXT];
    if (report->parity.reveals && !report->parity.differ)
        summary_stands_alone(reports->summary, &report->parity);
    if (!contracts_judged(totals, report))
        return;
    parity_text(&report->parity, text);
    log_line(LOG_WARN, "%s", text);
    journal_warning(reports->journal, "%s", text);
    summary_note(reports->summary, "%s", text);
}

void session_contracts_end(const struct session_reports *reports, const struct registry *registry,
                           const struct contract_totals totals[CONTRACTS], struct textbuf *out)
{
    const struct contract *contract;
    for (unsigned i = 0; (contract = registry_contract(registry, i)); i++) {
        journal_contract(reports->journal, contract, &totals[i]);
        contract_line(contract, &totals[i], out);
    }
}
