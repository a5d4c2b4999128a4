/* compile_serve.h - the process that compiles references for a program (compile/compile_client.h).
 */
#ifndef TOOLS_COMPILE_SERVE_H
#define TOOLS_COMPILE_SERVE_H

/* `cuvet compile --serve VERSION CACHE NVRTC MAJOR WHEELS LAST`, with a socket as standard input:
 * the cache folder, and what NVRTC is searched by (driver/find.h); "" where there is none. Ends
 * when the socket or the program does. Returns the exit status. */
int compile_serve(char **argument);

enum { COMPILE_SERVE_ARGUMENTS = 6 };

#endif
