#include "base/memory.h"
#include "store/cluster/lease_private.h"

enum {
    CALL_MS = 5 * 1000,
    WAIT_MAX_MS = 30 * 1000, // whatever a server tells us to wait
    RELEASE_AGAIN_MS = 250,
    CLASH = 409,
    MISSING = 404,
    FORBIDDEN = 403,
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// ---- trouble ------------------------------------------------------------------------------------

static const char *verb_of(const struct lease *lease)
{
    if (lease->errand == ERRAND_READ || lease->errand == ERRAND_NAMESPACE)
        return "get";
    return lease->was_new ? "create" : "update";
}

static void trouble_begins(struct lease *lease, const struct error *err)
{
    struct error trouble = *err;
    bool is_known = lease->trouble.fault == err->fault && lease->trouble.status == err->status;
    if (err->status == FORBIDDEN && lease->errand != ERRAND_NAMESPACE)
        error_set(
            &trouble, err->fault, "Forbidden",
            "forbidden: cannot %s leases.coordination.k8s.io \"%s\" in namespace %s; add verb "
            "%s to role signpost",
            verb_of(lease), lease->name, lease->namespace_, verb_of(lease));
    trouble.status = err->status;
    if (lease->trouble.fault == FAULT_NONE)
        lease->trouble_ms = lease_now(lease);
    lease->trouble = trouble;
    if (is_known)
        return;
    log_line(lease->log, LOG_WARN, "the lease could not be looked after",
             LOG_TEXT("lease", lease->name), LOG_TEXT("error", trouble.text), LOG_END);
}

static void trouble_ends(struct lease *lease)
{
    if (lease->trouble.fault != FAULT_NONE)
        log_line(lease->log, LOG_INFO, "the lease is looked after again",
                 LOG_TEXT("lease", lease->name), LOG_END);
    error_clear(&lease->trouble);
}

// ---- hearing ------------------------------------------------------------------------------------

static void failed(struct lease *lease, const struct error *err)
{
    int64_t now_ms = lease_now(lease);
    trouble_begins(lease, err);
    election_failed(&lease->election, lease->sent_ms, now_ms, least(err->retry_ms, WAIT_MAX_MS),
                    lease_poll_ms(lease));
    if (!lease->is_elected && err->status == FORBIDDEN)
        lease->is_kept = true;
    if (lease->is_releasing)
        lease->not_before_ms = now_ms + RELEASE_AGAIN_MS;
    else if (!lease->is_elected)
        lease->not_before_ms = now_ms + lease_poll_ms(lease);
}

static const struct value *tree_of(struct arena *arena, const struct api_reply *reply,
                                   struct error *err)
{
    const struct value *tree = value_read_json(arena, reply->body, &value_manifest_limits, err);
    if (tree && value_text_at(tree, "metadata.resourceVersion").len)
        return tree;
    if (tree)
        error_set(err, FAULT_AGAIN, "ServerError", "the server's Lease has no resourceVersion");
    error_prefix(err, "Lease %s: ", "as it came");
    return NULL;
}

static void read_answered(struct lease *lease, const struct value *tree)
{
    struct election_sight sight = lease_see(lease, tree);
    trouble_ends(lease);
    lease->may_be_ours = lease->may_be_ours && sight.holder == HOLDER_SELF;
    election_read(&lease->election, &sight, lease_now(lease), lease_poll_ms(lease));
}

// Who says 200 and keeps something else would be written to without end.
static void write_is_lost(struct lease *lease, const struct election_sight *sight)
{
    struct error err;
    error_set(&err, FAULT_AGAIN, "ServerError",
              "the server takes the Lease and does not keep what is in it");
    err.status = 0;
    trouble_begins(lease, &err);
    election_read(&lease->election, sight, lease_now(lease), lease_poll_ms(lease));
    lease->not_before_ms = lease_now(lease) + lease_poll_ms(lease);
}

static void write_answered(struct lease *lease, const struct value *tree)
{
    struct election_sight sight = lease_see(lease, tree);
    bool is_ours = sight.holder == HOLDER_SELF;
    if (lease->is_elected ? !is_ours : !lease_alone_is_carried(lease)) {
        write_is_lost(lease, &sight);
        return;
    }
    trouble_ends(lease);
    if (is_ours)
        election_won(&lease->election, &sight, lease->sent_ms);
    else
        election_read(&lease->election, &sight, lease_now(lease), lease_poll_ms(lease));
}

static void release_answered(struct lease *lease, const struct value *tree)
{
    lease_see(lease, tree);
    lease->may_be_ours = false;
    election_yield(&lease->election);
}

// Only an election looks at its own time before it reads.
static void clashed(struct lease *lease)
{
    bool is_first = !lease->election.clashes;
    election_clashed(&lease->election, lease_now(lease));
    if (!is_first && (lease->is_releasing || !lease->is_elected))
        lease->not_before_ms = lease_now(lease) + ELECTION_CLASH_MS;
}

static void (*const answered_by_errand[])(struct lease *lease, const struct value *tree) = {
    [ERRAND_READ] = read_answered,
    [ERRAND_WRITE] = write_answered,
    [ERRAND_RELEASE] = release_answered,
};

static void lease_answered(struct lease *lease, const struct api_reply *reply)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct error err = reply->error;
    const struct value *tree = reply->is_ok ? tree_of(arena, reply, &err) : NULL;
    bool is_read = lease->errand == ERRAND_READ;
    if (tree)
        answered_by_errand[lease->errand](lease, tree);
    else if (is_read && reply->status == MISSING)
        read_answered(lease, NULL);
    else if (!is_read && (reply->status == CLASH || (reply->status == MISSING && !lease->was_new)))
        clashed(lease);
    else
        failed(lease, &err);
}

