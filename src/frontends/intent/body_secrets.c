#include "frontends/intent/body_secrets.h"

#include <string.h>

#include "base/digest.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord.h"

#define PARAMETERS_KEY "external-dns-parameters"
#define ENV "env:"

const char *body_secrets_name(struct arena *arena, struct text object)
{
    return arena_printf(arena, "%.*s-credentials", TEXT_ARGS(object));
}

struct secrets_pass {
    struct arena *arena;
    const char *secret;
    struct value *map;
    const struct value *old;
    const struct body_secrets *found;
    struct body_faults *faults;
};

// ---- references of a record ---------------------------------------------------------------------

static bool is_of_secret(const struct value *ref, const char *secret)
{
    return text_is(value_text_at(ref, "name"), secret);
}

static const struct value *find_ref(const struct value *map, const char *secret, struct text target)
{
    value_each (ref, value_list_at(map, "secretRefs"))
        if (is_of_secret(ref, secret) && text_equal(value_text_at(ref, "target"), target))
            return ref;
    return NULL;
}

// Keys of a Secret have no colon.
static struct text key_of_target(struct text target)
{
    size_t skipped = text_starts(target, ENV) ? strlen(ENV) : 0;
    return (struct text){target.at + skipped, target.len - skipped};
}

static struct text key_of_ref(const struct secrets_pass *pass, struct text target)
{
    const struct value *old = find_ref(pass->old, pass->secret, target);
    return old ? value_text_at(old, "key") : key_of_target(target);
}

static void add_ref(const struct secrets_pass *pass, struct text target)
{
    struct value *refs = value_find(pass->map, "secretRefs");
    struct value *ref = value_make(pass->arena, VALUE_MAP);
    if (!refs) {
        refs = value_make(pass->arena, VALUE_LIST);
        value_set(pass->map, TEXT("secretRefs"), refs);
    }
    if (refs->type != VALUE_LIST)
        return; // the check of the shape says so
    value_put(pass->arena, ref, "target", value_make_text(pass->arena, target));
    value_put_text(pass->arena, ref, "name", pass->secret);
    value_put(pass->arena, ref, "key", value_make_text(pass->arena, key_of_ref(pass, target)));
    value_append(refs, ref);
}

static void put_data(const struct secrets_pass *pass, struct text key, struct text secret)
{
    AUTO_BUFFER coded = {0};
    base64_encode(&coded, secret.at, secret.len);
    const char *text = arena_copy(pass->arena, buffer_text(&coded).at, coded.len);
    value_set(pass->found->data, key, value_make_text(pass->arena, text_of(text)));
}

// A masked value stays as it is in the Secret.
static void keep_value(const struct secrets_pass *pass, struct text key, bool has_old,
                       const char *pointer)
{
    if (!pass->found)
        return;
    if (has_old)
        value_set(pass->found->kept, key, value_make_text(pass->arena, text_of(pointer)));
    else
        body_faults_add(pass->faults, pointer, SECRETS_NO_VALUE);
}

// The check of the record sees no value any more.
static void check_secret(const struct secrets_pass *pass, struct text target, struct text secret,
                         const char *pointer)
{
    const struct external_dns_parameter *row = external_dns_find(target);
    struct text content = text_trim(secret);
    if (!content.len)
        body_faults_add(pass->faults, pointer, "must not be empty");
    else if (row && row->check && row->check(content))
        body_faults_add(pass->faults, pointer, "%s", row->check(content));
}

static void move_secret(const struct secrets_pass *pass, struct text target, struct text secret,
                        const char *pointer)
{
    struct text key = key_of_ref(pass, target);
    if (text_is(secret, SECRETS_MASK) || !pass->found) {
        keep_value(pass, key, find_ref(pass->old, pass->secret, target), pointer);
    } else {
        check_secret(pass, target, secret, pointer);
        put_data(pass, key, secret);
    }
    add_ref(pass, target);
}

// ---- a record's secrets -------------------------------------------------------------------------

static void drop_entry(struct value *list, const struct value *entry)
{
    struct value **at = &list->first;
    struct value *before = NULL;
    while (*at != entry) {
        before = *at;
        at = &(*at)->next;
    }
    *at = entry->next;
    if (list->last == entry)
        list->last = before;
    list->count--;
}

static void take_parameters(const struct secrets_pass *pass, struct value *map, const char *pointer)
{
    if (!map || map->type != VALUE_MAP)
        return;
    for (struct value *item = map->first, *next; item; item = next) {
        const struct external_dns_parameter *row = external_dns_find(item->key);
        next = item->next;
        if (!row || row->form != FORM_SECRET || item->type != VALUE_TEXT || !item->text.len)
            continue;
        move_secret(pass, item->key, item->text,
                    arena_printf(pass->arena, "%s/%s", pointer, row->name));
        drop_entry(map, item);
    }
}

