/* status.h - how a function of ours says that it failed. Three vocabularies are never mixed:
 * a status (we failed), a skip (we chose not to check, value/skip.h), a verdict (the kernel's
 * result, value/verdict.h). */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

enum status {
    STATUS_OK = 0,
    STATUS_INVALID, /* input that breaks a rule; the error says which */
    STATUS_NOT_FOUND,
    STATUS_NO_MEMORY,
    STATUS_IO,
    STATUS_DRIVER, /* the CUDA driver or CUPTI refused */
    STATUS_UNSUPPORTED,
    STATUS_FULL,
    STATUS_TIMEOUT,
};

#endif
