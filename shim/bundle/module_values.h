/* module_values.h - what the variables of the kernel's module held, as a part of a bundle: the
 * member "variables" of launch.json and the file variables.bin. The format is in bundle.h. Pure,
 * but for the file. */
#ifndef BUNDLE_MODULE_VALUES_H
#define BUNDLE_MODULE_VALUES_H

#include "base/error.h"
#include "system/own_fd.h"
#include "text/json_out.h"
#include "value/check_report.h"

struct module_values {
    bool known; /* the source has read them */
    struct bundle_variables variables;
    uint64_t bytes;   /* of the file; 0: there is none */
    char no_room[96]; /* why no value is stored; "": all that are known are */
};

/* What the source has; a file of at most `most` bytes. */
void module_values_plan(struct module_values *values, const struct bundle_source *source,
                        uint64_t most);
/* Members of the open object. */
void module_values_json(struct json_out *json, const struct module_values *values);
enum status module_values_write(const struct module_values *values, const struct own_fd *file,
                                struct error *err);

#endif
