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

// Private to the lease: lease.c drives it and reports changes, lease_exchange.c sends requests and
// handles replies, lease_owner.c finds the owner id, lease_alone.c replaces the election where
// there is none.

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
    int64_t not_before_ms; // of the next request
    bool is_over;          // no request is sent any more

    struct watch *watch;
    struct watch_memory watch_memory;
    struct arena *arena;      // of `seen`
    const struct value *seen; // the Lease as seen last; NULL: it does not exist
    char *rival;              // the last other holder; "": none
    bool may_be_ours;         // a write of ours may have taken effect

    struct api_call *call;
    enum lease_errand errand;
    int64_t sent_ms;
    bool was_new; // the write under way is a POST

    bool is_leading;  // as reported
    bool is_unfenced; // something may be in flight

    char *given;
    char owner_id[OWNER_ID_MAX + 1]; // empty: not known yet
    char derived[OWNER_ID_MAX + 1];  // to be stored by the next write
    int64_t refused_ms;              // mono: since when deriving it is refused; 0: it is not
    bool has_warned_of_owner;
    bool has_warned_of_rival;
    bool is_kept; // without an election: the owner id is stored in the Lease, or cannot be

    unsigned held_back; // tries in a row at which it might not be taken

    bool is_releasing;
    struct loop_timer release_timer;
    void (*released)(void *context);
    void *released_context;

    struct error trouble; // fault NONE: none
    int64_t trouble_ms;   // since when
    uint64_t slow_paths;
};

int64_t lease_now(const struct lease *lease);
int64_t lease_poll_ms(const struct lease *lease); // until a standby reads again
// What the Lease says now becomes `seen`.
struct election_sight lease_see(struct lease *lease, const struct value *tree);
void lease_drive(struct lease *lease);
void lease_end(struct lease *lease); // no request is sent any more

void lease_send(struct lease *lease, enum lease_errand errand);
void lease_enter(struct lease *lease); // first in each call from outside: reports what ran out
void lease_leave(struct lease *lease); // last: reports what holds now, and takes the next step

// Is the owner id that the next write stores known? If not, sends a request for it.
bool lease_owner_settle(struct lease *lease);
const char *lease_owner_wanted(const struct lease *lease); // NULL: not known
void lease_owner_adopt(struct lease *lease, struct text id);
void lease_owner_notice(struct lease *lease); // called after each read of the Lease
void lease_owner_warn(struct lease *lease); // called before a write that replaces another owner id
void lease_owner_handle_reply(struct lease *lease, const struct api_reply *reply);

void lease_alone_drive(struct lease *lease);
bool lease_alone_is_carried(const struct lease *lease); // does the Lease have our owner id?
// Warns of another holder that renews the Lease.
void lease_alone_warn(struct lease *lease, const struct election_sight *sight);
