#include "engine/ledgers.h"

#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/must.h"
#include "dns/ledger.h"

enum {
    RETRY_MS = 1000, // doubles
    RETRY_MAX_MS = 60000,
};

#define STATE_PENDING "Pending"
#define STATE_WRITTEN "Written"

enum op_type { OP_EXPECT, OP_SETTLE, OP_DROP, OP_KEEP };

// What was staged and is not stored yet: applied anew when the ledger is read again.
struct op {
    struct link link;
    uint64_t number;
    enum op_type type;
    enum record_type record;
    uint8_t hash[8];
    int64_t since_s;
    char *name;   // KEEP: the fact
    char *stored; // KEEP: its value, or NULL
    char *owner;
};

struct waiter {
    struct link link;
    uint64_t number; // of the last op that it waits for
    void (*done)(void *context, bool is_stored);
    void *context;
};

enum call_type { CALL_READ, CALL_PUT, CALL_DROP };

struct ledger_call {
    struct link link;
    struct ledger_calls *all;
    struct ledger_keeper *keeper; // NULL: nobody listens any more
    enum call_type type;
    uint32_t shard;
};

enum keeper_phase { PHASE_IDLE, PHASE_READING, PHASE_PUTTING, PHASE_DROPPING, PHASE_RESTING };

struct ledger_keeper {
    struct ledger_setup setup;
    char *backend;
    struct ledger *ledger;
    bool is_open;
    bool is_read;  // since it was opened
    bool is_stale; // somebody else wrote, or nobody knows what was written: it is read again first
    enum keeper_phase phase;
    size_t calls;           // of this phase, under way
    struct error error;     // of the first of them that failed
    uint64_t staged;        // number of the last op
    uint64_t putting;       // number of the last op that this round stores
    LIST_OF(struct op) ops; // in order, not stored yet
    LIST_OF(struct waiter) waiters;
    struct error why_degraded;
    unsigned failures; // in a row
    struct loop_timer timer;
};

static void work(struct ledger_keeper *keeper);

// ---- ops ----------------------------------------------------------------------------------------

static void op_free(struct op *op)
{
    free(op->name);
    free(op->stored);
    free(op->owner);
    free(op);
}

static void forget_ops(struct ledger_keeper *keeper, uint64_t up_to)
{
    struct op *op;
    while ((op = list_first(&keeper->ops)) && op->number <= up_to) {
        list_remove(&keeper->ops, op);
        op_free(op);
    }
}

static bool has_line(struct text lines, struct text wanted)
{
    struct text line;
    while (text_cut(&lines, '\n', &line))
        if (text_equal(line, wanted))
            return true;
    return false;
}

// The oldest go where there are too many.
static void trim_lines(struct buffer *lines)
{
    while (lines->len > LEDGER_STORED_MAX) {
        const char *end = memchr(lines->at, '\n', lines->len);
        buffer_drop_front(lines, (size_t)(end + 1 - lines->at));
    }
}

// Adds the strings that the record set may still have there from before.
static void add_lines(struct buffer *lines, struct text more)
{
    struct text line;
    while (text_cut(&more, '\n', &line)) {
        if (!line.len || has_line(buffer_text(lines), line))
            continue;
        buffer_add(lines, line.at, line.len);
        buffer_add_char(lines, '\n');
    }
    trim_lines(lines);
}

static struct ledger_entry entry_of(const struct op *op)
{
    struct ledger_entry entry = {
        .type = op->record,
        .name = text_of(op->name),
        .set = TEXT(""),
        .owner = text_of(op->owner),
        .stored = text_of(op->stored),
        .state = op->type == OP_EXPECT ? TEXT(STATE_PENDING) : TEXT(STATE_WRITTEN),
        .since_s = op->since_s,
    };
    memcpy(entry.hash, op->hash, sizeof entry.hash);
    return entry;
}

