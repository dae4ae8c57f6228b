#include <stddef.h>
#include <string.h>

#include "controllers/ingress/targets.h"

enum { SHOWN_OCTETS_MAX = 80 };

// What one key of the document fills in.
enum key_type { KEY_TEXT, KEY_FLAG, KEY_ADDRESSES, KEY_NAMESPACES, KEY_TLS };
struct key {
    const char *name;
    enum key_type type;
    size_t offset; // of TEXT and FLAG
    const char *const *choices;
    bool (*check)(struct text text, struct error *err);
};

static const struct key tls_keys[] = {
    {.name = "caFile", .offset = offsetof(struct pihole_target, ca_file)},
    {.name = "serverName", .offset = offsetof(struct pihole_target, server_name)},
    {.name = "pin", .offset = offsetof(struct pihole_target, pin), .check = pihole_pin_check},
    {.name = "skipVerify",
     .type = KEY_FLAG,
     .offset = offsetof(struct pihole_target, skips_verify)},
    {0},
};
static const struct key target_keys[] = {
    {.name = "name", .offset = offsetof(struct pihole_target, name)},
    {.name = "url", .offset = offsetof(struct pihole_target, url)},
    {.name = "tokenFile", .offset = offsetof(struct pihole_target, token_file)},
    {.name = "tokenEnv", .offset = offsetof(struct pihole_target, token_env)},
    {.name = "noPassword",
     .type = KEY_FLAG,
     .offset = offsetof(struct pihole_target, has_no_password)},
    {.name = "targetIPs", .type = KEY_ADDRESSES},
    {.name = "namespaces", .type = KEY_NAMESPACES},
    {.name = "dialect",
     .offset = offsetof(struct pihole_target, dialect),
     .choices = pihole_dialects},
    {.name = "ownership",
     .offset = offsetof(struct pihole_target, ownership),
     .choices = pihole_ownerships},
    {.name = "write", .offset = offsetof(struct pihole_target, write), .choices = pihole_writes},
    {.name = "tls", .type = KEY_TLS},
    {0},
};

struct reader {
    struct arena *arena;
    struct error *err;
};

static bool blame(const struct reader *reader, const struct value *value)
{
    return error_prefix(reader->err, "%u:%u: ", value->line, value->column);
}

static bool blame_key(const struct reader *reader, const struct value *value)
{
    error_prefix(reader->err, "%.*s: ", TEXT_ARGS(value->key));
    return blame(reader, value);
}

static bool refuse_type(const struct reader *reader, const struct value *value, const char *what)
{
    error_set(reader->err, FAULT_SPEC, "", "expected %s, found %s", what,
              value_type_name(value->type));
    return value->key.at ? blame_key(reader, value) : blame(reader, value);
}

// ---- values -------------------------------------------------------------------------------------

static bool is_choice(const char *const *choices, struct text text)
{
    for (; *choices; choices++)
        if (text_is(text, *choices))
            return true;
    return false;
}

static const char *joined(const struct reader *reader, const char *const *choices)
{
    const char *list = choices[0];
    for (size_t i = 1; choices[i]; i++)
        list = arena_printf(reader->arena, "%s, %s", list, choices[i]);
    return list;
}

static bool check_text(const struct reader *reader, const struct key *key,
                       const struct value *value)
{
    if (value->type != VALUE_TEXT)
        return refuse_type(reader, value, "text");
    if (!value->text.len || memchr(value->text.at, '\0', value->text.len))
        error_set(reader->err, FAULT_SPEC, "", "it is empty, or not text");
    else if (key->choices && !is_choice(key->choices, value->text))
        error_set(reader->err, FAULT_SPEC, "", "expected one of %s", joined(reader, key->choices));
    else if (!key->check || key->check(value->text, reader->err))
        return true;
    return blame_key(reader, value);
}

static bool read_text(const struct reader *reader, const struct key *key, const struct value *value,
                      struct pihole_target *out)
{
    if (!check_text(reader, key, value))
        return false;
    const char *text = arena_copy(reader->arena, value->text.at, value->text.len);
    memcpy((char *)out + key->offset, &text, sizeof text);
    return true;
}

static bool read_flag(const struct reader *reader, const struct key *key, const struct value *value,
                      struct pihole_target *out)
{
    if (value->type != VALUE_BOOL)
        return refuse_type(reader, value, "true or false");
    memcpy((char *)out + key->offset, &value->boolean, sizeof value->boolean);
    return true;
}

static bool is_text_list(const struct reader *reader, const struct value *value)
{
    if (value->type != VALUE_LIST)
        return refuse_type(reader, value, "a list");
    value_each (item, value)
        if (item->type != VALUE_TEXT || !item->text.len)
            return refuse_type(reader, item, "text");
    return true;
}

// An empty list counts as none given.
static bool read_addresses(const struct reader *reader, const struct value *value,
                           struct pihole_target *out)
{
    AUTO_BUFFER list = {0};
    if (!is_text_list(reader, value))
        return false;
    value_each (item, value) {
        struct pihole_addresses one;
        if (!pihole_addresses_read(reader->arena, item->text, &one, reader->err))
            return blame(reader, item);
        if (one.is_status && value_count(value) > 1) {
            error_set(reader->err, FAULT_SPEC, "", "status stands alone");
            return blame(reader, item);
        }
        buffer_printf(&list, "%.*s,", TEXT_ARGS(item->text));
    }
    if (list.len)
        list.len--;
    out->addresses = (struct pihole_addresses){0};
    return !list.len ||
           pihole_addresses_read(reader->arena, buffer_text(&list), &out->addresses, reader->err) ||
           blame_key(reader, value);
}

