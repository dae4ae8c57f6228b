#include <stdlib.h>
#include <string.h>

#include "controllers/intent/endpoint.h"

// A name that several clusters or services have in one record. Addresses of one that are only held
// go while another one has some that are seen. Some may have an address and others a host name, or
// several host names: a server takes only one of those.

static bool is_alias(const struct intent_endpoint *endpoint)
{
    return text_is(endpoint->sets[0].type, "CNAME");
}

static int compare_endpoints(const void *a, const void *b)
{
    const struct intent_endpoint *left = *(const struct intent_endpoint *const *)a;
    const struct intent_endpoint *right = *(const struct intent_endpoint *const *)b;
    int order = strcmp(left->record->label, right->record->label);
    if (!order)
        order = text_compare(left->service->name, right->service->name);
    return order ? order : (left > right) - (left < right);
}

static bool may_stand_beside(const struct intent_endpoint *first,
                             const struct intent_endpoint *other)
{
    if (!is_alias(first) || !is_alias(other))
        return is_alias(first) == is_alias(other);
    return text_equal(first->sets[0].targets[0], other->sets[0].targets[0]);
}

static void leave_out(struct intent_endpoint *endpoint)
{
    endpoint->is_left_out = true;
    endpoint->set_count = 0;
    endpoint->state = NAME_WRITTEN;
    endpoint->reason = REASON_NONE;
}

static bool has_seen(struct intent_endpoint *const *endpoints, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (endpoints[i]->state != NAME_HELD)
            return true;
    return false;
}

static size_t drop_held(struct intent_endpoint **endpoints, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct intent_endpoint *endpoint = endpoints[i];
        if (endpoint->state != NAME_HELD) {
            endpoints[kept++] = endpoint;
            continue;
        }
        endpoint->set_count = 0;
        endpoint->state = endpoint->invalid_target ? NAME_INVALID : NAME_ADDRESS_PENDING;
        if (!endpoint->invalid_target)
            endpoint->reason = REASON_ADDRESS_PENDING;
    }
    return kept;
}

// Settles the endpoints that have one name in one record.
static void settle_name(struct intent_endpoint **endpoints, size_t count)
{
    if (has_seen(endpoints, count))
        count = drop_held(endpoints, count);
    struct intent_endpoint *first = endpoints[0];
    for (size_t i = 1; i < count && is_alias(first); i++)
        if (!is_alias(endpoints[i]))
            first = endpoints[i];
    for (size_t i = 0; i < count; i++)
        if (!may_stand_beside(first, endpoints[i])) {
            first->is_mixed = true;
            leave_out(endpoints[i]);
        }
    endpoint_explain_mixed(first);
}

static bool is_same_name(const struct intent_endpoint *a, const struct intent_endpoint *b)
{
    return !strcmp(a->record->label, b->record->label) &&
           text_equal(a->service->name, b->service->name);
}

void endpoint_explain_mixed(struct intent_endpoint *endpoint)
{
    if (!endpoint->is_mixed || !endpoint->set_count || endpoint->reason)
        return;
    endpoint->reason = REASON_MIXED_TARGETS;
    endpoint->message =
        is_alias(endpoint)
            ? "there are several host names, and a name has one: the first is published"
            : "there are addresses and host names: the addresses are published";
}

void endpoints_leave_out_mixed(struct arena *arena, struct intent_endpoint *all, size_t count)
{
    size_t used = 0;
    struct intent_endpoint **sorted = arena_new_array(arena, struct intent_endpoint *, count + 1);
    for (size_t i = 0; i < count; i++)
        if (all[i].set_count)
            sorted[used++] = &all[i];
    if (used)
        qsort(sorted, used, sizeof *sorted, compare_endpoints);
    for (size_t begin = 0, end; begin < used; begin = end) {
        for (end = begin + 1; end < used && is_same_name(sorted[begin], sorted[end]); end++)
            continue;
        if (end - begin > 1)
            settle_name(sorted + begin, end - begin);
    }
}