static bool apply_expect(struct ledger *ledger, const struct op *op)
{
    AUTO_BUFFER lines = {0};
    struct ledger_entry now;
    struct ledger_entry next = entry_of(op);
    if (ledger_find(ledger, op->record, next.name, TEXT(""), &now)) {
        buffer_add(&lines, now.stored.at, now.stored.len);
        add_lines(&lines, next.stored);
        if (text_equal(buffer_text(&lines), now.stored) &&
            !memcmp(now.hash, next.hash, sizeof now.hash))
            return false;
        next.stored = buffer_text(&lines);
    }
    return ledger_put(ledger, &next);
}

// True when it changed anything.
static bool apply(struct ledger *ledger, const struct op *op)
{
    if (op->type == OP_KEEP)
        return ledger_keep(ledger, op->name, op->stored);
    if (op->type == OP_DROP)
        return ledger_drop(ledger, op->record, text_of(op->name), TEXT(""));
    if (op->type == OP_EXPECT)
        return apply_expect(ledger, op);
    const struct ledger_entry entry = entry_of(op);
    return ledger_put(ledger, &entry);
}

// An operation that changes nothing is not stored.
static void stage(struct ledger_keeper *keeper, struct op *op)
{
    must(!keeper->is_open || keeper->is_read);
    op->since_s = loop_unix_ms(keeper->setup.loop) / 1000;
    if (!keeper->is_open || !apply(keeper->ledger, op)) {
        op_free(op);
        return;
    }
    op->number = ++keeper->staged;
    list_append(&keeper->ops, op);
}

static void write_owner(struct buffer *out, const struct object *owner)
{
    if (!owner)
        return;
    buffer_printf(out, "%s/", owner->kind->singular);
    object_write_name(out, owner);
}

static struct op *op_new(enum op_type type, const struct record_set *set)
{
    AUTO_BUFFER name = {0};
    struct op *op = mem_new_of(struct op);
    if (!text_is(set->subdomain, "@"))
        buffer_printf(&name, "%.*s.", TEXT_ARGS(set->subdomain));
    buffer_add(&name, set->domain.at, set->domain.len);
    op->type = type;
    op->record = set->type;
    op->name = buffer_steal(&name);
    return op;
}

static void stage_set(struct ledger_keeper *keeper, enum op_type type, const struct record_set *set,
                      struct text stored, const struct object *owner)
{
    AUTO_BUFFER named = {0};
    struct op *op = op_new(type, set);
    write_owner(&named, owner);
    op->stored = text_dup(stored);
    op->owner = buffer_steal(&named);
    ledger_hash(set, op->hash);
    stage(keeper, op);
}

void ledger_keeper_expect(struct ledger_keeper *keeper, const struct record_set *set,
                          struct text stored, const struct object *owner)
{
    stage_set(keeper, OP_EXPECT, set, stored, owner);
}

void ledger_keeper_settle(struct ledger_keeper *keeper, const struct record_set *set,
                          struct text stored, const struct object *owner)
{
    stage_set(keeper, OP_SETTLE, set, stored, owner);
}

void ledger_keeper_drop(struct ledger_keeper *keeper, const struct record_set *set)
{
    stage(keeper, op_new(OP_DROP, set));
}

// ---- waiters ------------------------------------------------------------------------------------

static void notify_waiters(struct ledger_keeper *keeper, uint64_t up_to, bool is_stored)
{
    LIST_OF(struct waiter) reported = {0};
    list_each (waiter, &keeper->waiters)
        if (waiter->number <= up_to) {
            list_remove(&keeper->waiters, waiter);
            list_append(&reported, waiter);
        }
    for (struct waiter *waiter; (waiter = list_take_first(&reported));) {
        waiter->done(waiter->context, is_stored);
        free(waiter);
    }
}

static void add_waiter(struct ledger_keeper *keeper, void (*done)(void *context, bool is_stored),
                       void *context)
{
    struct waiter *waiter = mem_new_of(struct waiter);
    *waiter = (struct waiter){.number = keeper->staged, .done = done, .context = context};
    list_append(&keeper->waiters, waiter);
}

bool ledger_keeper_flush(struct ledger_keeper *keeper, void (*done)(void *context, bool is_stored),
                         void *context)
{
    bool is_staged = keeper->is_open && list_first(&keeper->ops);
    if (is_staged && done)
        add_waiter(keeper, done, context);
    if (keeper->is_open)
        work(keeper);
    return is_staged;
}

