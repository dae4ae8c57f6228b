#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/model_pihole_private.h"

enum { FILE_OCTETS = 72 * 1024, HINT_MAX = 1024 };

#define FORCED "Config items set via environment variables cannot be changed via the API"

// ---- what there is ------------------------------------------------------------------------------

enum item_type { ITEM_BOOL, ITEM_NUMBER, ITEM_LIST };
struct item {
    const char *path;
    const char *type; // as a detailed reply names it
    enum item_type kind;
    bool restarts;
    struct value *(*value)(const struct model_pihole *pihole, struct arena *arena);
    int64_t fallback; // of BOOL and NUMBER
};

static struct value *list_value(struct arena *arena, const struct entries *entries)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < entries->count; i++)
        value_append(list,
                     value_make_text(arena, text_of(arena_copy_text(arena, entries->items[i]))));
    return list;
}

static struct value *hosts(const struct model_pihole *pihole, struct arena *arena)
{
    return list_value(arena, &pihole->stored.of[PIHOLE_HOSTS]);
}

static struct value *cnames(const struct model_pihole *pihole, struct arena *arena)
{
    return list_value(arena, &pihole->stored.of[PIHOLE_CNAMES]);
}

static struct value *upstreams(const struct model_pihole *pihole, struct arena *arena)
{
    struct value *list = value_make(arena, VALUE_LIST);
    (void)pihole;
    value_append(list, value_make_text(arena, TEXT("9.9.9.9")));
    return list;
}

static struct value *hosts_local(const struct model_pihole *pihole, struct arena *arena)
{
    return value_make_bool(arena, pihole->switches.hosts_local == HOSTS_LOCAL_ON);
}

static struct value *port(const struct model_pihole *pihole, struct arena *arena)
{
    return value_make_int(arena, pihole->switches.dns_port);
}

static struct value *rate_limit(const struct model_pihole *pihole, struct arena *arena)
{
    (void)pihole;
    return value_make_int(arena, 1000);
}

static struct value *timeout(const struct model_pihole *pihole, struct arena *arena)
{
    return value_make_int(arena, pihole->switches.session_timeout_s);
}

static struct value *max_sessions(const struct model_pihole *pihole, struct arena *arena)
{
    return value_make_int(arena, pihole->switches.max_sessions);
}

static struct value *app_sudo(const struct model_pihole *pihole, struct arena *arena)
{
    return value_make_bool(arena, pihole->switches.app_sudo);
}

static struct value *read_only(const struct model_pihole *pihole, struct arena *arena)
{
    return value_make_bool(arena, pihole->switches.read_only);
}

static const struct item items[] = {
    {"dns.upstreams", "string array", ITEM_LIST, true, upstreams, 0},
    {"dns.hosts", "string array", ITEM_LIST, false, hosts, 0},
    {"dns.hostsLocal", "boolean", ITEM_BOOL, true, hosts_local, 1},
    {"dns.port", "unsigned integer (16 bit)", ITEM_NUMBER, true, port, 53},
    {"dns.cnameRecords", "string array", ITEM_LIST, true, cnames, 0},
    {"dns.rateLimit.count", "unsigned integer", ITEM_NUMBER, false, rate_limit, 1000},
    {"webserver.session.timeout", "unsigned integer", ITEM_NUMBER, false, timeout, 1800},
    {"webserver.api.max_sessions", "unsigned integer (16 bit)", ITEM_NUMBER, false, max_sessions,
     16},
    {"webserver.api.app_sudo", "boolean", ITEM_BOOL, false, app_sudo, 0},
    {"misc.readOnly", "boolean", ITEM_BOOL, false, read_only, 0},
};

static bool has_item(const struct model_pihole *pihole, const struct item *item)
{
    return item->value != hosts_local || pihole->switches.hosts_local >= HOSTS_LOCAL_OFF;
}

static bool is_forced(const struct model_pihole *pihole, const struct item *item)
{
    return (item->value == hosts && pihole->switches.forced[PIHOLE_HOSTS]) ||
           (item->value == cnames && pihole->switches.forced[PIHOLE_CNAMES]);
}

// ---- reading ------------------------------------------------------------------------------------

static struct value *fallback_of(const struct item *item, struct arena *arena)
{
    if (item->kind == ITEM_LIST)
        return value_make(arena, VALUE_LIST);
    return item->kind == ITEM_BOOL ? value_make_bool(arena, item->fallback)
                                   : value_make_int(arena, item->fallback);
}

