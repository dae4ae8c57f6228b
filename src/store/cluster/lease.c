#include "store/cluster/lease.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/random.h"
#include "store/cluster/lease_private.h"

enum {
    RELEASE_MS = 5 * 1000,
    STUCK_MS = 20 * 1000,
    PROOF_MS = 250, // a watch that is opened is accepted meanwhile
    HOLDER_SHOWN_MAX = 300,
};

int64_t lease_now(const struct lease *lease)
{
    return loop_mono_ms(lease->world.loop);
}

int64_t lease_poll_ms(const struct lease *lease)
{
    uint64_t more = (uint64_t)lease->election.times.retry_ms * 12 / 10;
    return lease->election.times.retry_ms + (int64_t)random_below(lease->world.random, more + 1);
}

// ---- telling ------------------------------------------------------------------------------------

static void log_lease(const struct lease *lease, enum log_level level, const char *message,
                      const char *holder)
{
    AUTO_BUFFER name = {0};
    buffer_printf(&name, "%s/%s", lease->namespace_, lease->name);
    log_line(lease->log, level, message, LOG_TEXT("lease", name.at), LOG_TEXT("holder", holder),
             LOG_END);
}

static bool holds(const struct lease *lease)
{
    if (lease->is_releasing || lease->is_over || !*lease->owner_id)
        return false;
    return !lease->is_elected || election_may_begin(&lease->election, lease_now(lease));
}

bool lease_may_go_on(const struct lease *lease)
{
    if (lease->is_releasing || lease->is_over)
        return false;
    return !lease->is_elected || election_may_go_on(&lease->election, lease_now(lease));
}

static void report_lost(struct lease *lease)
{
    bool is_lost = lease->is_elected && !lease->election.is_held && !lease->is_releasing;
    lease->is_leading = false;
    if (is_lost)
        log_lease(lease, LOG_WARN, "the lease is lost; standing by", lease->rival);
    else if (!lease->is_releasing && !lease->is_over)
        log_lease(lease, LOG_WARN, "the lease could not be renewed in time: nothing new is begun",
                  lease->holder);
    lease->sink.leading(lease->sink.context, false);
}

static void report_held(struct lease *lease)
{
    lease->is_leading = true;
    lease->is_unfenced = true;
    log_lease(lease, LOG_INFO,
              lease->is_elected ? "the lease is ours" : "leading without an election",
              lease->holder);
    lease->sink.leading(lease->sink.context, true);
}

static void set_fence(struct lease *lease)
{
    int64_t due_ms = lease->is_leading ? election_begin_until(&lease->election)
                                       : election_go_on_until(&lease->election);
    if (!lease->is_elected || !lease->is_unfenced) {
        loop_timer_cancel(lease->world.loop, &lease->fence_timer);
        return;
    }
    int64_t now_ms = lease_now(lease);
    loop_timer_set(lease->world.loop, &lease->fence_timer, due_ms > now_ms ? due_ms - now_ms : 0);
}

const char *lease_owner_id(const struct lease *lease)
{
    return *lease->owner_id ? lease->owner_id : NULL;
}

void lease_enter(struct lease *lease)
{
    if (lease->given && !*lease->owner_id && !lease->is_over)
        lease_owner_adopt(lease, text_of(lease->given));
    if (lease->is_leading && !holds(lease))
        report_lost(lease);
    if (lease->is_unfenced && !lease_may_go_on(lease)) {
        lease->is_unfenced = false;
        lease->sink.fenced(lease->sink.context);
    }
}

void lease_leave(struct lease *lease)
{
    lease_enter(lease);
    if (!lease->is_leading && holds(lease))
        report_held(lease);
    set_fence(lease);
    lease_drive(lease);
}

// ---- seeing -------------------------------------------------------------------------------------

static enum election_holder holder_of(const struct lease *lease, struct text holder)
{
    if (!holder.len)
        return HOLDER_NONE;
    return text_is(holder, lease->holder) ? HOLDER_SELF : HOLDER_OTHER;
}

static void see_rival(struct lease *lease, struct text holder)
{
    AUTO_BUFFER clean = {0};
    text_clean(&clean, holder, HOLDER_SHOWN_MAX);
    if (text_is(buffer_text(&clean), lease->rival))
        return;
    free(lease->rival);
    lease->rival = buffer_steal(&clean);
    lease->held_back = 0;
    if (lease->is_elected && holder_of(lease, holder) == HOLDER_OTHER)
        log_lease(lease, LOG_INFO, "another process leads; standing by", lease->rival);
}

