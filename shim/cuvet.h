/*
 * cuvet.h - what a program may ask libcuvet.so, if it knows that the library is there.
 *
 * No program needs this header: cuvet checks unmodified programs. A program that wants to know
 * whether it is being checked looks the names up at run time and links nothing:
 *
 *     const char *(*version)(void) = dlsym(RTLD_DEFAULT, "cuvet_version");
 *     if (version)
 *         printf("checked by cuvet %s\n", version());
 */
#ifndef CUVET_H
#define CUVET_H

#ifdef __cplusplus
extern "C" {
#endif

#define CUVET_API __attribute__((visibility("default")))

/* "MAJOR.MINOR.PATCH", static. Any thread, also before cuInit. */
CUVET_API const char *cuvet_version(void);

#ifdef __cplusplus
}
#endif
#endif