static void take_one_of(const struct secrets_pass *pass, const struct value *list)
{
    size_t index = 0;
    value_each (element, list && list->type == VALUE_LIST ? list : NULL)
        take_parameters(pass, element,
                        arena_printf(pass->arena, "/spec/" PARAMETERS_KEY "/oneOf/%zu", index++));
}

static bool is_secret_variable(struct text name)
{
    for (enum external_dns_provider provider = 0; provider < EXTERNAL_DNS_PROVIDERS; provider++) {
        const struct external_dns_variable *variable = external_dns_find_env(name, provider);
        if (variable && variable->is_secret)
            return true;
    }
    const struct external_dns_parameter *row = external_dns_find_variable(name);
    return row && row->form == FORM_SECRET;
}

// Named values: variables, and flags that are no parameters.
static void take_pairs(const struct secrets_pass *pass, const char *member, const char *prefix,
                       bool (*is_secret)(struct text name))
{
    struct value *list = value_find(pass->map, member);
    size_t index = 0;
    if (!list || list->type != VALUE_LIST)
        return;
    for (struct value *entry = list->first, *next; entry; entry = next, index++) {
        struct text name = value_text_at(entry, "name");
        struct text secret = value_text_at(entry, "value");
        next = entry->next;
        if (!name.len || !secret.len || !is_secret(name))
            continue;
        const char *target = arena_printf(pass->arena, "%s%.*s", prefix, TEXT_ARGS(name));
        move_secret(pass, text_of(target), secret,
                    arena_printf(pass->arena, "/spec/%s/%zu/value", member, index));
        drop_entry(list, entry);
    }
    if (!list->first)
        value_remove(pass->map, member);
}

static void take_of_record(const struct secrets_pass *pass)
{
    struct value *parameters = value_find(pass->map, PARAMETERS_KEY);
    take_one_of(pass, value_find(parameters, "oneOf"));
    take_parameters(pass, parameters, "/spec/" PARAMETERS_KEY);
    take_pairs(pass, "env", ENV, is_secret_variable);
    take_pairs(pass, "extraArgs", "", external_dns_is_secret_flag);
}

static void show_pair(struct arena *arena, struct value *map, const char *member, struct text name)
{
    struct value *list = value_find(map, member);
    struct value *entry = value_make(arena, VALUE_MAP);
    if (!list) {
        list = value_make(arena, VALUE_LIST);
        value_set(map, text_of(member), list);
    }
    value_put(arena, entry, "name", value_make_text(arena, name));
    value_put_text(arena, entry, "value", SECRETS_MASK);
    value_append(list, entry);
}

static void show_target(struct arena *arena, struct value *map, struct text target)
{
    if (text_starts(target, ENV)) {
        show_pair(arena, map, "env", key_of_target(target));
        return;
    }
    if (!external_dns_find(target)) {
        show_pair(arena, map, "extraArgs", target);
        return;
    }
    struct value *parameters = value_find(map, PARAMETERS_KEY);
    if (!parameters) {
        parameters = value_make(arena, VALUE_MAP);
        value_set(map, TEXT(PARAMETERS_KEY), parameters);
    }
    value_set(parameters, target, value_make_text(arena, TEXT(SECRETS_MASK)));
}

static void mask_record(struct arena *arena, const char *secret, struct value *map)
{
    struct value *refs = value_find(map, "secretRefs");
    if (!refs || refs->type != VALUE_LIST)
        return;
    for (struct value *ref = refs->first, *next; ref; ref = next) {
        next = ref->next;
        if (!is_of_secret(ref, secret))
            continue;
        show_target(arena, map, value_text_at(ref, "target"));
        drop_entry(refs, ref);
    }
    if (!refs->first)
        value_remove(map, "secretRefs");
}

// ---- the private key of an inbound intent -------------------------------------------------------

#define KEY_SECRET "external.privateKeySecret"

static bool is_private_key(const struct value *item)
{
    static const char member[] = "privatekey";
    bool has_name =
        item->key.len >= sizeof member - 1 &&
        text_equal_nocase(
            (struct text){item->key.at + item->key.len - sizeof member + 1, sizeof member - 1},
            TEXT(member));
    return item->type == VALUE_TEXT && item->text.len &&
           (has_name || memmem(item->text.at, item->text.len, "PRIVATE KEY-----", 16));
}

