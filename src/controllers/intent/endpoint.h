#pragma once

#include "controllers/intent/cluster_view.h"
#include "controllers/intent/resolve.h"
#include "kinds/dnsendpoint/dnsendpoint_kind.h"

// What is published of one service by one DNS update record: the record sets of its name, which
// stand in one DNSEndpoint, and what people are told of them. Everything lives in the arena.

enum { ENDPOINT_SETS_MAX = 2 }; // A and AAAA, or a CNAME

// A DNSEndpoint of the publication, as it stands.
struct standing_endpoint {
    const struct object *object;
    struct dnsendpoint says;
};
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
    const char *invalid_target; // one of the targets cannot be one; NULL: all can
    const char *doubted;        // one of the targets, likely a mistake (PrivateTarget); or NULL
    bool is_mixed;              // some targets are left out (MixedTargets)
    bool is_left_out;           // all are, as the name has others in the record
    bool is_unknown;            // a cluster that may have more targets could not be asked
    const struct standing_endpoint *standing; // the DNSEndpoint of that name; NULL: there is none
    // The sets of the standing DNSEndpoint, or, where there is none or it is empty, those that the
    // status has of the name. They are looked for only where addresses may be missing.
    struct endpoint before[ENDPOINT_SETS_MAX];
    size_t before_count;
    int64_t held_since_s; // since when these are held (Unix); 0: they are not
};

struct endpoint_context {
    struct model_reader *reader;
    const struct resolved *resolved;
    struct cluster_view *clusters; // of the resolved, in their order
    const struct object *publication;
    const struct dnspublication_status *before;
    struct standing_endpoint *standing; // DNSEndpoints of the publication, by namespace and name
    size_t standing_count;
    const char *project_label; // values of labels that all of them have
    const char *publication_label;
    int64_t now_s;
};
// Fills in all but what the caller gives: reader, resolved, publication, status and time.
void endpoint_context_open(struct endpoint_context *context, const struct input_objects *found);
// One for each service and record that are published together, also those that cannot be.
struct intent_endpoint *endpoints_make(const struct endpoint_context *context, size_t *count);

// Tells of targets that are left out, unless there is worse to tell (endpoint_mixed.c).
void endpoint_explain_mixed(struct intent_endpoint *endpoint);
// Leaves host names out where the name has addresses, too, or another host name, in the same
// record.
void endpoints_leave_out_mixed(struct arena *arena, struct intent_endpoint *all, size_t count);

// Gives the endpoint up: nothing is to be written, and people are told why.
void endpoint_give_up(struct intent_endpoint *endpoint, enum published_name_state state,
                      enum reason reason, const char *message);
// The DNSEndpoints of an input, with what they say, in its order.
struct standing_endpoint *endpoints_unpack(struct arena *arena, const struct input_objects *found);

// Puts targets in order, each once; returns how many are left.
size_t endpoint_sort_targets(struct text *items, size_t count);
// The object as it is to be; its text is the same as long as what it says is (arena).
struct value *endpoint_tree(const struct endpoint_context *context,
                            const struct intent_endpoint *endpoint);
// Does the object that was seen say what it is to say?
bool endpoint_stands(const struct endpoint_context *context,
                     const struct intent_endpoint *endpoint);
// When the addresses that are held go (Unix); 0: never, or none is held.
int64_t endpoint_held_until(const struct endpoint_context *context,
                            const struct intent_endpoint *endpoint);
