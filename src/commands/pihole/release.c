#include "commands/pihole/release.h"

#include <stdlib.h>
#include <string.h>

#include "commands/backend_exchange.h"
#include "commands/writer.h"
#include "controllers/ingress/targets.h"
#include "dns/ledger.h"
#include "engine/ledgers.h"

enum { BATCH_MAX = 500 };

struct releaser {
    const struct release *release;
    struct writer *writer;
    struct ledger_calls calls;
    struct ledger_keeper *keeper;
    struct ledger_view view;
    bool is_looking; // the ledger is read
    struct arena *arena;
    struct record_set *sets; // ours, in the arena
    size_t count;
    size_t capacity;
    size_t next;
    bool has_failed;
    struct arena *turn; // of one exchange
    struct backend_exchange exchange;
    struct job job;
    struct loop_timer timer;
    size_t dropping;    // pages under way
    struct error error; // why it did not begin
};

// ---- the end ------------------------------------------------------------------------------------

static void let_go(struct releaser *releaser)
{
    backend_exchange_close(&releaser->exchange);
    ledger_keeper_free(releaser->keeper);
    releaser->keeper = NULL;
}

static void shard_dropped(void *context, const struct store_reply *reply)
{
    struct releaser *releaser = context;
    (void)reply;
    if (!--releaser->dropping)
        writer_end(releaser->writer);
}

static void shards_read(void *context, const struct store_reply *reply)
{
    struct releaser *releaser = context;
    CLEANUP(arena) struct arena *arena = arena_new();
    size_t count = reply->is_ok ? reply->shard_count : 0;
    releaser->dropping = count + 1;
    for (size_t i = 0; i < count; i++) {
        const struct store_shard *shard = &reply->shards[i];
        store_drop_shard(
            writer_store(releaser->writer), arena_copy(arena, shard->name.at, shard->name.len),
            arena_copy(arena, shard->version.at, shard->version.len), shard_dropped, releaser);
    }
    shard_dropped(releaser, NULL);
}

// Nothing in it is ours any more, so that nobody need know that this Pi-hole was ever kept.
static void forget_ledger(struct releaser *releaser)
{
    char label[LEDGER_LABEL_MAX];
    const char *backend = releaser->release->backend->label;
    CLEANUP(ledger) struct ledger *ledger = ledger_new(backend, TEXT("."));
    ledger_label_write(backend, label);
    store_read_shards(writer_store(releaser->writer), label, ledger_prefix(ledger), shards_read,
                      releaser);
}

static void finish(void *context)
{
    struct releaser *releaser = context;
    let_go(releaser);
    if (releaser->has_failed || releaser->error.text[0])
        writer_end(releaser->writer);
    else
        forget_ledger(releaser);
}

// Not from within a call of the keeper or the exchange, which go.
static void finish_soon(struct releaser *releaser)
{
    releaser->timer = (struct loop_timer){.call = finish, .context = releaser};
    loop_timer_set(writer_world(releaser->writer)->loop, &releaser->timer, 0);
}

static void fail(struct releaser *releaser, const char *text)
{
    error_set(&releaser->error, FAULT_AGAIN, "", "Pi-hole %s: %s", releaser->release->backend->name,
              text);
    finish_soon(releaser);
}

// ---- removing -----------------------------------------------------------------------------------

static void flushed(void *context, bool is_stored)
{
    struct releaser *releaser = context;
    releaser->has_failed = releaser->has_failed || !is_stored;
    finish_soon(releaser);
}

static void left(void *context)
{
    struct releaser *releaser = context;
    if (!ledger_keeper_flush(releaser->keeper, flushed, releaser))
        finish_soon(releaser);
}

static void leave(struct releaser *releaser)
{
    releaser->exchange.done = left;
    backend_exchange_leave(&releaser->exchange, &releaser->job);
}

static bool fill_batch(struct releaser *releaser)
{
    struct job *job = &releaser->job;
    arena_reset(releaser->turn);
    *job = (struct job){.kind = JOB_CHANGES,
                        .arena = releaser->turn,
                        .trace = EXCHANGE_NO_TRACE,
                        .ledger = &releaser->view};
    job->changes = arena_new_array(releaser->turn, struct change, BATCH_MAX);
    while (releaser->next < releaser->count && job->change_count < BATCH_MAX)
        job->changes[job->change_count++] =
            (struct change){.op = CHANGE_REMOVE, .set = releaser->sets[releaser->next++]};
    return job->change_count > 0;
}

static const char *fault_of(const struct releaser *releaser, const struct outcome *outcome)
{
    if (outcome->is_done)
        return NULL;
    if (outcome->error)
        return outcome->error->text;
    if (releaser->job.unavailable)
        return releaser->job.unavailable->text;
    return "the Pi-hole did not answer within --timeout";
}

