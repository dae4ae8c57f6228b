#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "store/cluster/lease_private.h"

// A server that has just started refuses what it allows once it has read its roles.
enum { FORBIDDEN = 403, REFUSED_MAX_MS = 10000 };

static void keep(char out[OWNER_ID_MAX + 1], struct text id)
{
    must(id.len <= OWNER_ID_MAX);
    memcpy(out, id.at, id.len);
    out[id.len] = '\0';
}

void lease_owner_adopt(struct lease *lease, struct text id)
{
    keep(lease->owner_id, id);
    lease->sink.owner(lease->sink.context, lease->owner_id, NULL);
}

static void give_up(struct lease *lease, const struct error *err)
{
    lease_end(lease);
    lease->sink.owner(lease->sink.context, NULL, err);
}

const char *lease_owner_wanted(const struct lease *lease)
{
    if (*lease->owner_id)
        return lease->owner_id;
    return *lease->derived ? lease->derived : NULL;
}

// ---- what the Lease carries ---------------------------------------------------------------------

static struct text carried_by(const struct value *tree)
{
    return value_text_at(tree, "metadata.annotations[" LEASE_OWNER_ID "]");
}

void lease_owner_warn(struct lease *lease)
{
    struct text carried = carried_by(lease->seen);
    const char *wanted = lease_owner_wanted(lease);
    if (!carried.len || !wanted || text_is(carried, wanted) || lease->has_warned_of_owner)
        return;
    lease->has_warned_of_owner = true;
    log_line(lease->log, LOG_WARN, "the owner id is replaced", LOG_SLICE("old", carried),
             LOG_TEXT("owner", wanted), LOG_END);
}

// What we have begun in the name of the old one cannot go on in that of the new one.
static void report_replaced(struct lease *lease, struct text carried)
{
    struct error err = {0};
    error_set(&err, FAULT_WAIT, "InvalidConfiguration",
              "the owner id was %s and was replaced by %.*s: start again to take it up",
              lease->owner_id, TEXT_ARGS(carried));
    give_up(lease, &err);
}

void lease_owner_notice(struct lease *lease)
{
    struct text carried = carried_by(lease->seen);
    if (lease->is_over || !carried.len || !owner_id_check(carried, NULL))
        return;
    bool has_last_word = lease->given || lease->election.is_held;
    if (!*lease->owner_id)
        lease_owner_adopt(lease, carried);
    else if (!has_last_word && !text_is(carried, lease->owner_id))
        report_replaced(lease, carried);
}

// ---- deriving -----------------------------------------------------------------------------------

static void refuse(struct lease *lease, const struct error *refusal)
{
    struct error err = *refusal;
    error_prefix(&err, "cannot derive an owner id: add verb get on namespace kube-system to role "
                       "signpost, or give --owner-id: ");
    give_up(lease, &err);
}

static bool is_refused_for_good(struct lease *lease, const struct api_reply *reply)
{
    int64_t now_ms = lease_now(lease);
    if (reply->status != FORBIDDEN)
        lease->refused_ms = 0;
    else if (!lease->refused_ms)
        lease->refused_ms = now_ms;
    return lease->refused_ms && now_ms - lease->refused_ms >= REFUSED_MAX_MS;
}

void lease_owner_handle_reply(struct lease *lease, const struct api_reply *reply)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct error err = reply->error;
    const struct value *tree =
        reply->is_ok ? value_read_json(arena, reply->body, &value_manifest_limits, &err) : NULL;
    struct text uid = value_text_at(tree, "metadata.uid");
    if (uid.len) {
        owner_id_derive(uid, lease->namespaces, lease->derived);
        return;
    }
    if (is_refused_for_good(lease, reply)) {
        refuse(lease, &err);
        return;
    }
    log_line(lease->log, LOG_WARN, "the owner id could not be derived yet",
             LOG_TEXT("error", err.text), LOG_END);
    lease->not_before_ms = lease_now(lease) + lease_poll_ms(lease);
}

bool lease_owner_settle(struct lease *lease)
{
    if (lease_owner_wanted(lease))
        return true;
    lease_send(lease, ERRAND_NAMESPACE);
    return false;
}
