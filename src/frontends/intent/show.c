#include <stdlib.h>

#include "frontends/intent/body_secrets.h"
#include "frontends/intent/call.h"

// Answers to GET.

static const struct engine *engine_of(const struct call *call)
{
    return call_options(call)->engine;
}

struct value *call_view(struct call *call, enum resource_id id, struct text name,
                        const struct value *map, const struct object *object)
{
    struct value *copy = value_copy(call->arena, map);
    body_secrets_mask(call->arena, id, body_secrets_name(call->arena, object_name(object)), copy);
    return body_view(call->arena, &resources[id], name, copy);
}

void call_answer_missing(struct call *call)
{
    enum resource_id missing = call->route.resource;
    place_has_parents(engine_of(call), call->arena, missing, call->route.names, &missing);
    call_answer_text(call, 404, resources[missing].not_found, NULL);
}

// ---- lists --------------------------------------------------------------------------------------

static const char *next_link(const struct call *call, struct text last)
{
    AUTO_BUFFER link = {0};
    buffer_add_char(&link, '<');
    route_write_path(&link, call->route.resource, call->route.names, false);
    buffer_printf(&link, "?limit=%lld&continue=%.*s>; rel=\"next\"", (long long)call->route.limit,
                  TEXT_ARGS(last));
    return arena_copy(call->arena, link.at, link.len);
}

void call_show_list(struct call *call)
{
    size_t count;
    const struct route *route = &call->route;
    struct value *list = value_make(call->arena, VALUE_LIST);
    const char *link = NULL;
    if (!place_has_parents(engine_of(call), call->arena, route->resource, route->names, NULL)) {
        call_answer_missing(call);
        return;
    }
    const struct place_item *items =
        place_list(engine_of(call), call->arena, route->resource, route->names, &count);
    for (size_t i = 0; i < count; i++) {
        if (route->after.len && text_compare(items[i].name, route->after) <= 0)
            continue;
        if (route->limit && list->count == (size_t)route->limit) {
            link = next_link(call, items[i - 1].name);
            break;
        }
        value_append(list, call_view(call, route->resource, items[i].name, items[i].map,
                                     items[i].place.object));
    }
    call_answer_tree(call, 200, list, NULL, link);
}

// ---- composite apps -----------------------------------------------------------------------------

static struct text coordinate(const struct place_item *item, const char *name)
{
    return value_text_at(item->map, name);
}

static int compare_apps(const void *a, const void *b)
{
    int order = text_compare(coordinate(a, "compositeApp"), coordinate(b, "compositeApp"));
    return order ? order : text_compare(coordinate(a, "version"), coordinate(b, "version"));
}

static struct value *view_app(struct arena *arena, const struct place_item *item)
{
    struct value *view =
        body_view(arena, &resources[RESOURCE_PROJECT], coordinate(item, "compositeApp"), NULL);
    value_put(arena, view, "spec.compositeAppVersion",
              value_make_text(arena, coordinate(item, "version")));
    return view;
}

void call_show_apps(struct call *call)
{
    size_t count;
    struct value *list = value_make(call->arena, VALUE_LIST);
    const struct text names[RESOURCE_NAMES_MAX] = {call->route.names[0]};
    if (!place_has_parents(engine_of(call), call->arena, RESOURCE_GROUP, names, NULL)) {
        call_answer_missing(call);
        return;
    }
    struct place_item *items =
        place_list(engine_of(call), call->arena, RESOURCE_GROUP, names, &count);
    if (count)
        qsort(items, count, sizeof *items, compare_apps);
    for (size_t i = 0; i < count; i++)
        if (!i || compare_apps(&items[i - 1], &items[i]))
            value_append(list, view_app(call->arena, &items[i]));
    call_answer_tree(call, 200, list, NULL, NULL);
}

// ---- items --------------------------------------------------------------------------------------

static bool find_item(struct call *call, struct place *out)
{
    const struct route *route = &call->route;
    bool has_parents =
        place_has_parents(engine_of(call), call->arena, route->resource, route->names, NULL);
    if (has_parents)
        place_find(engine_of(call), call->arena, route->resource, route->names, out);
    if (has_parents && out->is_there)
        return true;
    call_answer_missing(call);
    return false;
}

// The value of one key of a cluster's set, as EMCO's templates ask for it.
static void show_value(struct call *call, const struct value *map)
{
    struct value *answer = value_make(call->arena, VALUE_MAP);
    value_each (pairs, value_list_at(map, "kv")) {
        const struct value *found =
            pairs->type == VALUE_MAP ? value_find_text(pairs, call->route.key) : NULL;
        if (!found)
            continue;
        value_set(answer, TEXT("value"), value_copy(call->arena, found));
        call_answer_tree(call, 200, answer, NULL, NULL);
        return;
    }
    call_answer_text(call, 404, "Cluster KV pair key value not found", NULL);
}

void call_show_item(struct call *call)
{
    struct place place;
    const struct route *route = &call->route;
    if (!find_item(call, &place))
        return;
    if (route->key.at && route->resource == RESOURCE_CLUSTER_PAIRS) {
        show_value(call, place.map);
        return;
    }
    call_answer_tree(call, 200,
                     call_view(call, route->resource, route->names[route->name_count - 1],
                               place.map, place.object),
                     NULL, NULL);
}

// ---- status -------------------------------------------------------------------------------------

// An object holds the first names only; the others stand nowhere but in memory.
static void add_further_names(struct call *call, struct value *status)
{
    struct place place;
    if ((int64_t)value_count(value_find(status, "names")) >= value_int_at(status, "namesTotal", 0))
        return;
    place_find(engine_of(call), call->arena, call->route.resource, call->route.names, &place);
    const struct value *all = engine_decide_status(call_options(call)->engine, &place.key);
    if (!all)
        return;
    value_put(call->arena, status, "names", value_copy(call->arena, value_find(all, "names")));
    value_put_int(call->arena, status, "namesTotal", value_int_at(all, "namesTotal", 0));
}

static void status_came(void *context, const struct store_reply *reply)
{
    struct call *call = context;
    struct value *answer = value_make(call->arena, VALUE_MAP);
    struct value *status = value_find(reply->is_ok ? reply->tree : NULL, "status");
    struct text name = call->route.names[call->route.name_count - 1];
    if (!reply->is_ok && reply->error.status == 404) {
        call_answer_missing(call);
        return;
    }
    if (!reply->is_ok) {
        call_answer_store(call, &reply->error);
        return;
    }
    status = status ? value_copy(call->arena, status) : value_make(call->arena, VALUE_MAP);
    if (call->route.resource == RESOURCE_GROUP && !value_find(status, "state"))
        value_put_text(call->arena, status, "state", "Created");
    add_further_names(call, status);
    value_put(call->arena, answer, "metadata.name", value_make_text(call->arena, name));
    value_set(answer, TEXT("status"), status);
    call_answer_tree(call, 200, answer, NULL, NULL);
}

void call_show_status(struct call *call)
{
    struct place place;
    if (find_item(call, &place))
        engine_get_object(call_options(call)->engine, &place.key, status_came, call);
}
