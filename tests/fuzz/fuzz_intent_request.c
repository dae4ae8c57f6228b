#include "base/must.h"
#include "frontends/intent/body.h"
#include "frontends/intent/body_secrets.h"
#include "frontends/intent/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

enum { OCTETS_MAX = 64 * 1024 };

// A path that is one is found again as it is written.
static void check_path(struct arena *arena, const struct route *route)
{
    struct route again;
    AUTO_BUFFER path = {0};
    bool is_item = route->action != ROUTE_LIST;
    if (route->action == ROUTE_OPENAPI)
        return;
    route_write_path(&path, route->resource, route->names, is_item);
    must(route_parse(arena, path.at, &again, NULL));
    must(again.resource == route->resource && again.name_count == route->name_count);
    for (size_t i = 0; i < route->name_count; i++)
        must(text_equal(again.names[i], route->names[i]));
}

// What is taken of a body is shown so that it would be taken again.
static void check_body(struct arena *arena, enum resource_id id, const char *type, struct text body)
{
    struct body read;
    struct body again;
    struct error err = {0};
    struct body_faults faults = {.arena = arena};
    AUTO_BUFFER shown = {0};
    struct value *data = value_make(arena, VALUE_MAP);
    if (!body_read(arena, &resources[id], type, body, OCTETS_MAX, &read, &faults, &err)) {
        must(err.status == 400 || err.status == 413 || err.status == 422);
        return;
    }
    if (faults.count || !read.name.len)
        return;
    value_write_json(&shown, body_view(arena, &resources[id], read.name, read.fields));
    must(body_read(arena, &resources[id], NULL, buffer_text(&shown), SIZE_MAX, &again, &faults,
                   &err));
    must(!faults.count && text_equal(again.name, read.name));
    body_secrets_take(arena, id, read.name, "x-credentials", read.fields, NULL, data, &faults);
    body_secrets_mask(arena, id, "x-credentials", read.fields);
}

// The first line is the target, the second the type of the body, which is the rest.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct route route;
    struct error err = {0};
    struct text rest = {(const char *)at, len};
    struct text target = {0};
    struct text type = {0};
    if (!text_cut(&rest, '\n', &target) || !text_cut(&rest, '\n', &type))
        return 0;
    if (!route_parse(arena, arena_copy(arena, target.at, target.len), &route, &err)) {
        must(err.status == 400 || err.status == 404);
        return 0;
    }
    check_path(arena, &route);
    if (route.action <= ROUTE_ITEM)
        check_body(arena, route.resource, arena_copy(arena, type.at, type.len), rest);
    return 0;
}