static struct election_sight sight_of(const struct lease *lease, const struct value *tree)
{
    struct lease_object object = {.holder = TEXT("")};
    if (tree)
        lease_object_read(&object, tree);
    return (struct election_sight){
        .is_there = tree,
        .holder = holder_of(lease, object.holder),
        .hash = object.hash,
        .claim_ms = object.duration_ms,
    };
}

struct election_sight lease_see(struct lease *lease, const struct value *tree)
{
    struct arena *arena = arena_new();
    lease->seen = tree ? value_copy(arena, tree) : NULL;
    arena_free(lease->arena);
    lease->arena = arena;
    see_rival(lease, tree ? value_text_at(lease->seen, "spec.holderIdentity") : TEXT(""));
    lease_owner_notice(lease);
    return sight_of(lease, lease->seen);
}

// News by the watch put a standby's own look off, but for one that is to show whether looking works
// again.
static int64_t look_ms(const struct lease *lease)
{
    int64_t poll_ms = lease_poll_ms(lease);
    int64_t due_ms = lease->election.try_ms - lease_now(lease);
    if (lease->trouble.fault == FAULT_NONE || due_ms >= poll_ms)
        return poll_ms;
    return due_ms > 0 ? due_ms : 0;
}

static void heard(void *context, bool is_deleted, const struct value *tree)
{
    struct lease *lease = context;
    lease_enter(lease);
    struct election_sight sight = sight_of(lease, is_deleted ? NULL : tree);
    if (!lease->is_elected)
        lease_alone_warn(lease, &sight);
    if (!lease->election.is_held)
        sight = lease_see(lease, is_deleted ? NULL : tree);
    election_observe(&lease->election, &sight, lease_now(lease), look_ms(lease));
    lease_leave(lease);
}

static void ignore(void *context)
{
    (void)context;
}

static void ignore_pass(void *context, bool is_so)
{
    (void)context;
    (void)is_so;
}

static struct watch *open_watch(struct lease *lease)
{
    const struct watch_options options = {
        .world = &lease->world,
        .log = lease->log,
        .api = lease->api,
        .kind = &lease_kind,
        .namespace_ = lease->namespace_,
        .name = lease->name,
        .memory = &lease->watch_memory,
    };
    const struct watch_sink sink = {
        .pass_begin = ignore_pass,
        .pass_end = ignore_pass,
        .object = heard,
        .batch_end = ignore,
        .context = lease,
    };
    return watch_new(&options, &sink);
}

// ---- driving ------------------------------------------------------------------------------------

void lease_end(struct lease *lease)
{
    struct loop *loop = lease->world.loop;
    lease->is_over = true;
    loop_timer_cancel(loop, &lease->try_timer);
    loop_timer_cancel(loop, &lease->release_timer);
    if (lease->call)
        api_cancel(lease->api, lease->call);
    lease->call = NULL;
}

static void wait_until(struct lease *lease, int64_t at_ms)
{
    int64_t now_ms = lease_now(lease);
    loop_timer_set(lease->world.loop, &lease->try_timer, at_ms > now_ms ? at_ms - now_ms : 0);
}

static void released(struct lease *lease)
{
    void (*done)(void *context) = lease->released;
    lease_end(lease);
    lease->released = NULL;
    if (done)
        done(lease->released_context);
}

// What nobody saw come back may still stand there: it is looked at first.
static void drive_release(struct lease *lease)
{
    if (!lease->may_be_ours)
        released(lease);
    else
        lease_send(lease, lease->election.is_certain ? ERRAND_RELEASE : ERRAND_READ);
}

// While the Lease names us, nobody else has led since our last write. Later on, somebody may have
// led and let go of it unseen.
static bool may_try(struct lease *lease)
{
    const struct election *election = &lease->election;
    int64_t free_ms =
        election->rival_until_ms > election->held_ms ? election->rival_until_ms : election->held_ms;
    bool may = election->is_held || !lease->sink.may_take ||
               lease->sink.may_take(lease->sink.context, free_ms);
    lease->held_back = may ? 0 : lease->held_back + 1;
    if (lease->held_back == 2)
        log_lease(lease, LOG_INFO, "the lease is not taken until all watches are up again",
                  lease->rival);
    return may;
}

