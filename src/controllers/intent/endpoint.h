#pragma once

#include "controllers/intent/resolve.h"
#include "kinds/dnsendpoint/dnsendpoint_kind.h"

// What is published of one service by one DNS update record: the record sets of its name, which
// stand in one DNSEndpoint, and what people are told of them. Everything lives in the arena.

enum { ENDPOINT_SETS_MAX = 2 }; // A and AAAA, or a CNAME

struct intent_endpoint {
    const struct resolved_service *service;
    const struct resolved_record *record;
    const char *object; // name of the DNSEndpoint
    struct endpoint sets[ENDPOINT_SETS_MAX];
    size_t set_count; // 0: nothing is to be written
    // INVALID, CONFLICT and ADDRESS_PENDING have no sets; HELD has those that stood before; WRITTEN
    // is all that is known yet of the others.
    enum published_name_state state;
    enum reason reason;
    const char *message;
    bool is_mixed;             // some targets are left out (MixedTargets)
    const struct object *seen; // the DNSEndpoint as it stands; NULL: there is none
    size_t seen_at;            // then which of those seen it is
    struct dnsendpoint there;  // and what it says
};

struct endpoint_context {
    struct model_reader *reader;
    const struct resolved *resolved;
    const struct object *publication;
    const struct object *
        *seen; // DNSEndpoints of the publication, as endpoints_sort_seen() has them
    size_t seen_count;
    int64_t now_s;
};
void endpoints_sort_seen(const struct object **seen, size_t count);
// One for each service and record that are published together, also those that cannot be.
struct intent_endpoint *endpoints_make(const struct endpoint_context *context, size_t *count);

// The object as it is to be; its text is the same as long as what it says is (arena).
struct value *endpoint_tree(const struct endpoint_context *context,
                            const struct intent_endpoint *endpoint);
// Does the object that was seen say what it is to say?
bool endpoint_stands(const struct endpoint_context *context,
                     const struct intent_endpoint *endpoint);
// When the addresses that are held go (Unix); 0: never, or none is held.
int64_t endpoint_held_until(const struct endpoint_context *context,
                            const struct intent_endpoint *endpoint);
