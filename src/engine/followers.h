#pragma once

#include "base/log.h"
#include "dns/zones_config.h"
#include "engine/controller.h"
#include "engine/published.h"
#include "io/world.h"

// The servers that follow us: each new version of a zone is told to the servers of its group at
// once (NOTIFY, RFC 1996) and again until they come for it, and those that may be probed are asked
// which serial they answer. What they say is told as views. Resident, owned by the engine.

struct followers;
struct followers_options {
    const struct world *world;
    struct log *log;
    struct published *published; // what they fetched
    // The views of a zone have changed. Not from within a call of ours.
    void (*heard)(void *context, struct dname apex);
    void *context;
};
struct followers *followers_new(const struct followers_options *options);
void followers_free(struct followers *followers); // accepts NULL; ends all talk
// The servers are those of this configuration from now on (NULL: none); it is borrowed.
void followers_set_config(struct followers *followers, const struct zones_config *config);
// Only who leads talks to servers; one that comes to lead tells them of every zone.
void followers_lead(struct followers *followers, bool is_leading);

// A version is served: its servers are to know. The same serial again is no news.
void followers_tell(struct followers *followers, const char *group, const struct zone *zone);
// Nothing of it may be answered: its servers are not told of it until a version is served again.
void followers_hush(struct followers *followers, struct dname apex);
void followers_forget(struct followers *followers, struct dname apex);
// A server has come: told no more, and asked soon what it answers.
void followers_see(struct followers *followers, const struct published_sign *sign);
// Whose servers those are: as told last; NULL: no group's.
const char *followers_group(const struct followers *followers, struct dname apex);
// Borrowed until the next call that changes them.
size_t followers_views(const struct followers *followers, struct dname apex,
                       const struct server_view **views);
// Samples of the families signpost_backend_*, each server a backend.
void followers_write_requests(const struct followers *followers, struct buffer *out);
void followers_write_seconds(const struct followers *followers, struct buffer *out);
void followers_write_in_flight(const struct followers *followers, struct buffer *out);
