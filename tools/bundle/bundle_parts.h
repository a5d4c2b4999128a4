/* bundle_parts.h - the two halves of reading a bundle: launch.json, and the tensors' file. */
#ifndef TOOLS_BUNDLE_BUNDLE_PARTS_H
#define TOOLS_BUNDLE_BUNDLE_PARTS_H

#include "tools/bundle/bundle_file.h"
#include "tools/bundle/json_in.h"

/* Fills in all but tensors, image and folder. */
enum status bundle_read_launch(struct bundle *bundle, const char *text, size_t bytes,
                               struct error *err);

/* Finds the arrays' elements in tensors_file, after bundle_read_launch. */
enum status bundle_read_tensors(struct bundle *bundle, struct error *err);

/* "call" of launch.json: call and tensor. */
void bundle_read_call(struct json_in *in, struct bundle *bundle, json_t *root);

/* "worst" and "first" of launch.json, after the call: spot. */
void bundle_read_spots(struct json_in *in, struct bundle *bundle, json_t *root);

/* An element type by its name. */
enum dtype bundle_dtype(struct json_in *in, json_t *object, const char *key);

#endif
