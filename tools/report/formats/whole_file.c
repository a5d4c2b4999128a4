#include "tools/report/formats/whole_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool whole_file_open(struct whole_file *out, const char *output)
{
    *out = (struct whole_file){.file = stdout};
    textbuf_init(&out->made);
    if (!output || strcmp(output, "-") == 0)
        return true;
    struct stat info;
    if (stat(output, &info) == 0 && !S_ISREG(info.st_mode)) {
        out->file = fopen(output, "w");
        return out->file != NULL;
    }
    out->output = output;
    textbuf_printf(&out->made, "%s.%ld.new", output, (long)getpid());
    out->file = out->made.failed ? NULL : fopen(out->made.data, "wx");
    if (!out->file)
        textbuf_release(&out->made);
    return out->file != NULL;
}

bool whole_file_close(struct whole_file *out, bool good)
{
    bool written = !ferror(out->file) && fflush(out->file) == 0;
    if (out->file != stdout)
        written &= fclose(out->file) == 0;
    if (!out->output)
        return written || !good;
    written = written && good && rename(out->made.data, out->output) == 0;
    int kept = errno;
    if (!written)
        unlink(out->made.data);
    textbuf_release(&out->made);
    errno = kept;
    return written || !good;
}
