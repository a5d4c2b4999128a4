/* ptx_of.c - ptx_of FATBIN ARCH prints the PTX that a device of that compute capability would take.
 */
#include <stdio.h>
#include <stdlib.h>
#include "driver/module/fatbin.h"

int main(int argc, char **argv)
{
    struct error err = {{0}};
    FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    static uint8_t bytes[256 << 20];
    size_t length, text_bytes = 0;
    char *text = NULL;

    if (!file) {
        fprintf(stderr, "usage: ptx_of FATBIN ARCH; the file must be readable\n");
        return 2;
    }
    length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (fatbin_choose(bytes, length, (unsigned)atoi(argv[2]), &text, &text_bytes, &err) || !text) {
        fprintf(stderr, "ptx_of: %s: %s\n", argv[1], err.text);
        return 1;
    }
    fputs(text, stdout);
    free(text);
    return 0;
}
