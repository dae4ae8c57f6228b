#include <string.h>

#include "base/memory.h"
#include "model/model_pihole_private.h"

// The dialect of before v6, as some servers in front of a Pi-hole speak it: one record a request,
// a Bearer token with each. Records are host entries of one name each.

#define ROOT "/admin/api/dns/local"

static bool is_allowed(const struct pihole_call *call)
{
    const char *given = model_pihole_header(call, "Authorization");
    const char *wanted = call->pihole->switches.password;
    return !*wanted || (given && !strncmp(given, "Bearer ", 7) && !strcmp(given + 7, wanted));
}

static void complain(struct pihole_call *call, int status, const char *message)
{
    struct value *map = value_make(call->arena, VALUE_MAP);
    value_put_text(call->arena, map, "error", message);
    model_pihole_answer(call, status, map);
}

// "IP NAME" in two.
static struct text name_of(const char *entry, struct text *ip)
{
    struct text rest = text_of(entry);
    text_cut(&rest, ' ', ip);
    return rest;
}

static void list_records(struct pihole_call *call)
{
    struct arena *arena = call->arena;
    struct value *map = value_make(arena, VALUE_MAP);
    struct value *data = value_make(arena, VALUE_LIST);
    const struct entries *hosts = &call->pihole->stored.of[PIHOLE_HOSTS];
    for (size_t i = 0; i < hosts->count; i++) {
        struct text ip;
        struct value *record = value_make(arena, VALUE_MAP);
        struct text name = name_of(hosts->items[i], &ip);
        value_set(record, TEXT("domain"), value_make_text(arena, name));
        value_set(record, TEXT("ip"), value_make_text(arena, ip));
        value_append(data, record);
    }
    value_set(map, TEXT("data"), data);
    model_pihole_answer(call, 200, map);
}

static bool has_name(const struct entries *hosts, struct text name)
{
    struct text ip;
    for (size_t i = 0; i < hosts->count; i++)
        if (text_equal_nocase(name_of(hosts->items[i], &ip), name))
            return true;
    return false;
}

static void add_record(struct pihole_call *call)
{
    AUTO_BUFFER hint = {0};
    AUTO_BUFFER entry = {0};
    struct pihole_lists wanted = {0};
    struct text name = value_text_at(call->body, "domain");
    struct text ip = value_text_at(call->body, "ip");
    if (!name.len || !ip.len) {
        complain(call, 400, "domain and ip are wanted");
        return;
    }
    model_pihole_lists_copy(&wanted, model_pihole_base(call));
    struct entries *hosts = &wanted.of[PIHOLE_HOSTS];
    bool is_there = has_name(hosts, name);
    buffer_printf(&entry, "%.*s %.*s", TEXT_ARGS(ip), TEXT_ARGS(name));
    bool is_same = model_entries_find(hosts, entry.at) != SIZE_MAX;
    model_entries_add(hosts, entry.at);
    if (is_same || (is_there && call->pihole->switches.legacy_unique)) {
        complain(call, 409, "the record exists");
    } else if (!model_pihole_check(PIHOLE_HOSTS, hosts, &hint)) {
        complain(call, 400, arena_copy_text(call->arena, hint.at));
    } else {
        model_pihole_store(call, &wanted, true);
        model_pihole_answer(call, 201, NULL);
    }
    model_pihole_lists_done(&wanted);
}

static void remove_record(struct pihole_call *call, struct text name)
{
    struct text ip;
    struct pihole_lists wanted = {0};
    model_pihole_lists_copy(&wanted, model_pihole_base(call));
    struct entries *hosts = &wanted.of[PIHOLE_HOSTS];
    size_t before = hosts->count;
    for (size_t i = hosts->count; i-- > 0;)
        if (text_equal_nocase(name_of(hosts->items[i], &ip), name))
            model_entries_drop(hosts, i);
    if (hosts->count == before) {
        complain(call, 404, "there is no such record");
    } else {
        model_pihole_store(call, &wanted, true);
        model_pihole_answer_empty(call, 204);
    }
    model_pihole_lists_done(&wanted);
}

void model_pihole_legacy(struct pihole_call *call)
{
    const char *method = call->request->method;
    struct text name = {0};
    bool is_root = text_is(call->path, ROOT);
    if (text_starts(call->path, ROOT "/"))
        name = (struct text){call->path.at + sizeof ROOT, call->path.len - sizeof ROOT};
    if (!is_root && !name.len)
        complain(call, 404, "there is no such page");
    else if (!is_allowed(call))
        complain(call, 401, "the token is wrong");
    else if (is_root && !strcmp(method, "GET"))
        list_records(call);
    else if (is_root && !strcmp(method, "POST"))
        add_record(call);
    else if (name.len && !strcmp(method, "DELETE"))
        remove_record(call, name);
    else
        complain(call, 405, "there is no such method");
}
