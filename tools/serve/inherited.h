/* inherited.h - descriptors that came with a process beside a host program. */
#ifndef TOOLS_INHERITED_H
#define TOOLS_INHERITED_H

/* Closes all from 3 on: what a host program had open without close-on-exec is not kept open. */
void inherited_close(void);

/* Starts a thread that ends this process when the socket on standard input is closed, or when the
 * program at its other end has ended: the socket itself may live on in forked children. */
void inherited_end_with_host(void);

#endif