static struct value *detailed(const struct pihole_call *call, const struct item *item)
{
    struct arena *arena = call->arena;
    struct value *map = value_make(arena, VALUE_MAP);
    struct value *value = item->value(call->pihole, arena);
    struct value *fallback = fallback_of(item, arena);
    value_put_text(arena, map, "description", item->path);
    value_put(arena, map, "allowed", value_make(arena, VALUE_NULL));
    value_put_text(arena, map, "type", item->type);
    value_put(arena, map, "value", value);
    value_put(arena, map, "default", fallback);
    value_put_bool(arena, map, "modified", !value_equal(value, fallback));
    value_put_bool(arena, map, "flags.restart_dnsmasq", item->restarts);
    value_put_bool(arena, map, "flags.session_reset", false);
    value_put_bool(arena, map, "flags.env_var", is_forced(call->pihole, item));
    return map;
}

// "dns.hosts" for /api/config/dns/hosts; "" for all.
static const char *wanted_path(const struct pihole_call *call)
{
    AUTO_BUFFER path = {0};
    for (size_t i = 1; i < call->segment_count; i++)
        buffer_printf(&path, "%s%s", i > 1 ? "." : "", call->segments[i]);
    return arena_copy(call->arena, path.at ? path.at : "", path.len);
}

static bool is_below(const char *path, const char *wanted)
{
    size_t len = strlen(wanted);
    return !len || (!strncmp(path, wanted, len) && (!path[len] || path[len] == '.'));
}

static void answer_config(struct pihole_call *call, const char *wanted)
{
    struct arena *arena = call->arena;
    bool is_detailed = model_pihole_flag(call, "detailed", false);
    struct value *map = value_make(arena, VALUE_MAP);
    struct value *config = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < COUNT_OF(items); i++)
        if (has_item(call->pihole, &items[i]) && is_below(items[i].path, wanted))
            value_put(arena, config, items[i].path,
                      is_detailed ? detailed(call, &items[i])
                                  : items[i].value(call->pihole, arena));
    value_set(map, TEXT("config"), config);
    model_pihole_answer(call, 200, map);
}

static void get(struct pihole_call *call)
{
    const char *wanted = wanted_path(call);
    if (call->pihole->switches.hosts_local == HOSTS_LOCAL_MISSING &&
        !strcmp(wanted, "dns.hostsLocal"))
        model_pihole_refuse(call, 404, "not_found", "Not found",
                            arena_copy(call->arena, call->path.at, call->path.len));
    else
        answer_config(call, wanted);
}

// ---- storing ------------------------------------------------------------------------------------

const struct pihole_lists *model_pihole_base(const struct pihole_call *call)
{
    const struct pihole_lists *base = &call->pihole->stored;
    if (call->pihole->switches.overlap != OVERLAP_LOSES)
        return base;
    for (const struct pihole_flight *at = call->pihole->flights; at; at = at->next)
        if (at->has_changed && model_pihole_is_alive(call->pihole, at->number, call->now_ms))
            base = &at->before;
    return base;
}

static void check_kept(struct model_pihole *pihole, enum pihole_list list, const char *what)
{
    size_t at = 0;
    const struct entries *kept = &pihole->kept.of[list];
    const struct entries *stored = &pihole->stored.of[list];
    for (size_t i = 0; i < kept->count; i++, at++) {
        while (at < stored->count && strcmp(stored->items[at], kept->items[i]) != 0)
            at++;
        if (at == stored->count) {
            model_pihole_accuse(pihole, "%s took \"%s\" away from people, or its place", what,
                                kept->items[i]);
            return;
        }
    }
}

// What was there and is to go comes back with the next change.
static void remember_ghosts(struct model_pihole *pihole, const struct pihole_lists *wanted)
{
    for (int list = 0; list < PIHOLE_LISTS; list++) {
        const struct entries *stored = &pihole->stored.of[list];
        for (size_t i = 0; i < stored->count && pihole->switches.resurrects; i++)
            if (model_entries_find(&wanted->of[list], stored->items[i]) == SIZE_MAX) {
                model_entries_add(&pihole->ghosts.of[list], stored->items[i]);
                pihole->switches.resurrects--;
            }
    }
}

static void raise_ghosts(struct pihole_lists *lists, const struct pihole_lists *ghosts)
{
    for (int list = 0; list < PIHOLE_LISTS; list++)
        for (size_t i = 0; i < ghosts->of[list].count; i++)
            if (model_entries_find(&lists->of[list], ghosts->of[list].items[i]) == SIZE_MAX)
                model_entries_add(&lists->of[list], ghosts->of[list].items[i]);
}

// Is the resolver's own configuration another?
static bool is_of_resolver(const struct model_pihole *pihole, const struct pihole_lists *before,
                           const struct pihole_lists *after)
{
    bool is_host_change = !model_entries_equal(&before->of[PIHOLE_HOSTS], &after->of[PIHOLE_HOSTS]);
    return !model_entries_equal(&before->of[PIHOLE_CNAMES], &after->of[PIHOLE_CNAMES]) ||
           (is_host_change && pihole->switches.hosts_local == HOSTS_LOCAL_ON);
}

