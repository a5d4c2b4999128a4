/* own.h - "this thread is doing our own work": driver calls made meanwhile are not the program's
 * and callbacks of them are ignored. Set for life on the collector, and around each callback. */
#ifndef VERIFY_OWN_H
#define VERIFY_OWN_H

#include <stdbool.h>
#include "base/hot.h"

extern HOT_TLS bool own_work;

#endif
