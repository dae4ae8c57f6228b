#include <stdlib.h>
#include <string.h>

#include "model/model_api_private.h"

const char *const model_verbs[VERBS] = {
    "get", "list", "watch", "create", "update", "patch", "delete",
};

// ---- escapes ------------------------------------------------------------------------------------

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c | 0x20) : NULL;
    return at ? (int)(at - digits) : -1;
}

static struct text unescaped(struct arena *arena, struct text raw)
{
    char *out = arena_copy(arena, raw.at, raw.len);
    size_t len = 0;
    for (size_t i = 0; i < raw.len; i++) {
        bool is_escape = raw.at[i] == '%' && i + 2 < raw.len && hex_digit(raw.at[i + 1]) >= 0 &&
                         hex_digit(raw.at[i + 2]) >= 0;
        if (is_escape) {
            out[len++] = (char)(hex_digit(raw.at[i + 1]) * 16 + hex_digit(raw.at[i + 2]));
            i += 2;
        } else {
            out[len++] = raw.at[i];
        }
    }
    out[len] = '\0';
    return (struct text){out, len};
}

// ---- query --------------------------------------------------------------------------------------

static bool is_true(struct text value)
{
    return text_is(value, "true") || text_is(value, "1");
}

static void take_flag(struct model_query *query, struct text key, struct text value)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"watch", &query->is_watch},
                 {"allowWatchBookmarks", &query->has_bookmarks},
                 {"sendInitialEvents", &query->wants_initial_events},
                 {"force", &query->is_forced}};
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (text_is(key, flags[i].name))
            *flags[i].flag = is_true(value);
    query->has_initial_events |= text_is(key, "sendInitialEvents");
    query->is_dry |= text_is(key, "dryRun") && text_is(value, "All");
}

static void take_text(struct model_query *query, struct text key, struct text value)
{
    const struct {
        const char *name;
        struct text *text;
    } texts[] = {{"resourceVersion", &query->version}, {"resourceVersionMatch", &query->match},
                 {"continue", &query->next},           {"fieldManager", &query->manager},
                 {"fieldSelector", &query->fields},    {"labelSelector", &query->labels}};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (text_is(key, texts[i].name) && value.len)
            *texts[i].text = value;
    if (text_is(key, "limit"))
        text_to_int64(value, &query->limit);
    if (text_is(key, "timeoutSeconds"))
        text_to_int64(value, &query->timeout_s);
}

static void read_query(struct model_query *query, struct arena *arena, struct text rest)
{
    struct text pair;
    while (text_cut(&rest, '&', &pair)) {
        struct text key;
        struct text value = pair;
        if (!text_cut(&value, '=', &key))
            continue;
        value = value.at ? unescaped(arena, value) : TEXT("");
        take_flag(query, key, value);
        take_text(query, key, value);
    }
}

// ---- path ---------------------------------------------------------------------------------------

enum { SEGMENTS_MAX = 10 };

struct segments {
    struct text items[SEGMENTS_MAX];
    size_t count;
};

static bool read_segments(struct segments *out, struct arena *arena, struct text path)
{
    struct text piece;
    if (path.len && path.at[0] == '/')
        path = (struct text){path.at + 1, path.len - 1};
    while (text_cut(&path, '/', &piece)) {
        if (out->count == SEGMENTS_MAX)
            return false;
        out->items[out->count++] = unescaped(arena, piece);
    }
    return true;
}

static const struct store_kind *find_row(const struct model_server *server, struct text group,
                                         struct text version, struct text plural)
{
    size_t count;
    const struct store_kind *rows = model_server_kinds(server, &count);
    for (size_t i = 0; i < count; i++)
        if (text_is(group, rows[i].kind->group) && text_is(version, rows[i].kind->version) &&
            text_is(plural, rows[i].kind->plural))
            return &rows[i];
    return NULL;
}

// `at` is the first segment behind group and version.
static bool read_resource(struct model_target *target, const struct model_server *server,
                          const struct segments *segments, size_t at, struct text group)
{
    const struct text *items = segments->items + at;
    size_t count = segments->count - at;
    struct text version = segments->items[at - 1];
    bool is_inside = count >= 3 && text_is(items[0], "namespaces") && !text_is(items[2], "status");
    target->key.namespace_ = is_inside ? items[1] : TEXT("");
    target->key.name = TEXT("");
    target->sub = TEXT("");
    if (is_inside) {
        items += 2;
        count -= 2;
    }
    target->row = find_row(server, group, version, items[0]);
    if (!target->row || count > 3)
        return false;
    target->key.kind = target->row->kind;
    if (count > 1)
        target->key.name = items[1];
    if (count > 2)
        target->sub = items[2];
    return count < 3 || (text_is(target->sub, "status") && target->row->kind->has_status);
}

static bool read_verb(struct model_target *target, const char *method)
{
    static const struct {
        const char *method;
        bool has_name;
        enum model_verb verb;
    } rows[] = {
        {"GET", true, VERB_GET},    {"GET", false, VERB_LIST},   {"POST", false, VERB_CREATE},
        {"PUT", true, VERB_UPDATE}, {"PATCH", true, VERB_PATCH}, {"DELETE", true, VERB_DELETE},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strcmp(rows[i].method, method) != 0 || rows[i].has_name != (target->key.name.len > 0))
            continue;
        target->verb = rows[i].verb;
        if (target->verb == VERB_LIST && target->query.is_watch)
            target->verb = VERB_WATCH;
        return true;
    }
    return false;
}

bool model_target_read(struct model_target *target, const struct model_server *server,
                       struct arena *arena, const char *method, const char *path)
{
    struct segments segments = {.count = 0};
    struct text rest = text_of(path);
    if (!text_cut(&rest, '?', &target->path))
        target->path = TEXT("/");
    if (rest.at)
        read_query(&target->query, arena, rest);
    if (!read_segments(&segments, arena, target->path) || !segments.count)
        return false;
    bool is_core = text_is(segments.items[0], "api");
    bool is_group = text_is(segments.items[0], "apis");
    if (is_core && segments.count > 2)
        return read_resource(target, server, &segments, 2, TEXT("")) && read_verb(target, method);
    if (is_group && segments.count > 3)
        return read_resource(target, server, &segments, 3, segments.items[1]) &&
               read_verb(target, method);
    return !strcmp(method, "GET");
}
