#include "frontends/refusals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { PEERS_MAX = 256, PEER_OCTETS = 64, CODE_OCTETS = 32, DOUBLED_MAX = 1024 };
static const int64_t hour_ms = 3600 * 1000LL;

struct counter {
    char peer[PEER_OCTETS];
    char code[CODE_OCTETS];
    uint64_t count;
    int64_t seen_ms;
    int64_t reported_ms;
};

struct refusals {
    struct counter counters[PEERS_MAX];
    size_t used;
    struct counter others;
};

struct refusals *refusals_new(void)
{
    return mem_new_of(struct refusals);
}

void refusals_free(struct refusals *refusals)
{
    free(refusals);
}

static struct counter *find(struct refusals *refusals, const char *peer, const char *code)
{
    for (size_t i = 0; i < refusals->used; i++) {
        struct counter *counter = &refusals->counters[i];
        if (!strncmp(counter->peer, peer, PEER_OCTETS - 1) &&
            !strncmp(counter->code, code, CODE_OCTETS - 1))
            return counter;
    }
    return NULL;
}

// One that was silent for an hour makes room.
static struct counter *add(struct refusals *refusals, const char *peer, const char *code,
                           int64_t mono_ms)
{
    struct counter *counter = NULL;
    if (refusals->used < PEERS_MAX)
        counter = &refusals->counters[refusals->used++];
    for (size_t i = 0; !counter && i < refusals->used; i++)
        if (mono_ms - refusals->counters[i].seen_ms >= hour_ms)
            counter = &refusals->counters[i];
    if (!counter)
        return &refusals->others;
    *counter = (struct counter){0};
    snprintf(counter->peer, sizeof counter->peer, "%s", peer);
    snprintf(counter->code, sizeof counter->code, "%s", code);
    return counter;
}

static bool is_due(const struct counter *counter, int64_t mono_ms)
{
    bool is_doubled = (counter->count & (counter->count - 1)) == 0;
    return (is_doubled && counter->count <= DOUBLED_MAX) ||
           (counter->count > DOUBLED_MAX && mono_ms - counter->reported_ms >= hour_ms);
}

struct refusal refusals_count(struct refusals *refusals, const char *peer, const char *code,
                              int64_t mono_ms)
{
    struct counter *counter = find(refusals, peer, code);
    if (!counter)
        counter = add(refusals, peer, code, mono_ms);
    if (counter->count && mono_ms - counter->seen_ms >= hour_ms)
        counter->count = 0;
    counter->count++;
    counter->seen_ms = mono_ms;
    bool is_worth_reporting = is_due(counter, mono_ms);
    if (is_worth_reporting)
        counter->reported_ms = mono_ms;
    return (struct refusal){is_worth_reporting, counter == &refusals->others, counter->count};
}