// ---- degraded -----------------------------------------------------------------------------------

static void report_state(struct ledger_keeper *keeper)
{
    if (keeper->setup.changed)
        keeper->setup.changed(keeper->setup.context);
}

static bool is_degraded(const struct ledger_keeper *keeper)
{
    return keeper->why_degraded.fault != FAULT_NONE;
}

static void set_degraded(struct ledger_keeper *keeper, const char *reason, const char *what,
                         const struct error *error)
{
    struct error why = *error;
    error_set(&why, error->fault, reason, "the ledger of %s %s: %s", keeper->backend, what,
              error->text);
    if (!strcmp(why.text, keeper->why_degraded.text))
        return;
    keeper->why_degraded = why;
    report_state(keeper);
}

static void end_degraded(struct ledger_keeper *keeper)
{
    bool was_degraded = is_degraded(keeper);
    error_clear(&keeper->why_degraded);
    if (was_degraded)
        report_state(keeper);
}

static void rest(struct ledger_keeper *keeper, const struct error *error)
{
    int64_t wait_ms = backoff_ms(RETRY_MS, RETRY_MAX_MS, ++keeper->failures);
    if (error->fault == FAULT_SPEC || error->fault == FAULT_AUTH)
        wait_ms = RETRY_MAX_MS;
    if (wait_ms < error->retry_ms)
        wait_ms = error->retry_ms;
    keeper->phase = PHASE_RESTING;
    loop_timer_set(keeper->setup.loop, &keeper->timer, wait_ms);
}

// ---- calls --------------------------------------------------------------------------------------

static struct ledger_call *call_new(struct ledger_keeper *keeper, enum call_type type,
                                    uint32_t shard)
{
    struct ledger_calls *all = keeper->setup.calls;
    struct ledger_call *call = mem_new_of(struct ledger_call);
    *call = (struct ledger_call){.all = all, .keeper = keeper, .type = type, .shard = shard};
    list_prepend(&all->list, call);
    keeper->calls++;
    return call;
}

static void call_free(struct ledger_call *call)
{
    list_remove(&call->all->list, call);
    free(call);
}

void ledger_calls_free(struct ledger_calls *calls)
{
    for (struct ledger_call *call; (call = list_take_first(&calls->list));)
        free(call);
}

// Their replies come, and say nothing to it any more.
static void abandon_calls(struct ledger_keeper *keeper)
{
    list_each (call, &keeper->setup.calls->list)
        if (call->keeper == keeper)
            call->keeper = NULL;
    keeper->calls = 0;
}

static void call_done(void *context, const struct store_reply *reply);

// ---- reading ------------------------------------------------------------------------------------

static void begin_read(struct ledger_keeper *keeper)
{
    char label[LEDGER_LABEL_MAX];
    keeper->phase = PHASE_READING;
    ledger_label_write(keeper->backend, label);
    store_read_shards(keeper->setup.store, label, ledger_prefix(keeper->ledger), call_done,
                      call_new(keeper, CALL_READ, 0));
}

static bool take_shards(struct ledger_keeper *keeper, const struct store_reply *reply,
                        struct error *err)
{
    autofree struct ledger_shard_text *shards =
        mem_new_array(struct ledger_shard_text, reply->shard_count + 1);
    for (size_t i = 0; i < reply->shard_count; i++)
        shards[i] = (struct ledger_shard_text){reply->shards[i].name, reply->shards[i].version,
                                               reply->shards[i].text};
    return ledger_read(keeper->ledger, shards, reply->shard_count, err);
}

static void read_failed(struct ledger_keeper *keeper, const struct error *error)
{
    bool is_broken = error->fault == FAULT_SPEC;
    rest(keeper, error);
    set_degraded(keeper, "LedgerUnreadable",
                 is_broken ? "cannot be understood, so nothing is written there; repair it, or "
                             "delete it, and what it names counts as somebody else's"
                           : "cannot be read, so nothing is written there",
                 error);
}

