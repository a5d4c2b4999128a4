/* context_stack.c - the stack of current contexts of each thread. */
#include <pthread.h>
#include <stdlib.h>
#include "driver/context/context_life.h"

struct stack {
    size_t count, room;
    struct context *items[];
};

static _Thread_local struct stack *stack;
static pthread_key_t at_thread_exit;

/* Runs again where a later destructor of the thread has made another stack. */
static void free_stack(void *mine)
{
    free(mine);
    stack = NULL;
}

static void make_key(void)
{
    pthread_key_create(&at_thread_exit, free_stack);
}

static bool grow(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    size_t count = stack ? stack->count : 0, room = stack ? 2 * stack->room : 8;
    struct stack *grown = realloc(stack, sizeof(*grown) + room * sizeof(*grown->items));
    if (!grown)
        return false;
    grown->count = count;
    grown->room = room;
    stack = grown;
    pthread_once(&once, make_key);
    pthread_setspecific(at_thread_exit, grown);
    return true;
}

struct context *context_current(void)
{
    return stack && stack->count ? stack->items[stack->count - 1] : NULL;
}

bool context_push(struct context *context)
{
    if ((!stack || stack->count == stack->room) && !grow())
        return false;
    stack->items[stack->count++] = context;
    return true;
}

struct context *context_pop(void)
{
    return stack && stack->count ? stack->items[--stack->count] : NULL;
}

void context_set_current(struct context *context)
{
    if (stack && stack->count)
        stack->count--;
    if (context)
        context_push(context);
}
