/* status.h - how a function reports that it failed. Three vocabularies are never mixed: a status
 * (an operation failed), a skip (the launch is not checked, value/skip.h), a verdict (the kernel's
 * result, value/verdict.h). */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

enum status {
    STATUS_OK = 0,
    STATUS_INVALID, /* input that breaks a rule; the error names it */
    STATUS_NOT_FOUND,
    STATUS_NO_MEMORY,
    STATUS_IO,
    STATUS_DRIVER, /* the CUDA driver or CUPTI refused */
    STATUS_UNSUPPORTED,
    STATUS_FULL,
    STATUS_TIMEOUT,
};

#endif
