/* The thread that reads the PTX of fatbins: in which order, and which it does not read again. */
#include "lifts_world.h"

#include <semaphore.h>
#include <stdlib.h>
#include "gate/kernels.h"
#include "lifts/lifts_reader.h"

enum { MOST = 8, STOP_MS = 20000 };

struct fixture {
    struct registry *registry;
    struct images *images;
    struct kernels *kernels;
    struct lifts_reader *reader;
    struct packed_fatbin fatbin[2];
    uint64_t load[2];
    struct lifts_job job[MOST];
    sem_t done, go; /* each job is posted, and the first waits */
    const struct lifts_job *order[MOST];
    unsigned count;
};

static void on_seen(void *user, const struct known_kernel *kernel, const char *sentence)
{
    (void)user, (void)kernel, (void)sentence;
}

static void on_done(void *user, const struct lifts_job *job)
{
    struct fixture *f = user;
    f->order[f->count++] = job;
    lift_free(job->lift);
    sem_post(&f->done);
    if (f->count == 1)
        sem_wait(&f->go);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    lifts_driver_install();
    f->registry = lifts_registry();
    f->images = images_create(f->registry);
    f->kernels = kernels_create(f->registry, on_seen, NULL);
    f->reader =
        lifts_reader_create(&(struct lifts_reader_settings){f->images, f->kernels, 0, on_done, f});
    sem_init(&f->done, 0, 0);
    sem_init(&f->go, 0, 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    lifts_reader_stop(f->reader, STOP_MS);
    kernels_destroy(f->kernels);
    images_destroy(f->images);
    registry_destroy(f->registry);
    free(f->reader);
    free(f);
    return 0;
}

static void load(struct fixture *f, int which, const char *ptx)
{
    struct packed_fatbin *fatbin = &f->fatbin[which];
    lifts_fatbin(fatbin, ptx);
    images_given(f->images, fatbin, f, fatbin, true);
    struct image_query query = {"", f, {fatbin, NULL}, images_moment(f->images), LIFTS_ARCH};
    f->load[which] = images_fatbin(f->images, &query);
    assert_true(f->load[which]);
}

static struct lifts_job *queue(struct fixture *f, int number, int which, const char *symbol)
{
    struct lifts_job *job = &f->job[number];
    *job = (struct lifts_job){.load = f->load[which], .arch = LIFTS_ARCH, .symbol = symbol};
    assert_int_equal(lifts_reader_add(f->reader, job), LIFT_OK);
    return job;
}

static void jobs_of_the_text_at_hand_come_first(void **state)
{
    static const int order[] = {0, 2, 4, 1, 3};
    struct fixture *f = *state;
    load(f, 0, LIFTS_HEAD LIFTS_SQUARE("a") LIFTS_SQUARE("b") LIFTS_SQUARE("c"));
    load(f, 1, LIFTS_HEAD LIFTS_SQUARE("d") LIFTS_SQUARE("e"));
    queue(f, 0, 0, "a");
    sem_wait(&f->done);
    queue(f, 1, 1, "d");
    queue(f, 2, 0, "b");
    queue(f, 3, 1, "e");
    queue(f, 4, 0, "c");
    sem_post(&f->go);
    for (int i = 1; i < 5; i++)
        sem_wait(&f->done);
    for (int i = 0; i < 5; i++) {
        assert_ptr_equal(f->order[i], &f->job[order[i]]);
        assert_int_equal(f->order[i]->refusal, LIFT_OK);
    }
}

/* PTX of another form would be found there the second time. */
static void a_fatbin_without_text_is_read_once(void **state)
{
    struct fixture *f = *state;
    load(f, 0, "no PTX at all");
    load(f, 1, LIFTS_HEAD LIFTS_SQUARE("a"));
    queue(f, 0, 0, "a");
    sem_wait(&f->done);
    f->fatbin[0] = f->fatbin[1];
    queue(f, 1, 0, "b");
    queue(f, 2, 1, "a");
    sem_post(&f->go);
    for (int i = 1; i < 3; i++)
        sem_wait(&f->done);
    assert_int_equal(f->job[0].refusal, LIFT_PTX);
    assert_int_equal(f->job[1].refusal, LIFT_PTX);
    assert_int_equal(f->job[2].refusal, LIFT_OK);
}

static void a_reader_that_has_ended_takes_no_job(void **state)
{
    struct fixture *f = *state;
    lifts_reader_stop(f->reader, STOP_MS);
    struct lifts_job job = {.symbol = "a"};
    assert_int_equal(lifts_reader_add(f->reader, &job), LIFT_UNREAD_PTX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_of_the_text_at_hand_come_first, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fatbin_without_text_is_read_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reader_that_has_ended_takes_no_job, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
