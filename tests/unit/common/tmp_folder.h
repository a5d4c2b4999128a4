/* tmp_folder.h - a folder under TMPDIR for one test, and what tests do to files. */
#ifndef TESTS_TMP_FOLDER_H
#define TESTS_TMP_FOLDER_H

#include <stddef.h>

struct tmp_folder {
    char path[512];
};

void tmp_folder_make(struct tmp_folder *folder);   /* fails the test when it cannot */
void tmp_folder_remove(struct tmp_folder *folder); /* with what is in it */

/* The whole file with a NUL behind it; the caller frees it. NULL: it cannot be read. */
char *file_read(const char *path, size_t *size);
/* Fails the test when it cannot. */
void file_write(const char *path, const char *text);
/* Entries of a folder, hidden ones included; -1: no folder. */
int folder_entries(const char *path);

#endif
