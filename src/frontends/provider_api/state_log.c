#include "frontends/provider_api/state_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "frontends/provider_api/request.h"
#include "io/database.h"
#include "providers/webhook/body.h"

// `ordinal` keeps the order of creation.
#define SCHEMA                                                                                     \
    "CREATE TABLE nonces (stamp INTEGER, digest BLOB, PRIMARY KEY (stamp, digest)) WITHOUT ROWID;" \
    "CREATE TABLE forgotten (first INTEGER, last INTEGER);"                                        \
    "CREATE TABLE records (ordinal INTEGER PRIMARY KEY, name TEXT UNIQUE, record TEXT)"

enum { NONCES_GROWTH_MAX = 100000 };

struct state_log {
    struct database *database;
    const struct nonces *nonces;
    struct log *log;
    size_t growth; // nonces since the expired ones were removed
};

// ---- reading ------------------------------------------------------------------------------------

static bool read_nonces(const struct state_log *state, struct nonces *nonces, int64_t now_s,
                        struct error *err)
{
    struct rows rows = database_ask(state->database, "SELECT stamp, digest FROM nonces", "");
    while (rows_next(&rows)) {
        struct text digest = rows_text(&rows, 1);
        if (digest.len == 16)
            nonces_restore(nonces, (const uint8_t *)digest.at, rows_int(&rows, 0), now_s);
    }
    return rows_end(&rows, err);
}

static bool read_forgotten(const struct state_log *state, struct nonces *nonces, struct error *err)
{
    struct rows rows = database_ask(state->database, "SELECT first, last FROM forgotten", "");
    while (rows_next(&rows))
        nonces_restore_forgotten(nonces, (struct span){rows_int(&rows, 0), rows_int(&rows, 1)});
    return rows_end(&rows, err);
}

static void read_record(const struct state_log *state, struct arena *arena, struct text text,
                        const struct state_log_reader *reader)
{
    // A record's escapes make up to six octets of one.
    static const struct value_limits limits = {.octets = 8 << 20, .depth = 16};
    struct record_set set;
    struct request_scope scope = {0};
    struct error err = {0};
    memset(scope.has_type, true, sizeof scope.has_type);
    const struct value *record = value_read_json(arena, text, &limits, &err);
    if (record && request_read_record(arena, &scope, record, &set, &err))
        reader->record(reader->context, &set);
    else
        log_line(state->log, LOG_WARN, "a record of the state cannot be read and is left out",
                 LOG_TEXT("error", err.text), LOG_END);
}

static bool read_records(const struct state_log *state, const struct state_log_reader *reader,
                         struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct rows rows =
        database_ask(state->database, "SELECT record FROM records ORDER BY ordinal", "");
    while (rows_next(&rows)) {
        read_record(state, arena, rows_text(&rows, 0), reader);
        arena_reset(arena);
    }
    return rows_end(&rows, err);
}

// ---- nonces -------------------------------------------------------------------------------------

// No nonce of that time is taken any more, whether it is known or not.
static void keep_span(void *context, struct span span)
{
    const struct state_log *state = context;
    database_do(state->database, NULL, "DELETE FROM nonces WHERE stamp BETWEEN ? AND ?", "ii",
                span.first_s, span.last_s);
    database_do(state->database, NULL, "INSERT INTO forgotten VALUES (?, ?)", "ii", span.first_s,
                span.last_s);
}

static bool remove_expired(struct state_log *state, struct error *err)
{
    database_begin(state->database);
    database_do(state->database, NULL, "DELETE FROM forgotten", "");
    nonces_each_forgotten(state->nonces, keep_span, state);
    state->growth = 0;
    return database_commit(state->database, err);
}

bool state_log_nonce(struct state_log *state, struct text nonce, int64_t stamp_s, struct error *err)
{
    uint8_t digest[16];
    nonces_digest(nonce, digest);
    if (++state->growth > NONCES_GROWTH_MAX + 2 * nonces_count(state->nonces) &&
        !remove_expired(state, err))
        return false;
    return database_do(state->database, err, "INSERT OR IGNORE INTO nonces VALUES (?, ?)", "ib",
                       stamp_s, (struct text){(const char *)digest, sizeof digest});
}

// ---- records ------------------------------------------------------------------------------------

// Type and owner name, whatever the split into domain and subdomain.
static void write_name(struct buffer *out, const struct record_set *set)
{
    buffer_printf(out, "%s ", record_type_name(set->type));
    if (!text_is(set->subdomain, "@"))
        buffer_printf(out, "%.*s.", TEXT_ARGS(set->subdomain));
    buffer_printf(out, "%.*s", TEXT_ARGS(set->domain));
}

bool state_log_record(struct state_log *state, const struct record_set *set, bool is_removed,
                      struct error *err)
{
    AUTO_BUFFER name = {0};
    AUTO_BUFFER record = {0};
    write_name(&name, set);
    if (is_removed)
        return database_do(state->database, err, "DELETE FROM records WHERE name = ?", "t",
                           buffer_text(&name));
    body_write_record(&record, set, false);
    return database_do(state->database, err,
                       "INSERT INTO records (name, record) VALUES (?, ?) "
                       "ON CONFLICT (name) DO UPDATE SET record = excluded.record",
                       "tt", buffer_text(&name), buffer_text(&record));
}

// ---- opening ------------------------------------------------------------------------------------

static struct database *open_database(struct disk *disk, const char *dir, struct error *err)
{
    AUTO_BUFFER path = {0};
    struct error why = {0};
    buffer_printf(&path, "%s/provider.db", dir);
    const struct database_options options = {
        .path = path.at,
        .schema = SCHEMA,
        .version = 1,
        .is_exclusive = true,
        .is_unsynced = true,
    };
    if (!disk_make_folder(disk, dir, 0700, err))
        return NULL;
    struct database *database = database_open(disk, &options, &why);
    if (!database && err)
        *err = why;
    if (!database && why.fault == FAULT_WAIT)
        error_set(err, FAULT_WAIT, "", "%s is used by another process; give each its own --state",
                  dir);
    return database;
}

struct state_log *state_log_open(struct disk *disk, const char *dir, struct nonces *nonces,
                                 const struct state_log_reader *reader, int64_t now_s,
                                 struct log *log, struct error *err)
{
    CLEANUP(state_log) struct state_log *state = mem_new_of(struct state_log);
    state->nonces = nonces;
    state->log = log;
    state->database = open_database(disk, dir, err);
    if (!state->database || !read_nonces(state, nonces, now_s, err) ||
        !read_forgotten(state, nonces, err) || !read_records(state, reader, err) ||
        !remove_expired(state, err))
        return NULL;
    return steal(state);
}

void state_log_free(struct state_log *state)
{
    if (state)
        database_free(state->database);
    free(state);
}
