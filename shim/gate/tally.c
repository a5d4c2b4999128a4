#include "gate/tally.h"

#include <pthread.h>
#include "gate/passing.h"

HOT_TLS struct own_thread own_thread __attribute__((aligned(32)));
struct passing passing;
bool tally_passing = true;

static struct {
    pthread_once_t once;
    bool ends_known; /* `key` exists */
    pthread_key_t key;
    _Atomic(uint32_t) taken; /* a bit for each number of its own that a thread has */
    _Atomic(unsigned) shared;
} numbers = {.once = PTHREAD_ONCE_INIT};

/* At the end of a thread, whose copies may be another's from now on. A launch by a destructor that
 * comes later takes a number again. */
static void give_number_back(void *bit)
{
    own_thread.tally = own_thread.passes = 0;
    atomic_fetch_and_explicit(&numbers.taken, ~(uint32_t)(uintptr_t)bit, memory_order_release);
}

static void make_key(void)
{
    numbers.ends_known = pthread_key_create(&numbers.key, give_number_back) == 0;
}

/* Thread `which` counts in tallies of its own from now on. */
static void note_thread(uint32_t which)
{
    uint32_t threads = atomic_load_explicit(&passing.threads, memory_order_relaxed);
    while (threads <= which &&
           !atomic_compare_exchange_weak_explicit(&passing.threads, &threads, which + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

unsigned tally_take_number(void)
{
    uint32_t taken = atomic_load_explicit(&numbers.taken, memory_order_relaxed);
    unsigned which;
    pthread_once(&numbers.once, make_key);
    do {
        for (which = 0; which < TALLIES_OWNED && taken >> which & 1;)
            which++;
        if (which == TALLIES_OWNED) {
            which += atomic_fetch_add_explicit(&numbers.shared, 1, memory_order_relaxed) %
                     (TALLIES - TALLIES_OWNED);
            break;
        }
    } while (!atomic_compare_exchange_weak_explicit(&numbers.taken, &taken,
                                                    taken | (uint32_t)1 << which,
                                                    memory_order_acquire, memory_order_relaxed));
    if (which < TALLIES_OWNED)
        note_thread(which);
    if (which < TALLIES_OWNED && numbers.ends_known)
        pthread_setspecific(numbers.key, (void *)((uintptr_t)1 << which));
    own_thread.tally = which + 1;
    tally_let_pass(true);
    return which;
}
