#include "frontends/intent/route.h"

#include <string.h>

#include "kinds/clusterprovider/clusterprovider_kind.h"
#include "kinds/dnspublication/dnspublication_kind.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord.h"
#include "kinds/edgecluster/edgecluster_kind.h"
#include "kinds/emco_name.h"
#include "kinds/logicalcloud/logicalcloud_kind.h"
#include "kinds/namespace/namespace_kind.h"
#include "kinds/trafficgroupintent/trafficgroupintent_kind.h"

enum { SEGMENTS_MAX = 16, TARGET_OCTETS_MAX = 4096 };

#define CLOUD "projects/*/logical-clouds"
#define CLUSTER "cluster-providers/*/clusters"
#define GROUP "projects/*/composite-apps/*/*/deployment-intent-groups"

static const char *const record_actions[] = {"status", NULL};
static const char *const group_actions[] = {"approve", "instantiate", "terminate",
                                            "update",  "status",      NULL};

const struct resource resource_project = {
    .pattern = "projects",
    .kind = &namespace_kind,
    .exists = "Project already exists",
    .not_found = "Project not found",
    .is_strict = true,
};
const struct resource resource_record = {
    .pattern = "projects/*/dns-update-records",
    .kind = &dnsupdaterecord_kind,
    .parent = &resource_project,
    .exists = "DNS update record already exists",
    .not_found = "DNS update record not found",
    .is_strict = true,
    .actions = record_actions,
};
const struct resource resource_cloud = {
    .pattern = CLOUD,
    .kind = &logicalcloud_kind,
    .parent = &resource_project,
    .exists = "Logical Cloud already exists",
    .not_found = "Logical Cloud not found",
};
const struct resource resource_cloud_pairs = {
    .pattern = CLOUD "/*/kv-pairs",
    .form = RESOURCE_ENTRY,
    .kind = &logicalcloud_kind,
    .list = "kvPairs",
    .parent = &resource_cloud,
    .exists = "Key Value already exists",
    .not_found = "Key Value not found",
    .is_strict = true,
};
const struct resource resource_reference = {
    .pattern = CLOUD "/*/cluster-references",
    .form = RESOURCE_ENTRY,
    .kind = &logicalcloud_kind,
    .list = "clusterReferences",
    .parent = &resource_cloud,
    .exists = "Cluster reference already exists",
    .not_found = "Cluster reference not found",
};
const struct resource resource_provider = {
    .pattern = "cluster-providers",
    .kind = &clusterprovider_kind,
    .exists = "Cluster provider already exists",
    .not_found = "Cluster provider not found",
};
const struct resource resource_cluster = {
    .pattern = CLUSTER,
    .kind = &edgecluster_kind,
    .parent = &resource_provider,
    .exists = "Cluster already exists",
    .not_found = "Cluster not found",
};
const struct resource resource_cluster_pairs = {
    .pattern = CLUSTER "/*/kv-pairs",
    .form = RESOURCE_ENTRY,
    .kind = &edgecluster_kind,
    .list = "kvPairs",
    .parent = &resource_cluster,
    .exists = "Cluster KV Pair already exists",
    .not_found = "Cluster key value pair not found",
    .is_strict = true,
};
const struct resource resource_label = {
    .pattern = CLUSTER "/*/labels",
    .form = RESOURCE_WORD,
    .kind = &edgecluster_kind,
    .list = "labels",
    .parent = &resource_cluster,
    .exists = "Cluster label already exists",
    .not_found = "Cluster label not found",
    .is_strict = true,
};
const struct resource resource_group = {
    .pattern = GROUP,
    .kind = &dnspublication_kind,
    .parent = &resource_project,
    .exists = "DeploymentIntentGroup already exists",
    .not_found = "DeploymentIntentGroup not found",
    .actions = group_actions,
};
const struct resource resource_intent = {
    .pattern = GROUP "/*/traffic-group-intents",
    .kind = &trafficgroupintent_kind,
    .parent = &resource_group,
    .exists = "TrafficGroupIntent already exists",
    .not_found = "Traffic group intent not found",
};
const struct resource resource_inbound = {
    .pattern = GROUP "/*/traffic-group-intents/*/inbound-intents",
    .form = RESOURCE_ENTRY,
    .kind = &trafficgroupintent_kind,
    .list = "inbound",
    .parent = &resource_intent,
    .exists = "ServerInboundIntent already exists",
    .not_found = "Inbound server intent not found",
};

