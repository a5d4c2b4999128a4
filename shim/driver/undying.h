/*
 * undying.h - a library whose objects outlive exit.
 *
 * A C++ library registers the destructor of a function's static object when that is made, late, and
 * exit runs it before any handler registered earlier: under the feet of a thread of ours that is
 * still inside the library. So the library's own call of __cxa_atexit is redirected to one that
 * registers nothing. What it leaves undone the end of the process does.
 */
#ifndef DRIVER_UNDYING_H
#define DRIVER_UNDYING_H

/* For what the library (a dlopen handle) makes from now on; before any thread of ours enters it.
 * Without effect where the library does not call __cxa_atexit through a relocation. */
void undying_from_now(void *library);

#endif
