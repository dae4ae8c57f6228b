#pragma once

#include "base/log.h"
#include "dns/zones_config.h"
#include "engine/controller.h"
#include "engine/published.h"
#include "io/world.h"

// The servers that follow us: each new version of a zone is told to the servers of its group at
// once (NOTIFY, RFC 1996) and again until they come for it, and those that may be probed are asked
// which serial they answer. What they say is told as views. Resident, owned by the engine.

struct secondaries;
struct secondaries_options {
    const struct world *world;
    struct log *log;
    struct published *published; // what they fetched
    // The views of a zone have changed. Not from within a call of ours.
    void (*heard)(void *context, struct dname apex);
    void *context;
};
struct secondaries *secondaries_new(const struct secondaries_options *options);
void secondaries_free(struct secondaries *secondaries); // accepts NULL; ends all exchange
// The servers are those of this configuration from now on (NULL: none); it is borrowed.
void secondaries_set_config(struct secondaries *secondaries, const struct zones_config *config);
// Only who leads talks to servers; one that comes to lead tells them of every zone.
void secondaries_lead(struct secondaries *secondaries, bool is_leading);

// A version is served: its servers are to know. The same serial again is no news.
void secondaries_tell(struct secondaries *secondaries, const char *group, const struct zone *zone);
// Nothing of it may be answered: its servers are not told of it until a version is served again.
void secondaries_hush(struct secondaries *secondaries, struct dname apex);
void secondaries_forget(struct secondaries *secondaries, struct dname apex);
// A server has come: told no more, and asked soon what it answers.
void secondaries_see(struct secondaries *secondaries, const struct published_sign *sign);
// Whose servers those are: as told last; NULL: no group's.
const char *secondaries_group(const struct secondaries *secondaries, struct dname apex);
// Borrowed until the next call that changes them.
size_t secondaries_views(const struct secondaries *secondaries, struct dname apex,
                         const struct server_view **views);
// Samples of the families signpost_backend_*, each server a backend.
void secondaries_write_requests(const struct secondaries *secondaries, struct buffer *out);
void secondaries_write_seconds(const struct secondaries *secondaries, struct buffer *out);
void secondaries_write_in_flight(const struct secondaries *secondaries, struct buffer *out);
