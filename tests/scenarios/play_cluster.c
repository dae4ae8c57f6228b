#include <string.h>

#include "model/model_cluster.h"
#include "model/tap_store.h"
#include "scenarios/play.h"

// Steps that an API server takes.

static bool is_cluster(const struct play *play, struct error *err)
{
    return play->stage->server || fail(err, "only the store of a cluster can be told so");
}

// ---- single calls -------------------------------------------------------------------------------

static size_t find_word(const char *const *words, size_t count, const char *word)
{
    size_t at = 0;
    while (at < count && (!words[at] || strcmp(words[at], word) != 0))
        at++;
    return at;
}

static bool add_fault(const struct stage *stage, const struct step *step, struct error *err)
{
    static const char *const faults[] = {
        [MODEL_FAILS] = "fails",
        [MODEL_LOSES] = "loses",
        [MODEL_CONFLICT] = "conflict",
        [MODEL_LIMIT] = "limit",
        [MODEL_MISSING] = "dies",
        [MODEL_UNREACHABLE] = "unreachable",
        [MODEL_SILENT] = "silent",
        [MODEL_UNAVAILABLE] = "unavailable",
        [MODEL_UNAUTHORIZED] = "unauthorized",
        [MODEL_FORBIDDEN] = "forbidden",
        [MODEL_EXPIRED] = "expired",
    };
    static const char *const calls[] = {
        [MODEL_ANY_WRITE] = "",
        [MODEL_APPLY] = "apply",
        [MODEL_PATCH_STATUS] = "status",
        [MODEL_REMOVE_FINALIZER] = "finalizer",
        [MODEL_LEASE] = "lease",
        [MODEL_EVENT] = "event",
        [MODEL_GET] = "get",
        [MODEL_LIST] = "list",
        [MODEL_WATCH] = "watch",
    };
    const char *times = step_option(step, "times");
    const char *skip = step_option(step, "skip");
    size_t fault = find_word(faults, COUNT_OF(faults), step_word(step, 1));
    size_t call = find_word(calls, COUNT_OF(calls), step_word(step, 2));
    if (fault == COUNT_OF(faults))
        return fail(err, "no such fault: %s", step_word(step, 1));
    for (int i = 0; i < (times ? step_number(times) : 1); i++)
        model_server_fault(stage->server,
                           call < COUNT_OF(calls) ? (enum model_write)call : MODEL_ANY_WRITE,
                           skip ? (unsigned)step_number(skip) : 0, (enum model_fault)fault);
    return true;
}

// store reply=5ms watch=1ms | store FAULT [CALL] [skip=N] [times=N]
bool play_store(struct play *play, const struct step *step, struct error *err)
{
    int64_t reply_ms = 0;
    int64_t watch_ms = 0;
    if (!is_cluster(play, err))
        return false;
    if (!step_option(step, "reply") && !step_option(step, "watch"))
        return add_fault(play->stage, step, err);
    if (!play_ms_option(step, "reply", &reply_ms, err) ||
        !play_ms_option(step, "watch", &watch_ms, err))
        return false;
    model_server_set_delays(play->stage->server, reply_ms, watch_ms);
    return true;
}

// ---- the lease, a kind --------------------------------------------------------------------------

bool play_lead(struct play *play, const struct step *step, struct error *err)
{
    struct stage *stage = play->stage;
    if (!is_cluster(play, err))
        return false;
    stage->is_without_lease = strcmp(step_word(step, 1), "yes") != 0;
    if (stage->is_without_lease)
        model_cluster_take_lease(stage->server);
    else
        model_cluster_free_lease(stage->server);
    // In truth the next one waits until ours has run out: it is heard of before all else.
    return !stage->engine || stage_advance(stage, 0, err);
}

// watch KIND lost|complete: what the store knows of that kind
bool play_watch(struct play *play, const struct step *step, struct error *err)
{
    struct stage *stage = play->stage;
    if (!is_cluster(play, err))
        return false;
    if (!stage->inner)
        return true; // who starts later watches anew
    for (size_t i = 0; i < stage->kind_count; i++)
        if (!strcmp(stage->kinds[i].kind->name, step_word(step, 1))) {
            tap_store_set_synced(stage->store, stage->kinds[i].kind,
                                 !strcmp(step_word(step, 2), "complete"));
            return true;
        }
    return fail(err, "no such kind: %s", step_word(step, 1));
}

// ---- the server ---------------------------------------------------------------------------------

static const char *resource(const struct step *step, size_t at)
{
    return *step_word(step, at) ? step_word(step, at) : NULL;
}

static bool api_restarts(struct model_api *api, const struct step *step)
{
    (void)step;
    model_api_restart(api);
    return true;
}

static bool api_goes_back(struct model_api *api, const struct step *step)
{
    model_api_rewind(api, (uint64_t)step_number(step_word(step, 2)));
    return true;
}

static bool api_down(struct model_api *api, const struct step *step)
{
    (void)step;
    model_api_set_down(api, true);
    model_api_meet(api, NULL, STREAM_BREAKS);
    return true;
}

static bool api_up(struct model_api *api, const struct step *step)
{
    (void)step;
    model_api_set_down(api, false);
    return true;
}

static bool api_denies(struct model_api *api, const struct step *step)
{
    model_api_deny(api, step_word(step, 2), resource(step, 3));
    return true;
}

static bool api_allows(struct model_api *api, const struct step *step)
{
    (void)step;
    model_api_allow_all(api);
    return true;
}

static bool api_lists(struct model_api *api, const struct step *step)
{
    (void)step;
    model_api_set_streaming(api, false);
    return true;
}

static bool api_loses_kind(struct model_api *api, const struct step *step)
{
    model_api_set_installed(api, step_word(step, 2), false);
    return true;
}

static bool api_has_kind(struct model_api *api, const struct step *step)
{
    model_api_set_installed(api, step_word(step, 2), true);
    return true;
}

static bool api_streams(struct model_api *api, const struct step *step)
{
    static const char *const faults[] = {
        [STREAM_ENDS] = "end",       [STREAM_BREAKS] = "break",    [STREAM_TORN] = "torn",
        [STREAM_FREEZES] = "freeze", [STREAM_DIES] = "die",        [STREAM_EXPIRES] = "expire",
        [STREAM_FAILS] = "fail",     [STREAM_GARBLED] = "garbled", [STREAM_REPEATS] = "repeat",
    };
    size_t fault = find_word(faults, COUNT_OF(faults), step_word(step, 2));
    if (fault < COUNT_OF(faults))
        model_api_meet(api, resource(step, 3), (enum model_stream_fault)fault);
    return fault < COUNT_OF(faults);
}

// api restarts | goes-back VERSIONS | down | up | denies VERB [RESOURCE] | allows | lists (it has
// no streaming list) | loses RESOURCE | has RESOURCE (its CRD) | streams FAULT [RESOURCE]
bool play_api(struct play *play, const struct step *step, struct error *err)
{
    static const struct {
        const char *word;
        bool (*call)(struct model_api *api, const struct step *step);
    } rows[] = {
        {"restarts", api_restarts}, {"goes-back", api_goes_back},
        {"down", api_down},         {"up", api_up},
        {"denies", api_denies},     {"allows", api_allows},
        {"lists", api_lists},       {"loses", api_loses_kind},
        {"has", api_has_kind},      {"streams", api_streams},
    };
    if (!is_cluster(play, err))
        return false;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!strcmp(rows[i].word, step_word(step, 1)))
            return rows[i].call(play->stage->api, step) || fail(err, "it cannot do that");
    return fail(err, "an API server cannot do that: %s", step_word(step, 1));
}
