/*
 * tables.h - the tables that are part of the library: config/kernels, config/calls and
 * config/tolerances.yaml, in the form that the build gave them.
 *
 * Finding out which entries a name may belong to reads only their words; an entry becomes a tree of
 * nodes, as yaml_doc.h has them, when it is wanted. All is constant; any thread.
 */
#ifndef TABLES_TABLES_H
#define TABLES_TABLES_H

#include "base/arena.h"
#include "system/yaml_doc.h"
#include "tables/tables_format.h"

/* Entries are numbered in the order of their files, words from 0. */
size_t tables_entries(void);
const struct tables_entry *tables_entry(size_t number);
const char *tables_pattern(size_t number);
size_t tables_words(void);
const char *tables_word(size_t number, bool *whole);

/* The entry's mapping, with the places of the table: all nodes are the arena's, texts last as long
 * as the process. NULL: no memory. */
const struct yaml_node *tables_read(size_t entry, struct arena *arena);

/* Which key the section is of (enum tables_part), and its value, as above. -1: there are no more.
 */
int tables_part(size_t number);
const struct yaml_node *tables_section(size_t number, struct arena *arena);

/* The names of the references that entries use; NULL: there are no more. */
const char *tables_reference(size_t number);

#endif
