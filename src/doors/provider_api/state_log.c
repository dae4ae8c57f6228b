#include "doors/provider_api/state_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/value.h"
#include "doors/provider_api/request.h"
#include "providers/webhook/body.h"

enum { LOG_MAX = 64 << 20, HEX_LEN = 32 };

struct state_log {
    struct disk *disk;
    struct disk_file *file;
    char *path;
    struct buffer line;
};

// Records by key while the log is read; the last word on a key counts.
struct standing {
    struct arena *arena;
    struct record_set *sets;
    bool *is_gone;
    size_t count;
    size_t capacity;
    size_t gone_capacity;
    struct table by_key;
};

static uint64_t set_hash(const struct record_set *set)
{
    uint64_t parts[] = {hash_octets(set->domain.at, set->domain.len),
                        hash_octets(set->subdomain.at, set->subdomain.len), set->type};
    return hash_octets(parts, sizeof parts);
}

static bool set_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct standing *standing = context;
    const struct record_set *a = &standing->sets[id];
    const struct record_set *b = wanted;
    return a->type == b->type && text_equal(a->domain, b->domain) &&
           text_equal(a->subdomain, b->subdomain);
}

static uint64_t set_hash_of(const void *context, uint32_t id)
{
    const struct standing *standing = context;
    return set_hash(&standing->sets[id]);
}

static const struct table_ops set_ops = {set_matches, set_hash_of};

static void standing_put(struct standing *standing, const struct record_set *set, bool is_gone)
{
    uint32_t id = table_find(&standing->by_key, set_hash(set), set);
    if (id == TABLE_NONE) {
        id = (uint32_t)standing->count++;
        mem_reserve(&standing->sets, &standing->capacity, standing->count);
        mem_reserve(&standing->is_gone, &standing->gone_capacity, standing->count);
        standing->sets[id] = record_set_copy(standing->arena, set);
        standing->is_gone[id] = is_gone;
        table_add(&standing->by_key, set_hash(set), id);
        return;
    }
    standing->sets[id] = record_set_copy(standing->arena, set);
    standing->is_gone[id] = is_gone;
}

static void standing_done(struct standing *standing)
{
    free(standing->sets);
    free(standing->is_gone);
    table_done(&standing->by_key);
    arena_free(standing->arena);
}

static void write_nonce(struct buffer *out, const uint8_t digest[16], int64_t stamp_s)
{
    char hex[HEX_LEN + 1];
    hex_encode(digest, 16, hex);
    buffer_printf(out, "{\"nonce\":\"%s\",\"stamp\":%lld}\n", hex, (long long)stamp_s);
}

static void write_record(struct buffer *out, const struct record_set *set, bool is_removed)
{
    buffer_add_text(out, is_removed ? "{\"remove\":" : "{\"set\":");
    body_write_record(out, set, false);
    buffer_add_text(out, "}\n");
}

static void read_nonce(struct nonces *nonces, const struct value *line, int64_t now_s)
{
    uint8_t digest[16];
    if (hex_decode(value_text_at(line, "nonce"), digest, sizeof digest))
        nonces_restore(nonces, digest, value_int_at(line, "stamp", 0), now_s);
}

static bool read_set(struct standing *standing, const struct value *line, const char *key,
                     bool is_gone)
{
    struct record_set set;
    struct request_scope scope = {0};
    const struct value *record = value_find(line, key);
    memset(scope.has_type, true, sizeof scope.has_type);
    if (!record)
        return false;
    if (request_read_record(standing->arena, &scope, record, &set, NULL))
        standing_put(standing, &set, is_gone);
    return true;
}

static void read_line(struct text text, struct nonces *nonces, struct standing *standing,
                      int64_t now_s, struct log *log)
{
    struct error err;
    const struct value *line = value_read_json(standing->arena, text, &value_reply_limits, &err);
    if (!line) {
        log_line(log, LOG_WARN, "a line of the state log cannot be read and is left out",
                 LOG_TEXT("error", err.text), LOG_END);
        return;
    }
    if (!read_set(standing, line, "set", false) && !read_set(standing, line, "remove", true))
        read_nonce(nonces, line, now_s);
}

static void read_all(const struct buffer *content, struct nonces *nonces, struct standing *standing,
                     int64_t now_s, struct log *log)
{
    struct text rest = buffer_text(content);
    struct text line;
    while (text_cut(&rest, '\n', &line) && rest.at)
        if (line.len)
            read_line(line, nonces, standing, now_s, log);
}

static void keep_nonce(void *context, const uint8_t digest[16], int64_t stamp_s)
{
    write_nonce(context, digest, stamp_s);
}

static bool compact(struct state_log *state, const struct nonces *nonces,
                    const struct standing *standing, struct error *err)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < standing->count; i++)
        if (!standing->is_gone[i])
            write_record(&out, &standing->sets[i], false);
    nonces_each(nonces, keep_nonce, &out);
    return disk_replace(state->disk, state->path, buffer_text(&out), 0600, true, err);
}

static bool load(struct state_log *state, struct nonces *nonces,
                 const struct state_log_reader *reader, int64_t now_s, struct log *log,
                 struct error *err)
{
    AUTO_BUFFER content = {0};
    struct error why;
    if (!disk_read(&content, state->path, LOG_MAX, &why) && why.status != 2) {
        if (err)
            *err = why;
        return false;
    }
    struct standing standing = {.arena = arena_new()};
    standing.by_key.ops = &set_ops;
    standing.by_key.context = &standing;
    read_all(&content, nonces, &standing, now_s, log);
    for (size_t i = 0; i < standing.count; i++)
        if (!standing.is_gone[i])
            reader->record(reader->context, &standing.sets[i]);
    bool is_ok = compact(state, nonces, &standing, err);
    standing_done(&standing);
    return is_ok;
}

struct state_log *state_log_open(struct disk *disk, const char *dir, struct nonces *nonces,
                                 const struct state_log_reader *reader, int64_t now_s,
                                 struct log *log, struct error *err)
{
    struct buffer path = {0};
    struct state_log *state = mem_new_of(struct state_log);
    buffer_printf(&path, "%s/provider.log", dir);
    state->disk = disk;
    state->path = buffer_steal(&path);
    if (!disk_make_folder(disk, dir, 0700, err) || !load(state, nonces, reader, now_s, log, err) ||
        !(state->file = disk_append_open(disk, state->path, 0600, err))) {
        state_log_free(state);
        return NULL;
    }
    return state;
}

void state_log_free(struct state_log *state)
{
    if (!state)
        return;
    disk_append_close(state->disk, state->file);
    buffer_done(&state->line);
    free(state->path);
    free(state);
}

bool state_log_nonce(struct state_log *state, struct text nonce, int64_t stamp_s, struct error *err)
{
    uint8_t digest[16];
    nonces_digest(nonce, digest);
    buffer_clear(&state->line);
    write_nonce(&state->line, digest, stamp_s);
    return disk_append(state->disk, state->file, buffer_text(&state->line), err);
}

bool state_log_record(struct state_log *state, const struct record_set *set, bool is_removed,
                      struct error *err)
{
    buffer_clear(&state->line);
    write_record(&state->line, set, is_removed);
    return disk_append(state->disk, state->file, buffer_text(&state->line), err);
}
