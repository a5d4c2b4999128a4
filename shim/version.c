/* version.c - the number that the Makefile defines. */
#include "cuvet.h"

const char *cuvet_version(void)
{
    return CUVET_VERSION;
}
