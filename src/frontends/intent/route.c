#include "frontends/intent/route.h"

#include <string.h>

#include "kinds/emco_name.h"

enum { TARGET_MAX = 8192, SEGMENTS_MAX = 16 };

static const struct {
    const char *word;
    const char *methods;
} actions[] = {
    [ROUTE_LIST] = {NULL, "GET, POST"},
    [ROUTE_ITEM] = {NULL, "GET, PUT, DELETE"},
    [ROUTE_STATUS] = {"status", "GET"},
    [ROUTE_APPROVE] = {"approve", "POST"},
    [ROUTE_INSTANTIATE] = {"instantiate", "POST"},
    [ROUTE_TERMINATE] = {"terminate", "POST"},
    [ROUTE_UPDATE] = {"update", "POST"},
    [ROUTE_APPS] = {NULL, "GET"},
    [ROUTE_OPENAPI] = {NULL, "GET"},
};

const char *route_action_word(enum route_action action)
{
    return actions[action].word;
}

bool route_is_list(enum route_action action)
{
    return action == ROUTE_LIST || action == ROUTE_APPS;
}

bool route_takes(enum resource_id resource, enum route_action action)
{
    if (action == ROUTE_STATUS)
        return resource == RESOURCE_GROUP || resource == RESOURCE_RECORD;
    return action <= ROUTE_ITEM || (action <= ROUTE_APPS && resource == RESOURCE_GROUP);
}

const char *route_methods(enum route_action action)
{
    return actions[action].methods;
}

bool route_allows(enum route_action action, const char *method)
{
    struct text rest = text_of(actions[action].methods);
    struct text word;
    while (text_cut(&rest, ',', &word))
        if (text_is(text_trim(word), method))
            return true;
    return false;
}

static bool refuse_target(struct error *err, int status, const char *text)
{
    error_set(err, FAULT_SPEC, "Invalid", "%s", text);
    err->status = status;
    return false;
}

// ---- percent-decoding ---------------------------------------------------------------------------

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// False: a % without two hex digits, or an octet that no text has.
static bool decode_percent(struct arena *arena, struct text raw, bool is_query, struct text *out)
{
    char *octets = arena_copy(arena, raw.at, raw.len);
    size_t len = 0;
    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.at[i];
        if (c == '%') {
            int high = i + 2 < raw.len ? digit_of(raw.at[i + 1]) : -1;
            int low = high >= 0 ? digit_of(raw.at[i + 2]) : -1;
            if (low < 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && is_query) {
            c = ' ';
        }
        if (!c)
            return false;
        octets[len++] = c;
    }
    octets[len] = '\0';
    *out = (struct text){octets, len};
    return true;
}

// ---- the path -----------------------------------------------------------------------------------

struct segments {
    struct text items[SEGMENTS_MAX];
    size_t count;
};

static bool cut_path(struct arena *arena, struct text path, struct segments *out, struct error *err)
{
    struct text piece;
    struct text rest = {path.at + 1, path.len - 1};
    if (!rest.len)
        return true;
    if (text_ends(rest, "/"))
        rest.len--;
    while (text_cut(&rest, '/', &piece)) {
        struct text decoded;
        if (!piece.len || text_is(piece, ".") || text_is(piece, ".."))
            return refuse_target(err, 400, "a path has no empty parts, no . and no ..");
        if (out->count == SEGMENTS_MAX)
            return refuse_target(err, 404, "no such path: see /v2/openapi.json");
        if (!decode_percent(arena, piece, false, &decoded))
            return refuse_target(err, 400, "% in a path needs two hex digits behind it");
        if (text_is(decoded, ".") || text_is(decoded, ".."))
            return refuse_target(err, 400, "a path has no empty parts, no . and no ..");
        out->items[out->count++] = decoded;
    }
    return true;
}

static bool is_same_word(struct text segment, struct text word)
{
    return text_equal(segment, word) || (text_is(word, "projects") && text_is(segment, "project"));
}

// How many segments the path of a list takes; 0: it is another path.
static size_t match_list(const char *path, const struct segments *segments, struct route *out)
{
    struct text rest = text_of(path);
    struct text word;
    size_t at = 1; // behind "v2"
    out->name_count = 0;
    while (text_cut(&rest, '/', &word)) {
        if (at == segments->count)
            return 0;
        if (text_is(word, "{}"))
            out->names[out->name_count++] = segments->items[at];
        else if (!is_same_word(segments->items[at], word))
            return 0;
        at++;
    }
    return at;
}

static bool match_action(const struct segments *segments, size_t at, enum resource_id resource,
                         struct route *out)
{
    for (enum route_action action = ROUTE_STATUS; action <= ROUTE_UPDATE; action++)
        if (at + 1 == segments->count && route_takes(resource, action) &&
            text_is(segments->items[at], actions[action].word)) {
            out->action = action;
            return true;
        }
    return false;
}

static bool match_resource(enum resource_id id, const struct segments *segments, struct route *out)
{
    size_t at = match_list(resources[id].path, segments, out);
    if (!at)
        return false;
    out->resource = id;
    out->action = ROUTE_LIST;
    if (at == segments->count)
        return true;
    out->names[out->name_count++] = segments->items[at++];
    out->action = ROUTE_ITEM;
    return at == segments->count || match_action(segments, at, id, out);
}

