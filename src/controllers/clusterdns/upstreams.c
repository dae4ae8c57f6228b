#include "controllers/clusterdns/reconcile.h"

#include <stdlib.h>
#include <string.h>

// Whether the servers that are forwarded to are well: each CoreDNS checks those that failed, and
// counts in its metrics. A few Pods are looked at in each minute, in turn.

enum { PODS_A_MINUTE = 20, MINUTE_MS = 60000, SHOWN_MAX = 10 };

struct looking {
    struct reconcile *reconcile;
    size_t at;    // Pods so far
    size_t first; // of those whose turn it is
    size_t total;
    size_t answered;
    size_t unasked;
    struct text failing[SHOWN_MAX];
    size_t failing_count;
};

const char *metrics_port(const struct reconcile *reconcile)
{
    struct text address = reconcile->merged.input.metrics_address;
    const char *colon = address.len ? memrchr(address.at, ':', address.len) : NULL;
    if (!colon || text_starts(address, "127.") || text_starts(address, "[::1]"))
        return NULL;
    return arena_copy(reconcile->arena, colon + 1, address.len - (size_t)(colon + 1 - address.at));
}

static bool has_turn(const struct looking *looking)
{
    if (looking->total <= PODS_A_MINUTE)
        return true;
    size_t behind = (looking->at + looking->total - looking->first) % looking->total;
    return behind < PODS_A_MINUTE;
}

static void add_failing(struct looking *looking, struct text upstream)
{
    for (size_t i = 0; i < looking->failing_count; i++)
        if (text_equal(looking->failing[i], upstream))
            return;
    if (looking->failing_count < SHOWN_MAX)
        looking->failing[looking->failing_count++] = upstream;
}

const char *metrics_address(const struct reconcile *reconcile, struct text ip)
{
    bool is_v6 = ip.len && memchr(ip.at, ':', ip.len);
    return arena_printf(reconcile->arena, is_v6 ? "[%.*s]:%s" : "%.*s:%s", TEXT_ARGS(ip),
                        metrics_port(reconcile));
}

// Only as many Pods are asked at a time; of the others the last answer counts.
static void look_at(struct looking *looking, const char *host)
{
    struct reconcile *reconcile = looking->reconcile;
    struct value *about = value_make(reconcile->arena, VALUE_MAP);
    value_put_text(reconcile->arena, about, "address", metrics_address(reconcile, text_of(host)));
    *decision_add_question(reconcile->out, reconcile->arena) =
        (struct question){.backend = BACKEND_NAME,
                          .name = "metrics",
                          .about = about,
                          .good_for_ms = has_turn(looking) ? MINUTE_MS : 0};
    looking->at++;
    const struct answer_view *answer =
        snapshot_answer(reconcile->in, BACKEND_NAME, "metrics", about);
    looking->unasked += !answer || !answer->answered_ms;
    if (!answer || !answer->answered_ms || !answer->is_ok)
        return;
    looking->answered++;
    value_each (item, value_list_at(answer->value, "failing"))
        add_failing(looking, value_text(item));
}

static void note_outcome(const struct looking *looking)
{
    AUTO_BUFFER names = {0};
    struct upstreams *out = &looking->reconcile->upstreams;
    out->is_observed = looking->answered > 0;
    out->is_unasked = looking->unasked > 0;
    for (size_t i = 0; i < looking->failing_count; i++)
        buffer_printf(&names, "%s%.*s", i ? ", " : "", TEXT_ARGS(looking->failing[i]));
    if (names.len)
        out->failing = arena_copy(looking->reconcile->arena, names.at, names.len);
}

void look_at_upstreams(struct reconcile *reconcile)
{
    const struct proof *proof = &reconcile->proof;
    struct looking looking = {.reconcile = reconcile, .total = proof->host_count};
    reconcile->upstreams.is_unasked = proof->unknown > 0;
    if (!metrics_port(reconcile) || !looking.total || proof->current < proof->total)
        return;
    looking.first = (size_t)(reconcile->in->now_ms / MINUTE_MS) * PODS_A_MINUTE % looking.total;
    for (size_t i = 0; i < proof->host_count; i++)
        look_at(&looking, proof->hosts[i]);
    if (looking.total > PODS_A_MINUTE)
        decision_wake_at(reconcile->out, (reconcile->in->now_ms / MINUTE_MS + 1) * MINUTE_MS);
    note_outcome(&looking);
}
