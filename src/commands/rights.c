#include "commands/rights.h"

#include <string.h>

#include "store/cluster/bearers.h"
#include "store/cluster/kube_events.h"
#include "store/cluster/lease.h"
#include "store/cluster/shards.h"

enum { RIGHTS_MAX = 256 };

static const char *const create[] = {"create", NULL};
static const char *const keep[] = {"get", "watch", "patch", NULL};

static const char *const certificate[] = {RIGHTS_CERTIFICATE_SECRET, NULL};
static const char *const configuration[] = {RIGHTS_ADMISSION_CONFIGURATION, NULL};

static const struct kube_right certificates[] = {
    {.group = "",
     .resource = "secrets",
     .verbs = keep,
     .scope = RIGHT_OWN_NAMESPACE,
     .names = certificate,
     .why = "The certificates that admission is served with."},
    {.group = "",
     .resource = "secrets",
     .verbs = create,
     .scope = RIGHT_OWN_NAMESPACE,
     .why = "The same, the first time; a right to create knows no names."},
    {.group = "admissionregistration.k8s.io",
     .resource = "validatingwebhookconfigurations",
     .verbs = keep,
     .scope = RIGHT_CLUSTER,
     .names = configuration,
     .why = "The caBundle by which the API server knows those certificates."},
    {0},
};

struct list {
    struct arena *arena;
    struct kube_right *items;
    size_t count;
};

static bool is_same_list(const char *const *a, const char *const *b)
{
    if (!a || !b)
        return a == b;
    for (; *a && *b; a++, b++)
        if (strcmp(*a, *b) != 0)
            return false;
    return !*a && !*b;
}

static bool is_same(const struct kube_right *a, const struct kube_right *b)
{
    return a->scope == b->scope && !strcmp(a->group, b->group) &&
           !strcmp(a->resource, b->resource) && is_same_list(a->verbs, b->verbs) &&
           is_same_list(a->names, b->names);
}

static void add_row(struct list *list, const struct kube_right *row)
{
    for (size_t i = 0; i < list->count; i++)
        if (is_same(&list->items[i], row))
            return;
    if (list->count < RIGHTS_MAX)
        list->items[list->count++] = *row;
}

static void add(struct list *list, const struct kube_right *rows)
{
    for (; rows && rows->resource; rows++)
        add_row(list, rows);
}

static void add_controller(struct list *list, const struct rights_needs *needs, size_t at)
{
    const struct kube_right *row = needs->controllers[at]->rights;
    for (; row && row->resource; row++)
        if (!row->is_needed || !needs->settings || row->is_needed(needs->settings[at]))
            add_row(list, row);
    add(list, needs->controllers[at]->keeps_ledgers ? shard_rights : NULL);
}

// Those of the Lease, by the name that it has here.
static void add_lease(struct list *list, const char *name)
{
    const char **names = arena_new_array(list->arena, const char *, 2);
    names[0] = name;
    for (const struct kube_right *right = lease_rights; right->resource; right++) {
        struct kube_right row = *right;
        row.names = row.names ? names : NULL;
        add_row(list, &row);
    }
}

const struct kube_right *rights_make(struct arena *arena, const struct rights_needs *needs)
{
    struct list list = {arena, arena_new_array(arena, struct kube_right, RIGHTS_MAX + 1), 0};
    for (size_t i = 0; i < needs->controller_count; i++)
        add_controller(&list, needs, i);
    add_lease(&list, needs->lease_name);
    for (size_t i = 0; i < needs->controller_count; i++)
        add(&list, needs->controllers[i]->open ? lease_event_rights : NULL);
    add(&list, kube_events_rights);
    add(&list, needs->has_owner_id ? NULL : lease_owner_rights);
    add(&list, needs->keeps_certificates ? certificates : NULL);
    add(&list, needs->judges_bearers ? bearers_rights : NULL);
    return list.items;
}