static void take_of_inbound(const struct secrets_pass *pass, struct text name)
{
    struct value *certificates = value_at(pass->map, "external.externalCerts", NULL);
    if (!certificates || certificates->type != VALUE_MAP)
        return;
    struct value *item = certificates->first;
    while (item && !is_private_key(item))
        item = item->next;
    if (!item || value_at(pass->map, KEY_SECRET, NULL))
        return;
    struct text key =
        text_of(arena_printf(pass->arena, "%.*s.%.*s", TEXT_ARGS(name), TEXT_ARGS(item->key)));
    if (text_is(item->text, SECRETS_MASK) || !pass->found)
        keep_value(pass, key, text_equal(value_text_at(pass->old, KEY_SECRET ".key"), key),
                   body_faults_pointer(pass->arena, "/spec/external/externalCerts",
                                       arena_printf(pass->arena, "[%.*s]", TEXT_ARGS(item->key))));
    else
        put_data(pass, key, item->text);
    value_put_text(pass->arena, pass->map, KEY_SECRET ".name", pass->secret);
    value_put(pass->arena, pass->map, KEY_SECRET ".key", value_make_text(pass->arena, key));
    drop_entry(certificates, item);
}

static void mask_inbound(struct arena *arena, const char *secret, struct value *map)
{
    const struct value *ref = value_at(map, KEY_SECRET, NULL);
    struct text rest = value_text_at(ref, "key");
    struct text name = value_text_at(map, "name");
    if (!is_of_secret(ref, secret) || rest.len <= name.len + 1)
        return;
    struct text member = {rest.at + name.len + 1, rest.len - name.len - 1};
    struct value *external = value_find(map, "external");
    struct value *certificates = value_find(external, "externalCerts");
    if (!certificates) {
        certificates = value_make(arena, VALUE_MAP);
        value_set(external, TEXT("externalCerts"), certificates);
    }
    if (certificates->type == VALUE_MAP)
        value_set(certificates, member, value_make_text(arena, TEXT(SECRETS_MASK)));
    value_remove(external, "privateKeySecret");
}

// ---- public -------------------------------------------------------------------------------------

void body_secrets_take(struct arena *arena, enum resource_id id, struct text name,
                       const char *secret, struct value *map, const struct value *old,
                       const struct body_secrets *found, struct body_faults *faults)
{
    const struct secrets_pass pass = {arena, secret, map, old, found, faults};
    if (id == RESOURCE_RECORD)
        take_of_record(&pass);
    if (id == RESOURCE_INBOUND)
        take_of_inbound(&pass, name);
}

void body_secrets_mask(struct arena *arena, enum resource_id id, const char *secret,
                       struct value *map)
{
    if (id == RESOURCE_RECORD)
        mask_record(arena, secret, map);
    if (id == RESOURCE_INBOUND)
        mask_inbound(arena, secret, map);
}

static void add_key(struct arena *arena, struct value *keys, const struct value *ref,
                    const char *secret)
{
    if (is_of_secret(ref, secret))
        value_append(keys, value_make_text(arena, value_text_at(ref, "key")));
}

struct value *body_secrets_keys(struct arena *arena, const struct value *spec, const char *secret)
{
    struct value *keys = value_make(arena, VALUE_LIST);
    value_each (ref, value_list_at(spec, "secretRefs"))
        add_key(arena, keys, ref, secret);
    value_each (entry, value_list_at(spec, "inbound"))
        add_key(arena, keys, value_at(entry, KEY_SECRET, NULL), secret);
    add_key(arena, keys, value_find(spec, "kubeconfigSecret"), secret);
    return keys;
}

// "key" and "key.next" take turns.
static struct text other_key(struct arena *arena, struct text key)
{
    static const char end[] = ".next";
    if (text_ends(key, end))
        return (struct text){key.at, key.len - sizeof end + 1};
    return text_of(arena_printf(arena, "%.*s%s", TEXT_ARGS(key), end));
}

void body_secrets_rekey(struct arena *arena, const char *secret, struct value *map,
                        const struct value *taken, struct value *data)
{
    struct value *refs = value_find(map, "secretRefs");
    for (struct value *ref = refs ? refs->first : NULL; ref; ref = ref->next) {
        struct text key = value_text_at(ref, "key");
        struct text other = other_key(arena, key);
        const struct value *value = value_find_text(data, key);
        if (!is_of_secret(ref, secret) || !value || !value_lists_text(taken, key) ||
            value_lists_text(taken, other))
            continue;
        value_set(data, other, value_make_text(arena, value->text));
        value_remove(data, arena_copy(arena, key.at, key.len));
        value_put(arena, ref, "key", value_make_text(arena, other));
    }
}