static void report_batch(struct releaser *releaser)
{
    const struct release *release = releaser->release;
    for (size_t i = 0; i < releaser->job.change_count; i++) {
        const struct change *change = &releaser->job.changes[i];
        const char *fault = fault_of(releaser, &change->outcome);
        release->reported(release->context, &change->set, fault);
        releaser->has_failed = releaser->has_failed || fault;
        if (!fault)
            ledger_keeper_drop(releaser->keeper, &change->set);
    }
}

static void batch_done(void *context)
{
    struct releaser *releaser = context;
    report_batch(releaser);
    if (fill_batch(releaser))
        backend_exchange_begin(&releaser->exchange, &releaser->job, releaser->release->timeout_ms);
    else
        leave(releaser);
}

// ---- looking ------------------------------------------------------------------------------------

static const char *ownership_of(const struct release *release)
{
    const struct pihole_targets *targets = release->backend->settings;
    return targets->items[release->backend->at].ownership;
}

// Without a ledger nothing tells whether it is ours.
static bool is_doubtful(const struct releaser *releaser, const struct record_set *set)
{
    bool has_tags = strcmp(ownership_of(releaser->release), "annotation") != 0;
    return !ledger_keeper_count(releaser->keeper) && (set->type == RECORD_CNAME || !has_tags);
}

static void take(void *context, const struct existing_set *existing)
{
    struct releaser *releaser = context;
    struct text name = existing->set.domain;
    if (!existing->is_ours && is_doubtful(releaser, &existing->set))
        releaser->release->left(releaser->release->context, &existing->set);
    if (!existing->is_ours)
        return;
    mem_reserve(&releaser->sets, &releaser->capacity, releaser->count + 1);
    releaser->sets[releaser->count++] = (struct record_set){
        .type = existing->set.type,
        .domain = {arena_copy(releaser->arena, name.at, name.len), name.len},
        .subdomain = TEXT("@"),
        .priority = -1,
    };
}

static void looked(void *context)
{
    struct releaser *releaser = context;
    const struct job *job = &releaser->job;
    if (!job->is_listed || job->unavailable) {
        fail(releaser, job->unavailable ? job->unavailable->text : "its lists could not be read");
        return;
    }
    releaser->exchange.done = batch_done;
    if (fill_batch(releaser))
        backend_exchange_begin(&releaser->exchange, &releaser->job, releaser->release->timeout_ms);
    else
        leave(releaser);
}

static void look(struct releaser *releaser)
{
    struct error err;
    const struct release *release = releaser->release;
    releaser->view = ledger_keeper_view(releaser->keeper);
    releaser->job = (struct job){.kind = JOB_HEALTH,
                                 .arena = releaser->turn,
                                 .trace = EXCHANGE_NO_TRACE,
                                 .ledger = &releaser->view,
                                 .report_existing = take,
                                 .context = releaser};
    releaser->exchange = (struct backend_exchange){
        .world = writer_world(releaser->writer), .done = looked, .context = releaser};
    if (backend_exchange_open(&releaser->exchange, release->backend, false,
                              store_owner_id(writer_store(releaser->writer)), &err))
        backend_exchange_begin(&releaser->exchange, &releaser->job, release->timeout_ms);
    else
        fail(releaser, err.text);
}

static void ledger_changed(void *context)
{
    struct releaser *releaser = context;
    const struct error *trouble = ledger_keeper_why_degraded(releaser->keeper);
    if (releaser->is_looking || releaser->error.text[0])
        return;
    if (ledger_keeper_is_read(releaser->keeper)) {
        releaser->is_looking = true;
        look(releaser);
    } else if (trouble) {
        fail(releaser, trouble->text);
    }
}

// ---- from beginning to end ----------------------------------------------------------------------

static void begin(void *context, struct writer *writer)
{
    struct releaser *releaser = context;
    releaser->writer = writer;
    releaser->keeper = ledger_keeper_new(&(struct ledger_setup){
        .calls = &releaser->calls,
        .loop = writer_world(writer)->loop,
        .store = writer_store(writer),
        .backend = releaser->release->backend->label,
        .zone = ".",
        .changed = ledger_changed,
        .context = releaser,
    });
    ledger_keeper_open(releaser->keeper);
}

static void lost(void *context)
{
    struct releaser *releaser = context;
    loop_timer_cancel(writer_world(releaser->writer)->loop, &releaser->timer);
    let_go(releaser);
}

bool pihole_release(const struct release *release, struct error *err)
{
    struct releaser releaser = {.release = release, .arena = arena_new(), .turn = arena_new()};
    const struct writer_calls calls = {.begin = begin, .lost = lost, .context = &releaser};
    bool is_done = writer_run(release->setup, release->timeout_ms, &calls, err);
    if (is_done && releaser.error.text[0])
        *err = releaser.error;
    ledger_calls_free(&releaser.calls);
    arena_free(releaser.arena);
    arena_free(releaser.turn);
    free(releaser.sets);
    return is_done && !releaser.error.text[0];
}
