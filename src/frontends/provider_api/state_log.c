#include "frontends/provider_api/state_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/value.h"
#include "frontends/provider_api/request.h"
#include "providers/webhook/body.h"

#define NONCE_HEAD "{\"nonce\":"

#define FILE_NAME "provider.log"

enum { LOG_MAX = 1 << 30, GROWTH_MAX = 8 << 20, HEX_LEN = 32 };

struct state_log {
    struct disk *disk;
    struct disk_file *file;
    char *path;
    int lock; // of the folder; -1: none
    struct buffer line;
    const struct nonces *nonces;
    struct log *log;
    size_t size;
    size_t rewrite_at; // compacted again from this size on
    bool is_torn;      // the last line may stand there in part
};

// Records by key while the log is read; the last word on a key counts.
struct standing {
    struct arena *arena;
    struct arena *line; // the line that is being read
    struct record_set *sets;
    bool *is_gone;
    size_t count;
    size_t capacity;
    size_t gone_capacity;
    struct table by_key;
};

static bool set_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct standing *standing = context;
    return record_set_is_same_key(&standing->sets[id], wanted);
}

static uint64_t set_hash_of(const void *context, uint32_t id)
{
    const struct standing *standing = context;
    return record_set_key_hash(&standing->sets[id]);
}

static const struct table_ops set_ops = {set_matches, set_hash_of};

static void standing_put(struct standing *standing, const struct record_set *set, bool is_gone)
{
    uint32_t id = table_find(&standing->by_key, record_set_key_hash(set), set);
    if (id == TABLE_NONE) {
        id = (uint32_t)standing->count++;
        mem_reserve(&standing->sets, &standing->capacity, standing->count);
        mem_reserve(&standing->is_gone, &standing->gone_capacity, standing->count);
        standing->sets[id] = record_set_copy(standing->arena, set);
        standing->is_gone[id] = is_gone;
        table_add(&standing->by_key, record_set_key_hash(set), id);
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
    arena_free(standing->line);
}

static void write_nonce(struct buffer *out, const uint8_t digest[16], int64_t stamp_s)
{
    char hex[HEX_LEN + 1];
    hex_encode(digest, 16, hex);
    buffer_printf(out, NONCE_HEAD "\"%s\",\"stamp\":%lld}\n", hex, (long long)stamp_s);
}

static void write_record(struct buffer *out, const struct record_set *set)
{
    buffer_add_text(out, "{\"set\":");
    body_write_record(out, set, false);
    buffer_add_text(out, "}\n");
}

static void write_removal(struct buffer *out, const struct record_set *set)
{
    buffer_printf(out, "{\"remove\":\"/records/%s/%.*s/%.*s\"}\n", record_type_name(set->type),
                  TEXT_ARGS(set->domain), TEXT_ARGS(set->subdomain));
}

static void read_nonce(struct nonces *nonces, const struct value *line, int64_t now_s)
{
    uint8_t digest[16];
    if (hex_decode(value_text_at(line, "nonce"), digest, sizeof digest))
        nonces_restore(nonces, digest, value_int_at(line, "stamp", 0), now_s);
}

static void write_span(struct buffer *out, struct span span)
{
    buffer_printf(out, "{\"forgotten\":{\"first\":%lld,\"last\":%lld}}\n", (long long)span.first_s,
                  (long long)span.last_s);
}

static void read_span(struct nonces *nonces, const struct value *line)
{
    const struct value *found = value_find(line, "forgotten");
    if (found)
        nonces_restore_forgotten(nonces, (struct span){value_int_at(found, "first", INT64_MAX),
                                                       value_int_at(found, "last", INT64_MIN)});
}

static void read_record(struct standing *standing, const struct value *line,
                        const struct request_scope *scope)
{
    struct record_set set;
    struct change removal;
    struct arena *arena = standing->line;
    const struct value *record = value_find(line, "set");
    const struct value *path = value_find(line, "remove");
    if (record && request_read_record(arena, scope, record, &set, NULL))
        standing_put(standing, &set, false);
    if (path && path->type == VALUE_TEXT &&
        request_read_path(arena, scope, arena_copy(arena, path->text.at, path->text.len), &removal,
                          NULL))
        standing_put(standing, &removal.set, true);
}

// Without `nonces` only the records are read.
static void read_line(struct text text, struct nonces *nonces, struct standing *standing,
                      int64_t now_s, struct log *log)
{
    // A record's escapes make up to six octets of one.
    static const struct value_limits limits = {.octets = 8 << 20, .depth = 16};
    struct error err;
    struct request_scope scope = {0};
    if (!nonces && text_starts(text, NONCE_HEAD))
        return;
    memset(scope.has_type, true, sizeof scope.has_type);
    const struct value *line = value_read_json(standing->line, text, &limits, &err);
    if (!line) {
        log_line(log, LOG_WARN, "a line of the state log cannot be read and is left out",
                 LOG_TEXT("error", err.text), LOG_END);
        return;
    }
    read_record(standing, line, &scope);
    if (!nonces)
        return;
    read_nonce(nonces, line, now_s);
    read_span(nonces, line);
}

static bool read_all(const struct state_log *state, struct nonces *nonces,
                     struct standing *standing, int64_t now_s, struct error *err)
{
    AUTO_BUFFER content = {0};
    struct error why;
    struct text line;
    if (!disk_read(&content, state->path, LOG_MAX, &why) && why.status != ENOENT) {
        if (err)
            *err = why;
        return false;
    }
    struct text rest = buffer_text(&content);
    while (text_cut(&rest, '\n', &line) && rest.at) {
        arena_reset(standing->line);
        if (line.len)
            read_line(line, nonces, standing, now_s, state->log);
    }
    return true;
}

static void keep_nonce(void *context, const uint8_t digest[16], int64_t stamp_s)
{
    write_nonce(context, digest, stamp_s);
}

static void keep_span(void *context, struct span span)
{
    write_span(context, span);
}

static bool compact(struct state_log *state, const struct standing *standing, struct error *err)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < standing->count; i++)
        if (!standing->is_gone[i])
            write_record(&out, &standing->sets[i]);
    nonces_each_forgotten(state->nonces, keep_span, &out);
    nonces_each(state->nonces, keep_nonce, &out);
    if (!disk_replace(state->disk, state->path, buffer_text(&out), 0600, true, err))
        return false;
    disk_append_close(state->disk, state->file);
    state->file = disk_append_open(state->disk, state->path, 0600, err);
    state->size = out.len;
    state->rewrite_at = 2 * out.len + GROWTH_MAX;
    return state->file != NULL;
}