static void was_read(struct ledger_keeper *keeper, const struct store_reply *reply)
{
    struct error err;
    bool is_first = !keeper->is_read;
    if (!reply->is_ok || !take_shards(keeper, reply, &err)) {
        read_failed(keeper, reply->is_ok ? &err : &reply->error);
        return;
    }
    list_each (op, &keeper->ops)
        apply(keeper->ledger, op);
    keeper->is_read = true;
    keeper->is_stale = false;
    keeper->phase = PHASE_IDLE;
    if (is_first) {
        keeper->failures = 0;
        error_clear(&keeper->why_degraded);
        report_state(keeper);
    }
    work(keeper);
}

// ---- writing ------------------------------------------------------------------------------------

static void put_shard(struct ledger_keeper *keeper, const struct ledger_task *task)
{
    AUTO_BUFFER text = {0};
    char label[LEDGER_LABEL_MAX];
    ledger_label_write(keeper->backend, label);
    ledger_write_shard(keeper->ledger, task->shard, &text);
    const struct store_shard_put put = {label, task->name, task->version, buffer_text(&text)};
    store_put_shard(keeper->setup.store, &put, call_done, call_new(keeper, CALL_PUT, task->shard));
}

static void begin_puts(struct ledger_keeper *keeper)
{
    struct ledger_task task;
    error_clear(&keeper->error);
    keeper->putting = keeper->staged;
    keeper->phase = PHASE_PUTTING;
    while (ledger_next_put(keeper->ledger, &task))
        put_shard(keeper, &task);
}

static void begin_drops(struct ledger_keeper *keeper)
{
    struct ledger_task task;
    keeper->phase = PHASE_DROPPING;
    while (ledger_next_drop(keeper->ledger, &task))
        store_drop_shard(keeper->setup.store, task.name, task.version, call_done,
                         call_new(keeper, CALL_DROP, task.shard));
}

// Nobody knows what stands there now, or somebody else does.
static void write_failed(struct ledger_keeper *keeper, const struct error *error)
{
    bool is_race = error->fault == FAULT_RACE;
    keeper->is_stale = true;
    if (is_race && !keeper->failures) {
        keeper->failures++;
        keeper->phase = PHASE_IDLE;
        work(keeper);
        return;
    }
    rest(keeper, error);
    if (!is_race && strcmp(error->reason, "Standby") != 0)
        set_degraded(keeper, "LedgerNotStored", "cannot be stored, so nothing is written there",
                     error);
}

static void were_put(struct ledger_keeper *keeper)
{
    uint64_t stored = keeper->putting;
    keeper->failures = 0;
    forget_ops(keeper, stored);
    begin_drops(keeper);
    end_degraded(keeper);
    notify_waiters(keeper, stored, true);
}

static void end_phase(struct ledger_keeper *keeper)
{
    if (keeper->error.fault != FAULT_NONE) {
        write_failed(keeper, &keeper->error);
        return;
    }
    if (keeper->phase == PHASE_PUTTING)
        were_put(keeper);
    if (keeper->phase != PHASE_DROPPING || keeper->calls)
        return;
    keeper->phase = PHASE_IDLE;
    work(keeper);
}

static void was_written(struct ledger_keeper *keeper, const struct ledger_call *call,
                        const struct store_reply *reply)
{
    if (!reply->is_ok && keeper->error.fault == FAULT_NONE)
        keeper->error = reply->error;
    if (reply->is_ok && call->type == CALL_PUT)
        ledger_was_put(keeper->ledger, call->shard, reply->version ? reply->version : "");
    if (reply->is_ok && call->type == CALL_DROP)
        ledger_was_dropped(keeper->ledger, call->shard);
    if (!keeper->calls)
        end_phase(keeper);
}

static void call_done(void *context, const struct store_reply *reply)
{
    struct ledger_call *call = context;
    struct ledger_keeper *keeper = call->keeper;
    const struct ledger_call ended = *call;
    call_free(call);
    if (!keeper)
        return;
    keeper->calls--;
    if (ended.type == CALL_READ)
        was_read(keeper, reply);
    else
        was_written(keeper, &ended, reply);
}