static void done(void *context, const struct api_reply *reply)
{
    struct lease *lease = context;
    lease->call = NULL;
    lease_enter(lease);
    if (lease->errand == ERRAND_NAMESPACE)
        lease_owner_handle_reply(lease, reply);
    else
        lease_answered(lease, reply);
    lease_leave(lease);
}

// ---- sending ------------------------------------------------------------------------------------

static const char *const methods[] = {
    [ERRAND_READ] = "GET",
    [ERRAND_WRITE] = "PUT",
    [ERRAND_RELEASE] = "PUT",
    [ERRAND_NAMESPACE] = "GET",
};

static bool is_write(enum lease_errand errand)
{
    return errand == ERRAND_WRITE || errand == ERRAND_RELEASE;
}

static void write_path(struct buffer *out, const struct lease *lease, enum lease_errand errand)
{
    struct text name = lease->was_new ? TEXT("") : text_of(lease->name);
    if (errand == ERRAND_NAMESPACE)
        buffer_add_text(out, "/api/v1/namespaces/kube-system");
    else
        api_path(out, &lease_kind, text_of(lease->namespace_), name, NULL);
    if (is_write(errand))
        buffer_add_text(out, "?fieldManager=signpost");
}

static void write_body(struct buffer *out, struct lease *lease, enum lease_errand errand)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct lease_change change = {
        .namespace_ = lease->namespace_,
        .name = lease->name,
        .holder = !lease->is_elected         ? NULL
                  : errand == ERRAND_RELEASE ? ""
                                             : lease->holder,
        .duration_ms = lease->election.times.duration_ms,
        .unix_ms = loop_unix_ms(lease->world.loop),
        .owner_id = lease_owner_wanted(lease),
    };
    value_write_json(out, lease_object_make(arena, lease->seen, &change));
}

// A call that hangs leaves time for another before the deadline.
static int64_t timeout_of(const struct lease *lease)
{
    return least(CALL_MS, lease->election.times.deadline_ms / 2);
}

void lease_send(struct lease *lease, enum lease_errand errand)
{
    AUTO_BUFFER path = {0};
    AUTO_BUFFER body = {0};
    lease->errand = errand;
    lease->was_new = is_write(errand) && !lease->seen;
    lease->may_be_ours = lease->may_be_ours || (errand == ERRAND_WRITE && lease->is_elected);
    lease->slow_paths += lease->is_leading && errand == ERRAND_READ;
    write_path(&path, lease, errand);
    if (is_write(errand))
        write_body(&body, lease, errand);
    if (errand == ERRAND_WRITE)
        lease_owner_warn(lease);
    const struct api_request request = {
        .method = lease->was_new ? "POST" : methods[errand],
        .path = path.at,
        .body = is_write(errand) ? buffer_text(&body) : (struct text){0},
        .agent = "/leader-election",
        .timeout_ms = timeout_of(lease),
    };
    lease->sent_ms = lease_now(lease);
    lease->call = api_send(lease->api, &request, done, lease);
}
