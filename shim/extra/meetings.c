#include "extra/meetings.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MOST ((size_t)32 << 20) /* bytes of outputs in all */

struct meetings {
    struct meeting meeting[MEETINGS];
    size_t kept;
};

struct meetings *meetings_create(void)
{
    return calloc(1, sizeof(struct meetings));
}

static void drop_meeting(struct meetings *meetings, struct meeting *meeting)
{
    meetings->kept -= meeting->kept_bytes;
    free(meeting->kept);
    memset(meeting, 0, sizeof(*meeting));
}

void meetings_destroy(struct meetings *meetings)
{
    for (int i = 0; meetings && i < MEETINGS; i++)
        drop_meeting(meetings, &meetings->meeting[i]);
    free(meetings);
}

struct meeting *meetings_find(struct meetings *meetings, uint64_t key)
{
    key = key ? key : 1;
    struct meeting *meeting = &meetings->meeting[key % MEETINGS];
    if (meeting->key != key)
        drop_meeting(meetings, meeting);
    meeting->key = key;
    return meeting;
}

void meetings_keep(struct meetings *meetings, struct meeting *meeting, const void *bytes,
                   size_t count)
{
    if (meeting->kept || meetings->kept + count > KEPT_MOST || !(meeting->kept = malloc(count)))
        return;
    memcpy(meeting->kept, bytes, count);
    meeting->kept_bytes = count;
    meetings->kept += count;
}

/* The output with that digest, made where there is none; beyond the last they are taken for one. */
static struct meeting_output *find_output(struct meeting *meeting, uint64_t digest, bool near,
                                          const struct meeting_source *source)
{
    for (unsigned i = 0; i < meeting->outputs; i++) {
        if (meeting->output[i].digest == digest || (near && i == 0))
            return &meeting->output[i];
    }
    if (meeting->outputs == MEETING_OUTPUTS)
        return &meeting->output[MEETING_OUTPUTS - 1];
    struct meeting_output *output = &meeting->output[meeting->outputs++];
    *output = (struct meeting_output){.digest = digest, .first = *source};
    return output;
}

/* Whether the configuration is new among those of the output. */
static bool add_variant(struct meeting_output *output, uint64_t variant)
{
    unsigned known = output->variants < MEETING_VARIANTS ? output->variants : MEETING_VARIANTS;
    for (unsigned i = 0; i < known; i++) {
        if (output->variant[i] == variant)
            return false;
    }
    if (known == MEETING_VARIANTS)
        return false;
    output->variant[output->variants++] = variant;
    return true;
}

struct meeting_news meeting_add(struct meeting *meeting, uint64_t digest, bool near, bool wrong,
                                const struct meeting_source *source)
{
    struct meeting compared;
    if (wrong) {
        compared = *meeting;
        meeting = &compared;
    }
    struct meeting_news news = {.met = meeting->outputs > 0};
    struct meeting_output *own = find_output(meeting, digest, near, source), *other = NULL;
    bool grew = add_variant(own, source->variant);
    for (unsigned i = 0; i < meeting->outputs; i++) {
        struct meeting_output *output = &meeting->output[i];
        if (output != own && (!other || output->variants > other->variants))
            other = output;
    }
    news.with = own->variants;
    if (!other)
        return news;
    news.other = other->first;
    news.others = other->variants;
    news.differs = other->variants >= own->variants;
    news.reveals = grew && own->variants == other->variants + 1;
    return news;
}

void meeting_add_single(struct meeting *meeting, uint64_t digest, bool wrong,
                        const struct meeting_source *source, struct meeting_news *news)
{
    if (!meeting->has_single && !wrong) {
        meeting->single = (struct meeting_output){.digest = digest, .first = *source};
        meeting->has_single = true;
    }
    if (news->differs || !meeting->has_single || meeting->single.digest == digest)
        return;
    news->differs = news->single = true;
    news->other = meeting->single.first;
    news->with = news->others = 1;
}