static bool match_apps(const struct segments *segments, struct route *out)
{
    out->resource = RESOURCE_GROUP;
    out->action = ROUTE_APPS;
    return match_list("projects/{}/composite-apps", segments, out) == segments->count;
}

static bool match_path(const struct segments *segments, struct route *out, struct error *err)
{
    bool is_ours = segments->count > 1 && text_is(segments->items[0], "v2");
    if (is_ours && segments->count == 2 && text_is(segments->items[1], "openapi.json")) {
        out->action = ROUTE_OPENAPI;
        return true;
    }
    for (enum resource_id id = 0; is_ours && id < RESOURCES; id++)
        if (match_resource(id, segments, out))
            return true;
    return (is_ours && match_apps(segments, out)) ||
           refuse_target(err, 404, "no such path: see /v2/openapi.json");
}

static bool check_names(const struct route *route, struct error *err)
{
    for (size_t i = 0; i < route->name_count; i++)
        if (!emco_name_is_valid(route->names[i]))
            return refuse_target(err, 400,
                                 "a name in a path has 1 to 128 letters, digits, - _ or . with a "
                                 "letter or digit at both ends");
    return true;
}

// ---- the query ----------------------------------------------------------------------------------

static bool take_strict(struct text value, struct route *out, struct error *err)
{
    out->is_strict = !value.len || text_is(value, "true");
    return out->is_strict || text_is(value, "false") ||
           refuse_target(err, 400, "strict: true and false are the values");
}

static bool take_limit(struct text value, struct route *out, struct error *err)
{
    if (text_to_int64(value, &out->limit) && out->limit >= 1 && out->limit <= ROUTE_LIMIT_MAX)
        return true;
    return refuse_target(err, 400, "limit: a number from 1 to 1000");
}

// Unknown parameters are ignored, but a misspelt dryRun must not become a write.
static bool check_spelling(struct text name, struct error *err)
{
    static const char *const known[] = {"limit", "strict", "continue", "key", "dryRun", "move"};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (text_equal_nocase(name, text_of(known[i])) && !text_is(name, known[i])) {
            error_set(err, FAULT_SPEC, "Invalid", "%.*s: is spelled %s", TEXT_ARGS(name), known[i]);
            err->status = 400;
            return false;
        }
    return true;
}

static bool take_parameter(struct text name, struct text value, struct route *out,
                           struct error *err)
{
    if (text_is(name, "limit"))
        return take_limit(value, out, err);
    if (text_is(name, "strict"))
        return take_strict(value, out, err);
    if (text_is(name, "continue"))
        out->after = value;
    else if (text_is(name, "key"))
        out->key = value;
    else if (text_is(name, "dryRun") && !text_is(value, "All"))
        return refuse_target(err, 400, "dryRun: All is the one value");
    else if (text_is(name, "dryRun"))
        out->is_dry_run = true;
    else if (text_is(name, "move") && text_is(value, "drain"))
        out->move = "drain";
    else if (text_is(name, "move") && text_is(value, "abandon"))
        out->move = "abandon";
    else if (text_is(name, "move"))
        return refuse_target(err, 400, "move: drain and abandon are the values");
    return true;
}

static bool read_query(struct arena *arena, struct text query, struct route *out, struct error *err)
{
    struct text pair;
    while (text_cut(&query, '&', &pair)) {
        struct text rest = pair;
        struct text raw_name = {0};
        struct text name;
        struct text value;
        if (!pair.len)
            continue;
        text_cut(&rest, '=', &raw_name);
        if (!decode_percent(arena, raw_name, true, &name) ||
            !decode_percent(arena, rest.at ? rest : TEXT(""), true, &value))
            return refuse_target(err, 400, "% in a query needs two hex digits behind it");
        if (!check_spelling(name, err) || !take_parameter(name, value, out, err))
            return false;
    }
    return true;
}

// ---- public -------------------------------------------------------------------------------------

bool route_parse(struct arena *arena, const char *target, struct route *out, struct error *err)
{
    struct text rest = text_of(target);
    struct text path = {0};
    struct segments segments = {0};
    *out = (struct route){0};
    if (rest.len > TARGET_MAX || !text_starts(rest, "/"))
        return refuse_target(err, 400, "a path of at most 8192 octets is expected");
    text_cut(&rest, '?', &path);
    if (!cut_path(arena, path, &segments, err) || !match_path(&segments, out, err))
        return false;
    return check_names(out, err) && read_query(arena, rest, out, err);
}

void route_write_path(struct buffer *out, enum resource_id resource, const struct text *names,
                      bool is_item)
{
    struct text rest = text_of(resources[resource].path);
    struct text word;
    size_t at = 0;
    buffer_add_text(out, "/v2");
    while (text_cut(&rest, '/', &word)) {
        buffer_add_char(out, '/');
        if (text_is(word, "{}"))
            word = names[at++];
        buffer_add(out, word.at, word.len);
    }
    if (is_item)
        buffer_printf(out, "/%.*s", TEXT_ARGS(names[at]));
}