void model_pihole_store(struct pihole_call *call, const struct pihole_lists *wanted, bool restarts)
{
    struct model_pihole *pihole = call->pihole;
    struct pihole_lists risen = {0};
    model_pihole_lists_copy(&risen, &pihole->ghosts);
    model_pihole_lists_done(&pihole->ghosts);
    remember_ghosts(pihole, wanted);
    call->flight->has_changed = true;
    model_pihole_lists_copy(&call->flight->before, &pihole->stored);
    model_pihole_lists_copy(&pihole->stored, wanted);
    raise_ghosts(&pihole->stored, &risen);
    model_pihole_lists_done(&risen);
    call->reply->delay_ms = pihole->switches.write_ms;
    pihole->counters.changes++;
    pihole->counters.written_octets += 2 * FILE_OCTETS;
    if (pihole->switches.hosts_local != HOSTS_LOCAL_ON)
        model_pihole_publish(pihole, PIHOLE_HOSTS);
    if (restarts && is_of_resolver(pihole, &call->flight->before, &pihole->stored))
        model_pihole_restart(pihole, call->now_ms, call->now_ms + call->reply->delay_ms);
    for (int list = 0; list < PIHOLE_LISTS; list++)
        check_kept(pihole, (enum pihole_list)list, call->flight->what);
}

// ---- changing -----------------------------------------------------------------------------------

static bool refuse_with(struct pihole_call *call, const char *message, const struct buffer *hint)
{
    struct text text = buffer_text(hint);
    model_pihole_refuse(
        call, 400, "bad_request", message,
        arena_copy(call->arena, text.at, text.len < HINT_MAX ? text.len : HINT_MAX));
    return false;
}

// What the resolver reads from its configuration is another; it is tried before.
static bool is_tried(struct pihole_call *call, const struct pihole_lists *wanted)
{
    AUTO_BUFFER hint = {0};
    if (!is_of_resolver(call->pihole, model_pihole_base(call), wanted))
        return true;
    if (model_pihole_deadlocks(call))
        return false;
    if (model_pihole_try_cnames(&wanted->of[PIHOLE_CNAMES], &hint))
        return true;
    if (!call->pihole->switches.alias_hints)
        buffer_clear(&hint);
    return refuse_with(call, "Invalid configuration", &hint);
}

static bool read_list(struct pihole_call *call, enum pihole_list list, const struct value *given,
                      struct entries *out)
{
    AUTO_BUFFER hint = {0};
    bool is_list = given->type == VALUE_LIST;
    value_each (item, is_list ? given : NULL)
        is_list &= item->type == VALUE_TEXT;
    if (!is_list) {
        buffer_printf(&hint, "%s: %s", model_pihole_list_keys[list],
                      given->type == VALUE_LIST ? "array has invalid elements"
                                                : "not of type array");
        return refuse_with(call, "Config item is invalid", &hint);
    }
    value_each (item, given) {
        autofree char *copy = text_dup(item->text);
        autofree char *normal = model_pihole_normal(list, copy);
        model_entries_add(out, strpbrk(copy, "\r\n") ? copy : normal);
    }
    return true;
}

// One array of a PATCH into `wanted`. False: refused.
static bool patch_list(struct pihole_call *call, enum pihole_list list, const struct value *given,
                       struct pihole_lists *wanted)
{
    AUTO_BUFFER hint = {0};
    struct entries read = {0};
    if (!given)
        return true;
    if (!read_list(call, list, given, &read)) {
        model_entries_done(&read);
        return false;
    }
    if (model_entries_equal(&read, &wanted->of[list])) {
        model_entries_done(&read);
        return true;
    }
    model_entries_done(&wanted->of[list]);
    wanted->of[list] = read;
    if (call->pihole->switches.forced[list]) {
        buffer_add_text(&hint, model_pihole_list_keys[list]);
        return refuse_with(call, FORCED, &hint);
    }
    return model_pihole_check(list, &wanted->of[list], &hint) ||
           refuse_with(call, "Config item validation failed", &hint);
}

static bool patch_lists(struct pihole_call *call, const struct value *config,
                        struct pihole_lists *wanted)
{
    const struct value *dns = value_find(config, "dns");
    return patch_list(call, PIHOLE_HOSTS, value_find(dns, "hosts"), wanted) &&
           patch_list(call, PIHOLE_CNAMES, value_find(dns, "cnameRecords"), wanted);
}

static bool lists_equal(const struct pihole_lists *a, const struct pihole_lists *b)
{
    return model_entries_equal(&a->of[PIHOLE_HOSTS], &b->of[PIHOLE_HOSTS]) &&
           model_entries_equal(&a->of[PIHOLE_CNAMES], &b->of[PIHOLE_CNAMES]);
}

