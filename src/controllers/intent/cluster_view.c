#include "controllers/intent/cluster_view.h"

#include "base/hash.h"
#include "controllers/intent/edge_cluster.h"
#include "kinds/node/node_kind.h"

enum { ANSWER_MS = 15 * 1000 };

struct cluster_view *cluster_views_make(struct model_reader *reader, const struct snapshot *in,
                                        const struct resolved *resolved)
{
    struct cluster_view *views =
        arena_new_array(reader->arena, struct cluster_view, resolved->cluster_count + 1);
    for (size_t i = 0; i < resolved->cluster_count; i++)
        views[i] = (struct cluster_view){
            .reader = reader, .in = in, .resolved = resolved, .cluster = &resolved->clusters[i]};
    return views;
}

// ---- the question -------------------------------------------------------------------------------

static bool is_remote(const struct cluster_view *view)
{
    return view->cluster->is_there && edgecluster_is_remote(&view->cluster->edge);
}

static const char *object_name_of(const struct cluster_view *view)
{
    const struct cluster_reference *reference = view->cluster->reference;
    return edgecluster_object_name(view->reader->arena, reference->provider, reference->cluster);
}

// The question for a cluster's addresses. Its epoch changes when the cluster comes into reach, and
// when people want all inputs to be read again, so that it is asked at once.
static struct question question_of(const struct cluster_view *view)
{
    struct arena *arena = view->reader->arena;
    struct value *about = value_make(arena, VALUE_MAP);
    const uint64_t epoch[] = {view->cluster->reach, (uint64_t)view->resolved->publication.update};
    value_put(arena, about, "namespace", value_make_text(arena, view->resolved->service_namespace));
    return (struct question){
        .backend = edge_cluster_backend(arena, text_of(object_name_of(view))),
        .name = "addresses",
        .about = about,
        .good_for_ms = ANSWER_MS,
        .epoch = hash_octets(epoch, sizeof epoch),
    };
}

void cluster_views_ask(const struct cluster_view *views, size_t count, struct decision *out)
{
    for (size_t i = 0; i < count; i++)
        if (views[i].is_looked_at && is_remote(&views[i]))
            *decision_add_question(out, views[i].reader->arena) = question_of(&views[i]);
}

// ---- what is known ------------------------------------------------------------------------------

static const char *silence_text(const struct cluster_view *view)
{
    return arena_printf(view->reader->arena,
                        "cluster %s has not been read yet: the condition Reachable of EdgeCluster "
                        "%s says whether it can be",
                        view->cluster->shown, object_name_of(view));
}

static const char *failure_text(const struct cluster_view *view, const struct answer_view *answer)
{
    return arena_printf(view->reader->arena, "cluster %s cannot be read: %s", view->cluster->shown,
                        answer->error ? answer->error->text : "its answer is too large");
}

static void look_at(struct cluster_view *view)
{
    if (view->is_looked_at)
        return;
    view->is_looked_at = true;
    if (!is_remote(view))
        return;
    const struct question question = question_of(view);
    const struct answer_view *answer =
        snapshot_answer(view->in, question.backend, question.name, question.about);
    if (!answer || !answer->answered_ms)
        view->unreadable = silence_text(view);
    else if (!answer->is_ok || !answer->value)
        view->unreadable = failure_text(view, answer);
    else
        view->answer = answer->value;
}

const char *cluster_view_unreadable(struct cluster_view *view)
{
    look_at(view);
    return view->unreadable;
}

static const struct text *list_of(const struct cluster_view *view, const struct value *map,
                                  const char *key, size_t *count)
{
    const struct value *list = value_list_at(map, key);
    struct text *items = arena_new_array(view->reader->arena, struct text, value_count(list) + 1);
    *count = 0;
    value_each (item, list)
        items[(*count)++] = value_text(item);
    return items;
}

// ---- Services -----------------------------------------------------------------------------------

static bool find_local_service(struct cluster_view *view, struct text name,
                               struct service_addresses *out)
{
    const struct object *object =
        model_find(view->reader, &service_kind, view->resolved->service_namespace, name);
    if (object)
        service_addresses_unpack(view->reader->arena, object_spec(object), out);
    return object;
}

static bool find_answered_service(struct cluster_view *view, struct text name,
                                  struct service_addresses *out)
{
    value_each (service, value_list_at(view->answer, "services")) {
        if (!text_equal(value_text_at(service, "name"), name))
            continue;
        *out = (struct service_addresses){.type = value_text_at(service, "type")};
        out->cluster_ips = list_of(view, service, "clusterIPs", &out->cluster_ip_count);
        out->ips = list_of(view, service, "ips", &out->ip_count);
        out->hostnames = list_of(view, service, "hostnames", &out->hostname_count);
        return true;
    }
    return false;
}

bool cluster_view_service(struct cluster_view *view, struct text name,
                          struct service_addresses *out)
{
    look_at(view);
    return view->cluster->edge.is_local ? find_local_service(view, name, out)
                                        : find_answered_service(view, name, out);
}

// ---- Nodes --------------------------------------------------------------------------------------

struct node_addresses {
    struct arena *arena;
    struct text *items;
    size_t count;
    size_t capacity;
};

static void add_address(struct node_addresses *out, struct text address)
{
    arena_reserve(out->arena, &out->items, &out->capacity, out->count + 1);
    out->items[out->count++] = address;
}

static void add_local_node(struct node_addresses *out, const struct object *object,
                           const char *type)
{
    struct node node;
    node_unpack(out->arena, object_spec(object), &node);
    for (size_t i = 0; node.is_ready && !node.is_unschedulable && i < node.address_count; i++)
        if (text_is(node.addresses[i].type, type))
            add_address(out, node.addresses[i].address);
}

static void list_local_nodes(struct cluster_view *view, struct node_addresses *out,
                             const char *type)
{
    size_t count;
    const struct object *const *nodes = model_nodes(view->reader, &count);
    for (size_t i = 0; i < count; i++)
        add_local_node(out, nodes[i], type);
}

static void list_answered_nodes(const struct cluster_view *view, struct node_addresses *out,
                                const char *type)
{
    const char *key = text_is(TEXT("ExternalIP"), type) ? "externalIPs" : "internalIPs";
    value_each (node, value_list_at(view->answer, "nodes"))
        value_each (address, value_list_at(node, key))
            add_address(out, value_text(address));
}

static const char *nodes_unreadable(const struct cluster_view *view)
{
    struct text why = value_text_at(view->answer, "nodesUnreadable");
    return why.len
               ? arena_printf(view->reader->arena, "the Nodes of cluster %s cannot be read: %.*s",
                              view->cluster->shown, TEXT_ARGS(why))
               : NULL;
}

const struct text *cluster_view_nodes(struct cluster_view *view, const char *type, size_t *count,
                                      const char **unreadable)
{
    struct node_addresses out = {.arena = view->reader->arena};
    look_at(view);
    if (view->cluster->edge.is_local)
        list_local_nodes(view, &out, type);
    else
        list_answered_nodes(view, &out, type);
    *unreadable = nodes_unreadable(view);
    *count = out.count;
    return out.items;
}
