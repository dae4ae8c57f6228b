#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "base/value.h"
#include "store/cluster/lease.h"
#include "store/cluster/lease_object.h"
#include "store/cluster/watch.h"
#include "store/owner.h"

// Private to the lease: lease.c tells what holds and drives, lease_exchange.c sends and hears,
// lease_owner.c finds the owner id, lease_alone.c stands in for an election.

enum lease_errand { ERRAND_READ, ERRAND_WRITE, ERRAND_RELEASE, ERRAND_NAMESPACE };

struct lease {
    struct world world;
    struct log *log;
    struct api *api;
    char *namespace_;
    char *name;
    char *holder;
    char *namespaces;
    bool is_elected;
    struct lease_sink sink;

    struct election election;
    struct loop_timer try_timer;
    struct loop_timer fence_timer;
    int64_t not_before_ms; // of the next errand
    bool is_over;          // nothing is tried any more

    struct watch *watch;
    struct watch_memory watch_memory;
    struct arena *arena;      // of `seen`
    const struct value *seen; // what the Lease said last; NULL: it is not there
    char *rival;              // whom it named last; "" nobody
    bool may_be_ours;         // a write of ours may stand there

    struct api_call *call;
    enum lease_errand errand;
    int64_t sent_ms;
    bool was_new; // the write under way is a POST

    bool is_leading;  // as told
    bool is_unfenced; // something may be in flight

    char *given;
    char owner_id[OWNER_ID_MAX + 1]; // empty: not known yet
    char derived[OWNER_ID_MAX + 1];  // to be kept by the next write
    int64_t refused_ms;              // since when we may not derive it; 0: not so
    bool has_warned_of_owner;
    bool has_warned_of_rival;
    bool is_kept; // without an election: the owner id stands in the Lease, or cannot

    bool is_releasing;
    struct loop_timer release_timer;
    void (*released)(void *context);
    void *released_context;

    struct error trouble; // fault NONE: none
    int64_t trouble_ms;   // since when
    uint64_t slow_paths;
};

int64_t lease_now(const struct lease *lease);
int64_t lease_poll_ms(const struct lease *lease); // until a standby looks again
// What the Lease says now becomes `seen`.
struct election_sight lease_see(struct lease *lease, const struct value *tree);
void lease_drive(struct lease *lease);
void lease_end(struct lease *lease); // nothing is tried any more

void lease_send(struct lease *lease, enum lease_errand errand);
void lease_enter(struct lease *lease); // first in each call from outside: what ran out is told
void lease_leave(struct lease *lease); // last: what holds now is told, the next step is taken

// Is it known what the next write keeps as the owner id? Else asks for it.
bool lease_owner_settle(struct lease *lease);
const char *lease_owner_wanted(const struct lease *lease); // NULL: not known
void lease_owner_adopt(struct lease *lease, struct text id);
void lease_owner_notice(struct lease *lease); // after each look at the Lease
void lease_owner_warn(struct lease *lease);   // before a write that puts ours in place of another
void lease_owner_handle_reply(struct lease *lease, const struct api_reply *reply);

void lease_alone_drive(struct lease *lease);
bool lease_alone_is_carried(const struct lease *lease); // does the Lease have our owner id?
// Another holder that renews while we look on.
void lease_alone_warn(struct lease *lease, const struct election_sight *sight);
