#include "tools/fuzz/case/random.h"

#include <Random123/philox.h>

uint64_t fuzz_hash(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
    return hash;
}

struct fuzz_block fuzz_random(uint64_t seed, uint64_t hash, uint64_t index)
{
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t counter = {
        {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)hash, (uint32_t)(hash >> 32)}};
    philox4x32_ctr_t random = philox4x32(counter, key);
    return (struct fuzz_block){{random.v[0], random.v[1], random.v[2], random.v[3]}};
}

struct fuzz_stream fuzz_stream(uint64_t seed, const char *name)
{
    return (struct fuzz_stream){seed, fuzz_hash(name), 0};
}

uint64_t fuzz_next(struct fuzz_stream *stream)
{
    struct fuzz_block block = fuzz_random(stream->seed, stream->hash, stream->next++);
    return (uint64_t)block.v[1] << 32 | block.v[0];
}

uint64_t fuzz_below(struct fuzz_stream *stream, uint64_t count)
{
    return (uint64_t)((unsigned __int128)fuzz_next(stream) * count >> 64);
}

double fuzz_uniform(struct fuzz_block block)
{
    uint64_t bits = (uint64_t)block.v[1] << 32 | block.v[0];
    return (double)(bits >> 11) * 0x1p-53;
}

/* A uniform number of 16 bits has a variance of (2^32 - 1) / 12, so eight have 2 (2^32 - 1) / 3:
 * the factor is the inverse of its root. */
double fuzz_normal(struct fuzz_block block)
{
    int64_t sum = -8 * 65535 / 2;
    for (int i = 0; i < 4; i++)
        sum += (int64_t)(block.v[i] & 0xffff) + (int64_t)(block.v[i] >> 16);
    return (double)sum * 1.8688123650118534e-05;
}
