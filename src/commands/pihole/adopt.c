#include "commands/pihole/adopt.h"

#include <stdlib.h>
#include <string.h>

#include "commands/backend_exchange.h"
#include "commands/writer.h"
#include "engine/ledgers.h"

enum { BATCH_MAX = 500 };

// ---- the list -----------------------------------------------------------------------------------

static struct adoption *find(const struct adoptions *adoptions, const struct adoption *wanted)
{
    for (size_t i = 0; i < adoptions->count; i++) {
        struct adoption *adoption = &adoptions->items[i];
        if (adoption->backend == wanted->backend && adoption->type == wanted->type &&
            text_equal(adoption->name, wanted->name))
            return adoption;
    }
    return NULL;
}

static struct text lower(struct arena *arena, struct text text)
{
    char *copy = arena_copy(arena, text.at, text.len);
    for (size_t i = 0; i < text.len; i++)
        copy[i] = copy[i] >= 'A' && copy[i] <= 'Z' ? (char)(copy[i] - 'A' + 'a') : copy[i];
    if (text.len && copy[text.len - 1] == '.')
        text.len--;
    return (struct text){copy, text.len};
}

static void add_value(struct adoption *adoption, struct arena *arena, struct text value)
{
    struct text *values = arena_new_array(arena, struct text, adoption->value_count + 1);
    if (adoption->value_count)
        memcpy(values, adoption->values, adoption->value_count * sizeof *values);
    values[adoption->value_count++] = value;
    adoption->values = values;
}

static void add(struct adoptions *adoptions, struct arena *arena, const struct adoption *wanted,
                struct text value)
{
    value = record_value_canonical(arena, wanted->type, value);
    struct adoption *adoption = find(adoptions, wanted);
    if (!adoption) {
        mem_reserve(&adoptions->items, &adoptions->capacity, adoptions->count + 1);
        adoption = &adoptions->items[adoptions->count++];
        *adoption = *wanted;
    }
    add_value(adoption, arena, value);
}

void adoptions_add(struct adoptions *adoptions, struct arena *arena,
                   const struct configured_backend *backend, struct text name, struct text address)
{
    struct text value;
    enum record_type type = memchr(address.at, ':', address.len) ? RECORD_AAAA : RECORD_A;
    struct adoption wanted = {.backend = backend, .name = lower(arena, name), .type = type};
    if (record_value_normalise(arena, type, address, &value, NULL))
        add(adoptions, arena, &wanted, value);
}

void adoptions_add_alias(struct adoptions *adoptions, struct arena *arena,
                         const struct configured_backend *backend, struct text line)
{
    struct text name, value, target_name;
    int64_t ttl_s = 0;
    if (!text_cut(&line, ',', &name) || !text_cut(&line, ',', &target_name) ||
        (line.len && !text_to_int64(text_trim(line), &ttl_s)) || ttl_s < 0 || ttl_s > INT32_MAX ||
        !record_value_normalise(arena, RECORD_CNAME, text_trim(target_name), &value, NULL))
        return;
    const struct adoption wanted = {.backend = backend,
                                    .name = lower(arena, text_trim(name)),
                                    .type = RECORD_CNAME,
                                    .ttl_s = (uint32_t)ttl_s};
    add(adoptions, arena, &wanted, value);
}

void adoptions_done(struct adoptions *adoptions)
{
    free(adoptions->items);
    *adoptions = (struct adoptions){0};
}

// ---- doing it -----------------------------------------------------------------------------------

struct adopter {
    const struct adopt *adopt;
    struct writer *writer;
    const char *owner_id;
    const struct configured_backends *backends;
    size_t at;           // of the Pi-holes
    size_t first;        // of its adoptions: where the next batch begins
    struct arena *arena; // of one exchange
    struct backend_exchange exchange;
    struct job job;
    const struct adoption *batch[BATCH_MAX];
    struct ledger_calls calls;
    struct ledger_keeper *keeper; // of the Pi-hole
    struct ledger_view view;
    bool is_begun; // it is read
    struct loop_timer timer;
};

