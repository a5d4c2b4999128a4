/* vendor.h - which of NVIDIA's own libraries device code is of. Pure. */
#ifndef IMAGE_VENDOR_H
#define IMAGE_VENDOR_H

/* By the file that the code lies in (NULL: not known), else by the name of the kernel, mangled:
 * "cuBLASLt"; NULL: none of them is known to have it. */
const char *vendor_library(const char *path, const char *symbol);

/* What follows ".so." in a file's name: "12.8.4" of libcublasLt.so.12.8.4. NULL: nothing. */
const char *vendor_version(const char *path);

#endif