static bool load(struct state_log *state, struct nonces *nonces,
                 const struct state_log_reader *reader, int64_t now_s, struct error *err)
{
    struct standing standing = {.arena = arena_new(), .line = arena_new()};
    standing.by_key.ops = &set_ops;
    standing.by_key.context = &standing;
    bool is_ok = read_all(state, nonces, &standing, now_s, err);
    for (size_t i = 0; i < standing.count && reader; i++)
        if (!standing.is_gone[i])
            reader->record(reader->context, &standing.sets[i]);
    is_ok = is_ok && compact(state, &standing, err);
    standing_done(&standing);
    return is_ok;
}

// Two processes with one log would each take what the other has seen already.
static bool lock_folder(struct state_log *state, const char *dir, struct error *err)
{
    AUTO_BUFFER path = {0};
    bool is_held = false;
    buffer_printf(&path, "%s/lock", dir);
    state->lock = disk_lock(path.at, &is_held, err);
    if (is_held)
        return error_set(err, FAULT_WAIT, "",
                         "%s is used by another process; give each its own --state", dir);
    return state->lock >= 0;
}

// A rewrite that was killed leaves one behind.
static void remove_temporaries(const struct state_log *state, const char *dir)
{
    char **names = NULL;
    size_t count = 0;
    if (!disk_list(dir, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        AUTO_BUFFER path = {0};
        struct text target;
        buffer_printf(&path, "%s/%s", dir, names[i]);
        if (disk_temporary_target(names[i], &target) && text_is(target, FILE_NAME))
            disk_remove(state->disk, path.at, NULL);
        free(names[i]);
    }
    free(names);
}

struct state_log *state_log_open(struct disk *disk, const char *dir, struct nonces *nonces,
                                 const struct state_log_reader *reader, int64_t now_s,
                                 struct log *log, struct error *err)
{
    struct buffer path = {0};
    struct state_log *state = mem_new_of(struct state_log);
    buffer_printf(&path, "%s/" FILE_NAME, dir);
    state->disk = disk;
    state->lock = -1;
    state->path = buffer_steal(&path);
    state->nonces = nonces;
    state->log = log;
    if (!disk_make_folder(disk, dir, 0700, err) || !lock_folder(state, dir, err) ||
        !load(state, nonces, reader, now_s, err)) {
        state_log_free(state);
        return NULL;
    }
    remove_temporaries(state, dir);
    return state;
}

void state_log_free(struct state_log *state)
{
    if (!state)
        return;
    disk_append_close(state->disk, state->file);
    disk_unlock(state->lock);
    buffer_done(&state->line);
    free(state->path);
    free(state);
}

static void rewrite(struct state_log *state)
{
    struct error err;
    if (load(state, NULL, NULL, 0, &err))
        return;
    state->rewrite_at = 2 * state->size;
    log_line(state->log, LOG_WARN, "the state log cannot be compacted and goes on growing",
             LOG_TEXT("error", err.text), LOG_END);
}

static bool append_octets(struct state_log *state, struct text octets, struct error *err)
{
    if (!state->file)
        state->file = disk_append_open(state->disk, state->path, 0600, err);
    if (!state->file)
        return false;
    if (disk_append(state->disk, state->file, octets, err))
        return true;
    disk_append_close(state->disk, steal(state->file));
    state->is_torn = true;
    return false;
}

static bool append_line(struct state_log *state, struct error *err)
{
    if (state->size >= state->rewrite_at)
        rewrite(state);
    if (state->is_torn && !append_octets(state, TEXT("\n"), err))
        return false;
    state->is_torn = false;
    if (!append_octets(state, buffer_text(&state->line), err))
        return false;
    state->size += state->line.len;
    return true;
}

bool state_log_nonce(struct state_log *state, struct text nonce, int64_t stamp_s, struct error *err)
{
    uint8_t digest[16];
    nonces_digest(nonce, digest);
    buffer_clear(&state->line);
    write_nonce(&state->line, digest, stamp_s);
    return append_line(state, err);
}

bool state_log_record(struct state_log *state, const struct record_set *set, bool is_removed,
                      struct error *err)
{
    buffer_clear(&state->line);
    if (is_removed)
        write_removal(&state->line, set);
    else
        write_record(&state->line, set);
    return append_line(state, err);
}