static bool read_namespaces(const struct reader *reader, const struct value *value,
                            struct pihole_target *out)
{
    size_t count = value_count(value);
    if (!is_text_list(reader, value))
        return false;
    if (count > PIHOLE_NAMESPACES_MAX) {
        error_set(reader->err, FAULT_SPEC, "", "at most %d are allowed", PIHOLE_NAMESPACES_MAX);
        return blame_key(reader, value);
    }
    const char **names = arena_new_array(reader->arena, const char *, count + 1);
    out->namespaces = names;
    out->namespace_count = count;
    value_each (item, value)
        *names++ = arena_copy(reader->arena, item->text.at, item->text.len);
    return true;
}

// ---- maps ---------------------------------------------------------------------------------------

static bool read_map(const struct reader *reader, const struct key *keys, const struct value *map,
                     struct pihole_target *out);

static bool read_key(const struct reader *reader, const struct key *key, const struct value *value,
                     struct pihole_target *out)
{
    switch (key->type) {
    case KEY_TEXT:
        return read_text(reader, key, value, out);
    case KEY_FLAG:
        return read_flag(reader, key, value, out);
    case KEY_ADDRESSES:
        return read_addresses(reader, value, out);
    case KEY_NAMESPACES:
        return read_namespaces(reader, value, out);
    case KEY_TLS:
        break;
    }
    return read_map(reader, tls_keys, value, out);
}

static bool refuse_key(const struct reader *reader, const struct value *item,
                       const char *const *known)
{
    char shown[SHOWN_OCTETS_MAX];
    size_t count = 0;
    while (known[count])
        count++;
    const char *nearest = text_nearest(item->key, known, count);
    text_clean_into(shown, sizeof shown, item->key);
    error_set(reader->err, FAULT_SPEC, "", "unknown key %s%s%s%s", shown,
              nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    return error_prefix(reader->err, "%u:%u: ", item->key_line, item->key_column);
}

static const struct key *find_key(const struct key *keys, struct text name)
{
    for (; keys->name; keys++)
        if (text_is(name, keys->name))
            return keys;
    return NULL;
}

static bool read_map(const struct reader *reader, const struct key *keys, const struct value *map,
                     struct pihole_target *out)
{
    const char *known[COUNT_OF(target_keys)] = {0};
    for (size_t i = 0; keys[i].name; i++)
        known[i] = keys[i].name;
    if (map->type != VALUE_MAP)
        return refuse_type(reader, map, "a map");
    value_each (item, map) {
        const struct key *key = find_key(keys, item->key);
        if (!key)
            return refuse_key(reader, item, known);
        if (item->type != VALUE_NULL && !read_key(reader, key, item, out))
            return false;
    }
    return true;
}

// ---- targets ------------------------------------------------------------------------------------

// Where the entry names a way to log in, that of the defaults does not count.
static void forget_login(const struct value *entry, struct pihole_target *target)
{
    if (!value_find(entry, "tokenFile") && !value_find(entry, "tokenEnv") &&
        !value_find(entry, "noPassword"))
        return;
    target->token_file = target->token_env = NULL;
    target->has_no_password = false;
    target->secret = NULL;
}

static bool check_login(const struct pihole_target *target, struct error *err)
{
    int ways = (target->token_file != NULL) + (target->token_env != NULL) +
               target->has_no_password + (target->secret != NULL);
    if (ways == 1)
        return true;
    return error_set(err, FAULT_SPEC, "", "%s of tokenFile, tokenEnv and noPassword is needed",
                     ways ? "only one" : "one");
}

// What is wrong with a target as a whole begins with the key that it is about.
static bool blame_target(const struct reader *reader, const struct value *entry)
{
    static const char *const keys[] = {"name", "url"};
    const struct value *at = entry;
    for (size_t i = 0; reader->err && i < COUNT_OF(keys); i++)
        if (text_starts(text_of(reader->err->text), keys[i]) && value_find(entry, keys[i]))
            at = value_find(entry, keys[i]);
    return blame(reader, at);
}

static bool read_target(const struct reader *reader, const struct value *entry,
                        const struct pihole_target *defaults, struct pihole_targets *targets)
{
    struct pihole_target target = *defaults;
    target.name = target.url = NULL;
    if (entry->type == VALUE_MAP)
        forget_login(entry, &target);
    if (!read_map(reader, target_keys, entry, &target))
        return false;
    if (!target.name || !target.url)
        error_set(reader->err, FAULT_SPEC, "", "%s is missing", target.name ? "url" : "name");
    else if (check_login(&target, reader->err) &&
             pihole_targets_add(reader->arena, targets, &target, reader->err))
        return true;
    return blame_target(reader, entry);
}

bool pihole_targets_read(struct arena *arena, const struct value *document,
                         const struct pihole_target *defaults, struct pihole_targets *targets,
                         struct error *err)
{
    static const char *const known[] = {"targets", NULL};
    const struct reader reader = {arena, err};
    if (!document || document->type != VALUE_MAP)
        return error_set(err, FAULT_SPEC, "", "1:1: expected a map with the key targets");
    value_each (item, document)
        if (!text_is(item->key, known[0]))
            return refuse_key(&reader, item, known);
    const struct value *list = value_find(document, known[0]);
    if (!list || list->type != VALUE_LIST || !value_count(list))
        return error_set(err, FAULT_SPEC, "", "1:1: targets: expected a list of Pi-holes");
    value_each (entry, list)
        if (!read_target(&reader, entry, defaults, targets))
            return false;
    return true;
}
