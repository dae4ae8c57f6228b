#include "store/folder/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/value.h"

enum { STATE_OCTETS_MAX = 4096, OWNER_OCTETS = 4 };

static void draw_owner(struct state *state, struct random *random)
{
    uint8_t octets[OWNER_OCTETS];
    random_fill(random, octets, sizeof octets);
    hex_encode(octets, sizeof octets, state->owner_id);
}

static bool take_owner(struct state *state, struct text owner)
{
    if (!owner_id_check(owner, NULL))
        return false;
    memcpy(state->owner_id, owner.at, owner.len);
    state->owner_id[owner.len] = '\0';
    state->had_owner = true;
    return true;
}

static bool read_state(struct state *state)
{
    AUTO_BUFFER text = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *tree = NULL;
    bool has = false;
    if (!disk_read(&text, state->path, STATE_OCTETS_MAX, NULL))
        return false;
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(buffer_text(&text), &value_reply_limits);
    if (!yaml_reader_next(reader, arena, &tree, &has, NULL) || !has)
        return false;
    int64_t limit = value_int_at(tree, "resourceVersion", 0);
    if (!take_owner(state, value_text_at(tree, "ownerId")) || limit <= 0 || limit > STATE_LIMIT_MAX)
        return false;
    state->next = state->limit = (uint64_t)limit;
    return true;
}

void state_load(struct state *state, struct disk *disk, const char *path, struct random *random)
{
    free(state->path);
    *state = (struct state){.disk = disk, .next = 1};
    state->path = mem_copy_text(path);
    state->is_new = !read_state(state);
    if (!state->had_owner)
        draw_owner(state, random);
}

void state_set_owner(struct state *state, const char *owner_id)
{
    if (!strcmp(state->owner_id, owner_id))
        return;
    snprintf(state->owner_id, sizeof state->owner_id, "%s", owner_id);
    state->is_new = true;
}

void state_done(struct state *state)
{
    free(state->path);
    state->path = NULL;
}

void state_raise(struct state *state, uint64_t version)
{
    if (version >= state->next && version <= STATE_FOUND_MAX)
        state->next = version + 1;
}

bool state_reserve(struct state *state)
{
    AUTO_BUFFER text = {0};
    if (state->next < state->limit && !state->is_new)
        return true;
    uint64_t limit = state->next + STATE_BLOCK;
    buffer_printf(&text,
                  "# Written by Signpost. The next resourceVersion to give out, and the owner id.\n"
                  "resourceVersion: %" PRIu64 "\nownerId: \"%s\"\n",
                  limit, state->owner_id);
    error_clear(&state->fault);
    if (!disk_replace(state->disk, state->path, buffer_text(&text), 0644, true, &state->fault))
        return false;
    state->limit = limit;
    state->is_new = false;
    return true;
}

uint64_t state_next(struct state *state)
{
    return state->next++;
}