static void next_target(struct adopter *adopter);

static bool fill_batch(struct adopter *adopter)
{
    const struct adoptions *all = adopter->adopt->adoptions;
    struct job *job = &adopter->job;
    const struct configured_backend *backend = &adopter->backends->items[adopter->at];
    arena_reset(adopter->arena);
    *job = (struct job){.kind = JOB_CHANGES,
                        .arena = adopter->arena,
                        .trace = EXCHANGE_NO_TRACE,
                        .is_by_hand = true,
                        .ledger = &adopter->view};
    job->changes = arena_new_array(adopter->arena, struct change, BATCH_MAX);
    for (; adopter->first < all->count && job->change_count < BATCH_MAX; adopter->first++) {
        const struct adoption *adoption = &all->items[adopter->first];
        if (adoption->backend != backend)
            continue;
        adopter->batch[job->change_count] = adoption;
        job->changes[job->change_count++] = (struct change){
            .op = CHANGE_SET,
            .may_adopt = true,
            .set = {.type = adoption->type,
                    .domain = adoption->name,
                    .subdomain = TEXT("@"),
                    .ttl_s = adoption->ttl_s,
                    .values = adoption->values,
                    .value_count = adoption->value_count,
                    .priority = -1},
        };
    }
    return job->change_count > 0;
}

static const char *fault_of(const struct adopter *adopter, const struct outcome *outcome)
{
    if (outcome->is_done && !outcome->is_foreign)
        return NULL;
    if (outcome->is_done)
        return "it stays as it is: somebody wrote another line for that name";
    if (outcome->error)
        return outcome->error->text;
    if (adopter->job.unavailable)
        return adopter->job.unavailable->text;
    return "the Pi-hole did not answer within --timeout";
}

// ---- the end of one Pi-hole ---------------------------------------------------------------------

static void let_go(struct adopter *adopter)
{
    backend_exchange_close(&adopter->exchange);
    ledger_keeper_free(adopter->keeper);
    adopter->keeper = NULL;
}

static void finish_target(void *context)
{
    struct adopter *adopter = context;
    let_go(adopter);
    adopter->at++;
    next_target(adopter);
}

// Not from within a call of the keeper or the exchange, which go.
static void finish_target_soon(struct adopter *adopter)
{
    adopter->timer = (struct loop_timer){.call = finish_target, .context = adopter};
    loop_timer_set(writer_world(adopter->writer)->loop, &adopter->timer, 0);
}

static void refuse_all(struct adopter *adopter, const char *fault)
{
    do {
        for (size_t i = 0; i < adopter->job.change_count; i++)
            adopter->adopt->reported(adopter->adopt->context, adopter->batch[i], fault);
    } while (fill_batch(adopter));
    finish_target_soon(adopter);
}

static void flushed(void *context, bool is_stored)
{
    (void)is_stored;
    finish_target_soon(context);
}

static void target_left(void *context)
{
    struct adopter *adopter = context;
    if (!ledger_keeper_flush(adopter->keeper, flushed, adopter))
        finish_target_soon(adopter);
}

// ---- one batch ----------------------------------------------------------------------------------

static void begin_batch(struct adopter *adopter);

// What the ledger has to remember of it; "": nothing.
static const char *entry_of(const struct adopter *adopter, const struct record_set *set)
{
    AUTO_BUFFER out = {0};
    const struct backend_exchange *exchange = &adopter->exchange;
    return exchange->provider->entry(exchange->session, set, &out)
               ? arena_copy(adopter->arena, out.at, out.len)
               : "";
}

static void settle(struct adopter *adopter, const struct change *change, bool is_ours)
{
    const char *entry = entry_of(adopter, &change->set);
    if (*entry && is_ours)
        ledger_keeper_settle(adopter->keeper, &change->set, text_of(entry), NULL);
    else if (*entry)
        ledger_keeper_drop(adopter->keeper, &change->set);
}

