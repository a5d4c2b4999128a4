/* embedded.h - what the build puts into the library: device code, the tables of kernels and
 * tolerances, and the headers that references are compiled with. */
#ifndef DEVICE_EMBEDDED_H
#define DEVICE_EMBEDDED_H

extern const unsigned char cuvet_snapshot_fatbin[];
extern const unsigned long cuvet_snapshot_fatbin_size;
extern const unsigned char cuvet_outlier_fatbin[];
extern const unsigned long cuvet_outlier_fatbin_size;
extern const unsigned char cuvet_refs_fatbin[]; /* all kernels but the wide ones */
extern const unsigned long cuvet_refs_fatbin_size;
extern const unsigned char cuvet_refs_wide_fatbin[];
extern const unsigned long cuvet_refs_wide_fatbin_size;

/* The headers of refs/ by the names that they include each other by; ends with NULLs. */
struct embedded_text {
    const char *name, *text;
};
extern const struct embedded_text cuvet_ref_headers[];

/* The tables of config/kernels and config/calls and config/tolerances.yaml (tables_format.h). */
extern const unsigned char cuvet_tables[];

#endif
