#include "store/folder/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "store/folder/managed.h"
#include "store/folder/name.h"

#define SCHEMA                                                                                     \
    "CREATE TABLE counter (id INTEGER PRIMARY KEY, version INTEGER, owner TEXT);"                  \
    "CREATE TABLE objects (key TEXT UNIQUE NOT NULL, version INTEGER, path TEXT, body TEXT);"      \
    "CREATE INDEX objects_by_path ON objects (path);"                                              \
    "CREATE TABLE secrets (uid TEXT PRIMARY KEY, document BLOB)"

enum { OWNER_OCTETS = 4 };

void state_init(struct state *state, struct disk *disk, const char *path)
{
    *state = (struct state){.disk = disk, .path = mem_copy_text(path), .next = 1};
}

void state_done(struct state *state)
{
    database_free(steal(state->database));
    free(steal(state->path));
}

bool state_is_in_place(const struct state *state)
{
    struct disk_stat found;
    return !state->database ||
           (disk_stat(state->path, &found, NULL) && found.device == state->opened.device &&
            found.inode == state->opened.inode);
}

// ---- numbers and the owner id -------------------------------------------------------------------

static void draw_owner(struct state *state, struct random *random)
{
    uint8_t octets[OWNER_OCTETS];
    random_fill(random, octets, sizeof octets);
    hex_encode(octets, sizeof octets, state->owner_id);
}

static void take_counter(struct state *state, int64_t limit, struct text owner)
{
    if (!owner_id_check(owner, NULL))
        return;
    memcpy(state->owner_id, owner.at, owner.len);
    state->owner_id[owner.len] = '\0';
    state->had_owner = true;
    if (limit <= 0 || limit > STATE_LIMIT_MAX)
        return;
    state->next = state->limit = (uint64_t)limit;
    state->is_new = false;
}

static bool read_counter(struct state *state, struct error *err)
{
    if (!state->database)
        return true;
    struct rows rows = database_ask(state->database, "SELECT version, owner FROM counter", "");
    while (rows_next(&rows))
        take_counter(state, rows_int(&rows, 0), rows_text(&rows, 1));
    return rows_end(&rows, err);
}

static bool open_database(struct state *state, bool is_leading, struct error *err)
{
    struct error why = {0};
    const struct database_options options = {
        .path = state->path, .schema = SCHEMA, .version = 1, .is_reading = !is_leading};
    database_free(steal(state->database));
    state->database = database_open(state->disk, &options, &why);
    if (state->database)
        return disk_stat(state->path, &state->opened, err);
    if (err)
        *err = why;
    return !is_leading && (why.status == ENOENT || why.status == EACCES);
}

bool state_load(struct state *state, struct random *random, bool is_leading, struct error *err)
{
    state->next = 1;
    state->limit = 0;
    state->had_owner = false;
    state->is_new = true;
    error_clear(&state->fault);
    if (!open_database(state, is_leading, err) || !read_counter(state, err))
        return false;
    if (!state->had_owner)
        draw_owner(state, random);
    return true;
}

void state_set_owner(struct state *state, const char *owner_id)
{
    if (!strcmp(state->owner_id, owner_id))
        return;
    snprintf(state->owner_id, sizeof state->owner_id, "%s", owner_id);
    state->is_new = true;
}

void state_raise(struct state *state, uint64_t version)
{
    if (version >= state->next && version <= STATE_FOUND_MAX)
        state->next = version + 1;
}

bool state_reserve(struct state *state)
{
    if (state->next < state->limit && !state->is_new)
        return true;
    uint64_t limit = state->next + STATE_BLOCK;
    error_clear(&state->fault);
    database_begin(state->database);
    database_do(state->database, NULL, "INSERT OR REPLACE INTO counter VALUES (1, ?, ?)", "it",
                (int64_t)limit, text_of(state->owner_id));
    if (!state_commit(state, &state->fault))
        return false;
    state->limit = limit;
    state->is_new = false;
    return true;
}

uint64_t state_next(struct state *state)
{
    return state->next++;
}

bool state_probe(struct state *state)
{
    state->is_new = true;
    return state_reserve(state);
}

// ---- objects ------------------------------------------------------------------------------------

void state_put(struct state *state, const struct state_row *row)
{
    database_begin(state->database);
    database_do(state->database, NULL,
                "INSERT INTO objects VALUES (?1, ?2, ?3, ?4) ON CONFLICT (key) DO UPDATE SET"
                " version = ?2, path = ?3, body = ?4",
                "titt", row->key, (int64_t)row->version, row->path, row->body);
}

bool state_commit(struct state *state, struct error *err)
{
    return database_commit(state->database, err);
}

void state_forget(struct state *state, struct text key)
{
    database_begin(state->database);
    database_do(state->database, NULL, "DELETE FROM objects WHERE key = ?", "t", key);
}

static bool read_row(const struct rows *rows, struct state_row *out)
{
    int64_t version = rows_int(rows, 1);
    *out = (struct state_row){rows_text(rows, 0), (uint64_t)version, rows_text(rows, 2),
                              rows_text(rows, 3)};
    return out->key.len && name_is_path(out->path) && version > 0 && version <= OURS_VERSION_MAX;
}

bool state_each(struct state *state, enum state_which which, struct text wanted,
                void (*call)(void *context, const struct state_row *row), void *context,
                struct error *err)
{
    static const char *const queries[] = {
        [STATE_ALL] = "SELECT * FROM objects",
        [STATE_OF_PATH] = "SELECT * FROM objects WHERE path = ?",
        [STATE_OF_KEY] = "SELECT * FROM objects WHERE key = ?",
    };
    struct state_row row;
    if (!state->database)
        return true;
    struct rows rows =
        database_ask(state->database, queries[which], which == STATE_ALL ? "" : "t", wanted);
    while (rows_next(&rows))
        if (read_row(&rows, &row))
            call(context, &row);
    return rows_end(&rows, err);
}
