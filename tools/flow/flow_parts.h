/* flow_parts.h - what the files of this room share. */
#ifndef FLOW_FLOW_PARTS_H
#define FLOW_FLOW_PARTS_H

#include "tools/flow/flow.h"

/* Larger functions are not analysed: the time for one would be felt. */
enum { FLOW_INSTRUCTIONS = 1 << 19, FLOW_LINKS = 1 << 24 };

/* graph.c: blocks, edges, dominators, loops, control. */
enum status flow_graph(struct flow *flow, struct error *err);

/* tree.c */
enum status flow_trees(struct flow *flow, struct error *err);
enum status flow_controls(struct flow *flow, struct error *err);
enum status flow_loops(struct flow *flow, struct error *err);

/* values.c */
enum status flow_values(struct flow *flow, struct error *err);

/* sources.c: sources, params, divergent. */
enum status flow_sources(struct flow *flow, struct error *err);

/* The destination of an instruction: its first operand, or the results of a call; 0: none. */
unsigned flow_destinations(const struct ptx_instruction *instruction,
                           const struct ptx_operand **first);

/* Zeroed memory for `count` numbers. */
uint32_t *flow_numbers(struct flow *flow, size_t count, uint32_t value, struct error *err);
enum status flow_no_memory(struct error *err);

#endif
