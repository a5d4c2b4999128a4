#include "tests/unit/common/tmp_folder.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "system/files.h"

void tmp_folder_make(struct tmp_folder *folder)
{
    const char *parent = getenv("TMPDIR");

    snprintf(folder->path, sizeof folder->path, "%s/cuvet-test-XXXXXX",
             parent && *parent ? parent : "/tmp");
    assert_non_null(mkdtemp(folder->path));
}

void tmp_folder_remove(struct tmp_folder *folder)
{
    files_remove_folder(folder->path);
}

char *file_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long length;

    if (!file)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0) {
        rewind(file);
        text = calloc((size_t)length + 1, 1);
        if (text && fread(text, 1, (size_t)length, file) != (size_t)length) {
            free(text);
            text = NULL;
        }
        if (size)
            *size = (size_t)length;
    }
    fclose(file);
    return text;
}

void file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

int folder_entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;

    if (!folder)
        return -1;
    for (struct dirent *entry; (entry = readdir(folder));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return count;
}
