#include "base/memory.h"
#include "store/cluster/lease_private.h"

bool lease_alone_is_carried(const struct lease *lease)
{
    struct lease_object object = {.owner_id = TEXT("")};
    if (lease->seen)
        lease_object_read(&object, lease->seen);
    return text_is(object.owner_id, lease_owner_wanted(lease));
}

// The Lease is out of reach: the owner id is derived anew at each start.
static void drive_unkept(struct lease *lease)
{
    if (*lease->owner_id || !lease_owner_settle(lease))
        return;
    log_line(lease->log, LOG_WARN, "the owner id cannot be kept in a Lease",
             LOG_TEXT("lease", lease->name), LOG_END);
    lease_owner_adopt(lease, text_of(lease->derived));
    lease_leave(lease);
}

void lease_alone_drive(struct lease *lease)
{
    if (lease->is_kept) {
        drive_unkept(lease);
        return;
    }
    if (!lease->election.is_certain) {
        lease_send(lease, ERRAND_READ);
        return;
    }
    if (!lease_owner_settle(lease))
        return;
    lease->is_kept = lease_alone_is_carried(lease);
    if (!lease->is_kept)
        lease_send(lease, ERRAND_WRITE);
}

void lease_alone_warn(struct lease *lease, const struct election_sight *sight)
{
    const struct election *election = &lease->election;
    bool is_renewal = election->has_seen && sight->hash != election->seen.hash;
    if (!is_renewal || sight->holder != HOLDER_OTHER || lease->has_warned_of_rival)
        return;
    lease->has_warned_of_rival = true;
    log_line(lease->log, LOG_WARN,
             "another process holds the lease, and both write: stop one, or have them elected",
             LOG_TEXT("lease", lease->name), LOG_END);
}
