/* embedded.h - what the build puts into the library: device code and the default tolerances. */
#ifndef VERIFY_EMBEDDED_H
#define VERIFY_EMBEDDED_H

extern const unsigned char cuvet_snapshot_fatbin[];
extern const unsigned long cuvet_snapshot_fatbin_size;
extern const unsigned char cuvet_outlier_fatbin[];
extern const unsigned long cuvet_outlier_fatbin_size;
extern const unsigned char cuvet_refs_fatbin[]; /* all kernels but the wide ones */
extern const unsigned long cuvet_refs_fatbin_size;
extern const unsigned char cuvet_refs_wide_fatbin[];
extern const unsigned long cuvet_refs_wide_fatbin_size;

#endif