static void batch_done(void *context)
{
    struct adopter *adopter = context;
    const struct adopt *adopt = adopter->adopt;
    for (size_t i = 0; i < adopter->job.change_count; i++) {
        const struct change *change = &adopter->job.changes[i];
        const char *fault = fault_of(adopter, &change->outcome);
        settle(adopter, change, !fault);
        adopt->reported(adopt->context, adopter->batch[i], fault);
    }
    if (fill_batch(adopter)) {
        begin_batch(adopter);
        return;
    }
    adopter->exchange.done = target_left;
    backend_exchange_leave(&adopter->exchange, &adopter->job);
}

static void written_ahead(void *context, bool is_stored)
{
    struct adopter *adopter = context;
    if (is_stored)
        backend_exchange_begin(&adopter->exchange, &adopter->job, adopter->adopt->timeout_ms);
    else
        refuse_all(adopter, "the ledger could not be written");
}

static void begin_batch(struct adopter *adopter)
{
    for (size_t i = 0; i < adopter->job.change_count; i++) {
        const struct record_set *set = &adopter->job.changes[i].set;
        const char *entry = entry_of(adopter, set);
        if (*entry)
            ledger_keeper_expect(adopter->keeper, set, text_of(entry), NULL);
    }
    if (!ledger_keeper_flush(adopter->keeper, written_ahead, adopter))
        written_ahead(adopter, true);
}

// ---- one Pi-hole --------------------------------------------------------------------------------

static void begin_target(struct adopter *adopter)
{
    struct error err;
    adopter->view = ledger_keeper_view(adopter->keeper);
    adopter->exchange = (struct backend_exchange){
        .world = writer_world(adopter->writer), .done = batch_done, .context = adopter};
    if (backend_exchange_open(&adopter->exchange, &adopter->backends->items[adopter->at], false,
                              adopter->owner_id, &err))
        begin_batch(adopter);
    else
        refuse_all(adopter, err.text);
}

static void ledger_changed(void *context)
{
    struct adopter *adopter = context;
    const struct error *trouble = ledger_keeper_why_degraded(adopter->keeper);
    if (adopter->is_begun)
        return;
    adopter->is_begun = trouble || ledger_keeper_is_read(adopter->keeper);
    if (trouble)
        refuse_all(adopter, trouble->text);
    else if (adopter->is_begun)
        begin_target(adopter);
}

static void read_ledger(struct adopter *adopter)
{
    adopter->is_begun = false;
    adopter->keeper = ledger_keeper_new(&(struct ledger_setup){
        .calls = &adopter->calls,
        .loop = writer_world(adopter->writer)->loop,
        .store = writer_store(adopter->writer),
        .backend = adopter->backends->items[adopter->at].label,
        .zone = ".",
        .changed = ledger_changed,
        .context = adopter,
    });
    ledger_keeper_open(adopter->keeper);
}

static void next_target(struct adopter *adopter)
{
    for (; adopter->at < adopter->backends->count; adopter->at++) {
        adopter->first = 0;
        if (fill_batch(adopter)) {
            read_ledger(adopter);
            return;
        }
    }
    writer_end(adopter->writer);
}

static void begin(void *context, struct writer *writer)
{
    struct adopter *adopter = context;
    adopter->writer = writer;
    adopter->owner_id = store_owner_id(writer_store(writer));
    next_target(adopter);
}

static void lost(void *context)
{
    struct adopter *adopter = context;
    loop_timer_cancel(writer_world(adopter->writer)->loop, &adopter->timer);
    let_go(adopter);
}

bool pihole_adopt(const struct adopt *adopt, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct adopter adopter = {.adopt = adopt, .backends = &adopt->setup->backends, .arena = arena};
    const struct writer_calls calls = {.begin = begin, .lost = lost, .context = &adopter};
    bool is_done = writer_run(adopt->setup, adopt->timeout_ms, &calls, err);
    ledger_calls_free(&adopter.calls);
    return is_done;
}
