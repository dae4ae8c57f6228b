#include "frontends/primary/warnings.h"

#include <stddef.h>
#include <string.h>

enum { MINUTE_MS = 60 * 1000 };

static bool is_old(const struct warning *warning, int64_t mono_ms)
{
    return mono_ms - warning->reported_ms >= MINUTE_MS;
}

static struct warning *find(struct warnings *warnings, const uint8_t address[16])
{
    for (size_t i = 0; i < warnings->used; i++) {
        if (memcmp(warnings->peers[i].address, address, 16) == 0)
            return &warnings->peers[i];
    }
    return NULL;
}

// One that said nothing for a minute makes room.
static struct warning *add(struct warnings *warnings, const uint8_t address[16], int64_t mono_ms)
{
    struct warning *free = NULL;
    if (warnings->used < WARNINGS_PEERS_MAX)
        free = &warnings->peers[warnings->used++];
    for (size_t i = 0; !free && i < warnings->used; i++) {
        if (is_old(&warnings->peers[i], mono_ms))
            free = &warnings->peers[i];
    }
    if (!free)
        return NULL;
    *free = (struct warning){0};
    memcpy(free->address, address, sizeof free->address);
    return free;
}

bool warnings_are_due(struct warnings *warnings, const uint8_t address[16], int64_t mono_ms,
                      uint64_t *untold, bool *is_of_many)
{
    struct warning *warning = find(warnings, address);
    if (!warning)
        warning = add(warnings, address, mono_ms);
    *is_of_many = !warning;
    if (!warning)
        warning = &warnings->others;
    if (warning->is_reported && !is_old(warning, mono_ms)) {
        warning->untold++;
        return false;
    }
    *untold = warning->untold;
    warning->untold = 0;
    warning->is_reported = true;
    warning->reported_ms = mono_ms;
    return true;
}