static void drive_election(struct lease *lease)
{
    struct election_next next = election_next(&lease->election, lease_now(lease));
    if (next.at_ms > lease_now(lease))
        wait_until(lease, next.at_ms);
    else if (next.step == ELECTION_READ)
        lease_send(lease, ERRAND_READ);
    else if (!may_try(lease))
        wait_until(lease, lease_now(lease) +
                              (lease->held_back > 1 ? lease->election.times.retry_ms : PROOF_MS));
    else if (lease_owner_settle(lease))
        lease_send(lease, ERRAND_WRITE);
}

void lease_drive(struct lease *lease)
{
    if (lease->call || lease->is_over)
        return;
    if (lease->not_before_ms > lease_now(lease))
        wait_until(lease, lease->not_before_ms);
    else if (lease->is_releasing)
        drive_release(lease);
    else if (lease->is_elected)
        drive_election(lease);
    else
        lease_alone_drive(lease);
}

static void tried(void *context)
{
    struct lease *lease = context;
    lease_enter(lease);
    lease_leave(lease);
}

static void release_late(void *context)
{
    struct lease *lease = context;
    log_lease(lease, LOG_WARN, "the lease could not be given back: the next one has to wait for it",
              lease->holder);
    released(lease);
}

// ---- public -------------------------------------------------------------------------------------

static void set_options(struct lease *lease, const struct lease_options *options)
{
    lease->world = *options->world;
    lease->log = options->log;
    lease->api = options->api;
    lease->namespace_ = mem_copy_text(options->namespace_);
    lease->name = mem_copy_text(options->name);
    lease->holder = mem_copy_text(options->holder);
    lease->namespaces = mem_copy_text(options->namespaces);
    lease->given = options->owner_id ? mem_copy_text(options->owner_id) : NULL;
    lease->is_elected = options->is_elected;
}

struct lease *lease_new(const struct lease_options *options, const struct lease_sink *sink)
{
    const struct election_times times = {options->duration_ms, options->renew_deadline_ms,
                                         options->retry_ms};
    struct lease *lease = mem_new_of(struct lease);
    must(*options->holder);
    must(election_times_check(&times, NULL));
    set_options(lease, options);
    lease->sink = *sink;
    lease->rival = mem_copy_text("");
    lease->try_timer = (struct loop_timer){.call = tried, .context = lease};
    lease->fence_timer = lease->try_timer;
    lease->fence_timer.goes_first = true;
    lease->release_timer = (struct loop_timer){.call = release_late, .context = lease};
    election_init(&lease->election, &times, lease_now(lease));
    lease->watch = open_watch(lease);
    return lease;
}

void lease_start(struct lease *lease)
{
    watch_start(lease->watch);
    loop_timer_set(lease->world.loop, &lease->try_timer, 0);
}

void lease_release(struct lease *lease, void (*done)(void *context), void *context)
{
    must(!lease->is_releasing);
    lease->is_releasing = true;
    lease->released = done;
    lease->released_context = context;
    lease->not_before_ms = 0;
    lease_enter(lease);
    if (lease->call && lease->errand != ERRAND_WRITE) {
        api_cancel(lease->api, lease->call);
        lease->call = NULL;
    }
    loop_timer_set(lease->world.loop, &lease->release_timer, RELEASE_MS);
    lease_leave(lease);
}

void lease_free(struct lease *lease)
{
    if (!lease)
        return;
    lease_end(lease);
    loop_timer_cancel(lease->world.loop, &lease->fence_timer);
    watch_free(lease->watch);
    arena_free(lease->arena);
    free(lease->namespace_);
    free(lease->name);
    free(lease->holder);
    free(lease->namespaces);
    free(lease->given);
    free(lease->rival);
    free(lease);
}

bool lease_may_write(const struct lease *lease)
{
    return lease->is_leading && holds(lease);
}

const char *lease_holder(const struct lease *lease)
{
    return lease->rival;
}

int64_t lease_margin_ms(const struct lease *lease)
{
    if (!lease_may_write(lease))
        return 0;
    if (!lease->is_elected)
        return INT64_MAX;
    return election_begin_until(&lease->election) - lease_now(lease);
}

bool lease_is_stuck(const struct lease *lease)
{
    bool works = lease->is_leading || lease->is_unfenced;
    int64_t end_ms = lease->election.held_ms + lease->election.times.duration_ms;
    return lease->is_elected && works && lease_now(lease) > end_ms + STUCK_MS;
}