// What is to be done next, if nothing is under way.
static void work(struct ledger_keeper *keeper)
{
    if (keeper->phase != PHASE_IDLE || !keeper->is_open)
        return;
    if (!keeper->is_read || keeper->is_stale) {
        begin_read(keeper);
        return;
    }
    if (!ledger_is_due(keeper->ledger)) {
        forget_ops(keeper, keeper->staged);
        end_degraded(keeper);
        notify_waiters(keeper, keeper->staged, true);
        return;
    }
    begin_puts(keeper);
    if (!keeper->calls)
        end_phase(keeper);
}

static void rested(void *context)
{
    struct ledger_keeper *keeper = context;
    keeper->phase = PHASE_IDLE;
    work(keeper);
}

// ---- life ---------------------------------------------------------------------------------------

struct ledger_keeper *ledger_keeper_new(const struct ledger_setup *setup)
{
    struct ledger_keeper *keeper = mem_new_of(struct ledger_keeper);
    keeper->setup = *setup;
    keeper->backend = mem_copy_text(setup->backend);
    keeper->setup.backend = keeper->setup.zone = NULL;
    keeper->ledger = ledger_new(setup->backend, text_of(setup->zone));
    keeper->timer = (struct loop_timer){.call = rested, .context = keeper};
    return keeper;
}

static void reset(struct ledger_keeper *keeper)
{
    abandon_calls(keeper);
    loop_timer_cancel(keeper->setup.loop, &keeper->timer);
    forget_ops(keeper, keeper->staged);
    error_clear(&keeper->why_degraded);
    keeper->is_open = keeper->is_read = keeper->is_stale = false;
    keeper->phase = PHASE_IDLE;
    keeper->failures = 0;
}

void ledger_keeper_free(struct ledger_keeper *keeper)
{
    if (!keeper)
        return;
    reset(keeper);
    list_each (waiter, &keeper->waiters)
        free(waiter);
    ledger_free(keeper->ledger);
    free(keeper->backend);
    free(keeper);
}

void ledger_keeper_open(struct ledger_keeper *keeper)
{
    if (keeper->is_open)
        return;
    keeper->is_open = true;
    work(keeper);
}

void ledger_keeper_close(struct ledger_keeper *keeper)
{
    if (!keeper->is_open)
        return;
    reset(keeper);
    notify_waiters(keeper, keeper->staged, false);
}

// ---- looking in ---------------------------------------------------------------------------------

bool ledger_keeper_is_read(const struct ledger_keeper *keeper)
{
    return keeper->is_read;
}

const struct error *ledger_keeper_why_degraded(const struct ledger_keeper *keeper)
{
    return is_degraded(keeper) ? &keeper->why_degraded : NULL;
}

bool ledger_keeper_is_idle(const struct ledger_keeper *keeper)
{
    return !list_first(&keeper->ops) && !keeper->calls;
}

size_t ledger_keeper_count(const struct ledger_keeper *keeper)
{
    return ledger_count(keeper->ledger);
}

void ledger_keeper_each(const struct ledger_keeper *keeper,
                        void (*call)(void *context, enum record_type type, struct text name,
                                     const char *stored),
                        void *context)
{
    struct ledger_entry entry;
    for (size_t cursor = 0; ledger_next(keeper->ledger, &cursor, &entry);)
        call(context, entry.type, entry.name, entry.stored.at);
}

// ---- for exchanges ------------------------------------------------------------------------------

static const char *view_find(const void *context, enum record_type type, struct text name)
{
    const struct ledger_keeper *keeper = context;
    struct ledger_entry entry;
    return ledger_find(keeper->ledger, type, name, TEXT(""), &entry) ? entry.stored.at : NULL;
}

static const char *view_recall(const void *context, const char *fact)
{
    const struct ledger_keeper *keeper = context;
    return ledger_fact(keeper->ledger, fact);
}

static void view_keep(void *context, const char *fact, const char *value)
{
    struct op *op = mem_new_of(struct op);
    op->type = OP_KEEP;
    op->name = mem_copy_text(fact);
    op->stored = value ? mem_copy_text(value) : NULL;
    stage(context, op);
}

struct ledger_view ledger_keeper_view(struct ledger_keeper *keeper)
{
    return (struct ledger_view){
        .find = view_find, .recall = view_recall, .keep = view_keep, .context = keeper};
}