static bool wants_restart(const struct pihole_call *call)
{
    return !call->pihole->switches.defers || model_pihole_flag(call, "restart", true);
}

static void patch(struct pihole_call *call)
{
    struct pihole_lists wanted = {0};
    const struct value *config = value_find(call->body, "config");
    if (!model_pihole_has_json(call))
        return;
    if (!config || config->type != VALUE_MAP) {
        model_pihole_refuse(call, 400, "body_error", "No \"config\" object in body data", NULL);
        return;
    }
    if (call->pihole->switches.read_only) {
        model_pihole_refuse(call, 403, "forbidden", "The config is currently in read-only mode",
                            NULL);
        return;
    }
    model_pihole_lists_copy(&wanted, model_pihole_base(call));
    if (patch_lists(call, config, &wanted) && is_tried(call, &wanted)) {
        if (!lists_equal(&wanted, model_pihole_base(call)))
            model_pihole_store(call, &wanted, wants_restart(call));
        answer_config(call, "");
    }
    model_pihole_lists_done(&wanted);
}

// The list whose element the path names; PIHOLE_LISTS: none.
static int element_list(const struct pihole_call *call)
{
    static const char *const names[PIHOLE_LISTS] = {
        [PIHOLE_HOSTS] = "hosts", [PIHOLE_CNAMES] = "cnameRecords"};
    for (int list = 0; list < PIHOLE_LISTS; list++)
        if (call->segment_count == 4 && !strcmp(call->segments[1], "dns") &&
            !strcmp(call->segments[2], names[list]))
            return list;
    return PIHOLE_LISTS;
}

static bool put(struct pihole_call *call, enum pihole_list list, struct pihole_lists *wanted)
{
    AUTO_BUFFER hint = {0};
    const char *element = call->segments[3];
    struct entries *entries = &wanted->of[list];
    autofree char *normal = model_pihole_normal(list, element);
    if (model_entries_find(entries, element) != SIZE_MAX) {
        buffer_add_text(&hint, "Uniqueness of items is enforced");
        return refuse_with(call, "Item already present", &hint);
    }
    model_entries_add(entries, strpbrk(element, "\r\n") ? element : normal);
    return model_pihole_check(list, entries, &hint) || refuse_with(call, "Invalid value", &hint);
}

static bool drop(struct pihole_call *call, enum pihole_list list, struct pihole_lists *wanted)
{
    size_t at = model_entries_find(&wanted->of[list], call->segments[3]);
    if (at == SIZE_MAX) {
        model_pihole_answer(call, 404, NULL);
        return false;
    }
    model_entries_drop(&wanted->of[list], at);
    return true;
}

static void change_element(struct pihole_call *call, enum pihole_list list)
{
    struct pihole_lists wanted = {0};
    bool is_put = !strcmp(call->request->method, "PUT");
    model_pihole_lists_copy(&wanted, model_pihole_base(call));
    bool is_ok = is_put ? put(call, list, &wanted) : drop(call, list, &wanted);
    if (is_ok && is_tried(call, &wanted)) {
        model_pihole_store(call, &wanted, wants_restart(call));
        if (is_put)
            model_pihole_answer(call, 201, NULL);
        else
            model_pihole_answer_empty(call, 204);
    }
    model_pihole_lists_done(&wanted);
}

static void change_at_path(struct pihole_call *call)
{
    AUTO_BUFFER hint = {0};
    int list = element_list(call);
    if (call->segment_count < 3) {
        buffer_printf(&hint,
                      "Use, e.g., %s /api/config/dns/upstreams/127.0.0.1 to %s \"127.0.0.1\" %s "
                      "config.dns.upstreams",
                      call->request->method,
                      !strcmp(call->request->method, "PUT") ? "add" : "remove",
                      !strcmp(call->request->method, "PUT") ? "to" : "from");
        refuse_with(call, "Invalid path depth", &hint);
    } else if (list == PIHOLE_LISTS) {
        model_pihole_answer(call, 404, NULL);
    } else if (call->pihole->switches.forced[list]) {
        buffer_add_text(&hint, model_pihole_list_keys[list]);
        refuse_with(call, FORCED, &hint);
    } else {
        change_element(call, (enum pihole_list)list);
    }
}

void model_pihole_config(struct pihole_call *call)
{
    bool is_get = !strcmp(call->request->method, "GET");
    if (!model_pihole_is_let_in(call))
        return;
    if (is_get)
        get(call);
    else if (call->session && call->session->is_app && !call->pihole->switches.app_sudo)
        model_pihole_refuse(
            call, 403, "forbidden", "Unable to change configuration (read-only)",
            "The current app session is not allowed to modify Pi-hole config settings "
            "(webserver.api.app_sudo is false)");
    else if (!strcmp(call->request->method, "PATCH"))
        patch(call);
    else
        change_at_path(call);
}
