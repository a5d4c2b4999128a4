/* launch_json.h - the parts of a bundle's launch.json that the journal's finding lines lack: what a
 * launch that is run again needs, and what the reference was given. The format is in bundle.h. */
#ifndef BUNDLE_LAUNCH_JSON_H
#define BUNDLE_LAUNCH_JSON_H

#include "text/json_out.h"
#include "value/check_report.h"

/* Members of the open object: cluster, cooperative, machine, parameters, pointers. */
void launch_json_source(struct json_out *json, const struct check_report *report,
                        const struct bundle_source *source);

/* The member "call". */
void launch_json_call(struct json_out *json, const struct check_report *report);

/* The name of the image's file, by its first bytes: module.cubin, .fatbin or .ptx. */
const char *launch_json_image(const void *image, size_t bytes);

#endif