const struct resource *const resources[] = {
    &resource_project,
    &resource_record,
    &resource_cloud,
    &resource_cloud_pairs,
    &resource_reference,
    &resource_provider,
    &resource_cluster,
    &resource_cluster_pairs,
    &resource_label,
    &resource_group,
    &resource_intent,
    &resource_inbound,
    NULL,
};

// ---- percent-encoding ---------------------------------------------------------------------------

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Once, and never to an octet 0.
static bool percent_decode(struct arena *arena, struct text encoded, struct text *out)
{
    char *to = arena_copy(arena, encoded.at, encoded.len);
    size_t len = 0;
    for (size_t i = 0; i < encoded.len; i++) {
        char c = encoded.at[i];
        if (c == '%') {
            int high = i + 2 < encoded.len ? hex_digit(encoded.at[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(encoded.at[i + 2]) : -1;
            c = (char)(16 * high + low);
            if (low < 0 || !c)
                return false;
            i += 2;
        }
        to[len++] = c;
    }
    *out = (struct text){to, len};
    return true;
}

static void percent_encode(struct buffer *out, struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (is_plain || strchr("-_.~", c))
            buffer_add_char(out, c);
        else
            buffer_printf(out, "%%%02X", (unsigned char)c);
    }
}

// ---- segments -----------------------------------------------------------------------------------

struct segments {
    struct text items[SEGMENTS_MAX];
    size_t count;
};

static bool refuse(struct error *err, int status, const char *text)
{
    error_set(err, FAULT_SPEC, "", "%s", text);
    err->status = status;
    return false;
}

static bool add_segment(struct arena *arena, struct segments *out, struct text raw,
                        struct error *err)
{
    struct text piece;
    if (!percent_decode(arena, raw, &piece))
        return refuse(err, 400, "the path has a broken percent-encoding");
    if (!piece.len || text_is(piece, ".") || text_is(piece, ".."))
        return refuse(err, 400, "the path has an empty, \".\" or \"..\" segment");
    if (out->count == SEGMENTS_MAX)
        return refuse(err, 404, "no such path");
    out->items[out->count++] = piece;
    return true;
}

// One slash may stand at the end.
static bool split(struct arena *arena, struct text path, struct segments *out, struct error *err)
{
    struct text piece;
    if (!path.len || path.at[0] != '/')
        return refuse(err, 400, "a path that begins with / is expected");
    path = (struct text){path.at + 1, path.len - 1};
    if (path.len && path.at[path.len - 1] == '/')
        path.len--;
    while (text_cut(&path, '/', &piece))
        if (!add_segment(arena, out, piece, err))
            return false;
    return true;
}

// ---- patterns -----------------------------------------------------------------------------------

static bool is_word(struct text segment, struct text pattern)
{
    return text_equal(segment, pattern) ||
           (text_is(pattern, "projects") && text_is(segment, "project"));
}

static const char *find_action(const struct resource *resource, struct text word)
{
    for (const char *const *action = resource->actions; action && *action; action++)
        if (text_is(word, *action))
            return *action;
    return NULL;
}

// Does the path lead to that collection, to an item of it or to what can be done with one?
static bool matches(const struct resource *resource, const struct segments *path, struct route *out)
{
    struct text pattern = text_of(resource->pattern);
    struct text piece;
    size_t at = 0;
    *out = (struct route){.resource = resource};
    while (text_cut(&pattern, '/', &piece)) {
        if (at == path->count)
            return false;
        if (text_is(piece, "*"))
            out->names[out->name_count++] = path->items[at++];
        else if (!is_word(path->items[at++], piece))
            return false;
    }
    out->is_item = at < path->count;
    if (!out->is_item)
        return true;
    out->names[out->name_count++] = path->items[at++];
    if (at == path->count)
        return true;
    out->action = find_action(resource, path->items[at++]);
    return out->action && at == path->count;
}

static bool find_resource(const struct segments *path, struct route *out)
{
    for (const struct resource *const *resource = resources; *resource; resource++)
        if (matches(*resource, path, out))
            return true;
    return false;
}

// ---- queries ------------------------------------------------------------------------------------

static bool read_query(struct arena *arena, struct text query, struct route *out, struct error *err)
{
    struct text piece;
    while (text_cut(&query, '&', &piece)) {
        struct route_parameter parameter = {0};
        struct text rest = piece;
        struct text name;
        if (!piece.len)
            continue;
        text_cut(&rest, '=', &name);
        if (!percent_decode(arena, name, &parameter.name) ||
            !percent_decode(arena, rest.at ? rest : TEXT(""), &parameter.value))
            return refuse(err, 400, "the query has a broken percent-encoding");
        if (out->parameter_count == ROUTE_PARAMETERS_MAX)
            return refuse(err, 400, "the query has too many parameters");
        out->parameters[out->parameter_count++] = parameter;
    }
    return true;
}

struct text route_parameter(const struct route *route, const char *name)
{
    for (size_t i = 0; i < route->parameter_count; i++)
        if (text_is(route->parameters[i].name, name))
            return route->parameters[i].value;
    return (struct text){0};
}

// ---- routes -------------------------------------------------------------------------------------

static bool check_names(const struct route *route, struct error *err)
{
    for (size_t i = 0; i < route->name_count; i++)
        if (!emco_name_is_valid(route->names[i]))
            return refuse(err, 400,
                          "the path has a name that is not 1 to 128 letters, digits, - _ or . with "
                          "a letter or digit at both ends");
    return true;
}

bool route_read(struct arena *arena, const char *target, struct route *out, struct error *err)
{
    struct segments path = {0};
    struct text query = text_of(target);
    struct text whole;
    *out = (struct route){0};
    if (query.len > TARGET_OCTETS_MAX)
        return refuse(err, 400, "the path and query are longer than 4096 octets");
    if (memchr(query.at, '#', query.len))
        return refuse(err, 400, "a fragment has no place in a request");
    text_cut(&query, '?', &whole);
    if (!split(arena, whole, &path, err))
        return false;
    if (path.count < 2 || !text_is(path.items[0], "v2"))
        return refuse(err, 404, "no such path: all paths begin with /v2");
    path.count--;
    memmove(path.items, path.items + 1, path.count * sizeof *path.items);
    if (path.count == 1 && text_is(path.items[0], "openapi.json"))
        return read_query(arena, query, out, err);
    if (!find_resource(&path, out))
        return refuse(err, 404, "no such path");
    return check_names(out, err) && read_query(arena, query, out, err);
}

void route_write_pattern(struct buffer *out, const struct route *route)
{
    buffer_add_text(out, route->resource ? route->resource->pattern : "openapi.json");
    buffer_add_text(out, route->is_item ? "/*" : "");
    if (route->action)
        buffer_printf(out, "/%s", route->action);
}

void route_write_path(struct buffer *out, const struct route *route, struct text item)
{
    struct text pattern = text_of(route->resource->pattern);
    struct text piece;
    size_t at = 0;
    buffer_add_text(out, "/v2");
    while (text_cut(&pattern, '/', &piece)) {
        buffer_add_char(out, '/');
        if (text_is(piece, "*"))
            percent_encode(out, route->names[at++]);
        else
            buffer_add(out, piece.at, piece.len);
    }
    if (!item.at)
        return;
    buffer_add_char(out, '/');
    percent_encode(out, item);
}
