/* inherited.h - descriptors that came with a process. */
#ifndef TOOLS_INHERITED_H
#define TOOLS_INHERITED_H

/* Closes all from 3 on: what a host program had open without close-on-exec is not kept open. */
void inherited_close(void);

#endif
