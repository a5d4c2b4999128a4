/*
 * hooks_send.h - the call path's side of the hooks.
 */
#ifndef SOFTGPU_HOOKS_SEND_H
#define SOFTGPU_HOOKS_SEND_H

#include "driver/call/hooks.h"

struct entry;

bool hooks_want(const struct entry *entry);
/* Nothing happens where it is not wanted (any more). */
void hooks_send(const struct hook_call *event);
/* softgpu_abort() where the calling thread is inside a resource callback and the call would hang.
 */
void hooks_check_place(const struct entry *entry);

#endif
