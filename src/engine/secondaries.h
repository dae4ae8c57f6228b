#pragma once

#include "base/log.h"
#include "dns/zones_config.h"
#include "engine/controller.h"
#include "engine/published.h"
#include "io/world.h"

// The secondaries of our zones. Each new version of a zone is announced to the servers of its group
// at once (NOTIFY, RFC 1996), and again until they transfer it; those that may be probed are asked
// which serial they answer. Their answers are reported as views. Resident, owned by the engine.

struct secondaries;
struct secondaries_options {
    const struct world *world;
    struct log *log;
    struct published *published; // what they fetched
    // The views of a zone have changed. Never called from within a function of this header.
    void (*reported)(void *context, struct dname apex);
    void *context;
};
struct secondaries *secondaries_new(const struct secondaries_options *options);
void secondaries_free(struct secondaries *secondaries); // accepts NULL; ends all exchanges
// Replaces the configuration that names the servers (NULL: none). Borrowed.
void secondaries_set_config(struct secondaries *secondaries, const struct zones_config *config);
// Only the leader sends anything to servers; a new leader announces every zone.
void secondaries_lead(struct secondaries *secondaries, bool is_leading);

// A version is served: announces it to its servers. The same serial again changes nothing.
void secondaries_notify(struct secondaries *secondaries, const char *group,
                        const struct zone *zone);
// No version of the zone may be served now: it is not announced until one is served again.
void secondaries_pause(struct secondaries *secondaries, struct dname apex);
void secondaries_forget(struct secondaries *secondaries, struct dname apex);
// A server asked for the zone: it is not announced to it again, and its serial is probed soon.
void secondaries_handle_sign(struct secondaries *secondaries, const struct published_sign *sign);
// The group whose servers follow the zone, as announced last; NULL: none.
const char *secondaries_group(const struct secondaries *secondaries, struct dname apex);
// Borrowed until the next call that changes them.
size_t secondaries_views(const struct secondaries *secondaries, struct dname apex,
                         const struct server_view **views);
// Samples of the families signpost_backend_*, each server a backend.
void secondaries_write_requests(const struct secondaries *secondaries, struct buffer *out);
void secondaries_write_seconds(const struct secondaries *secondaries, struct buffer *out);
void secondaries_write_in_flight(const struct secondaries *secondaries, struct buffer *out);
