#include <string.h>

#include "base/hash.h"
#include "engine/exchange_state.h"

// What the ledger said of a change's name before it was written ahead: only that proves whose
// something is that the exchange finds.
struct write_ahead {
    enum record_type type;
    const char *name;
    const char *before; // NULL: nothing
    const char *stored; // as it will stand there; NULL: it needs no entry
};

struct write_ahead_key {
    enum record_type type;
    struct text name;
};

static uint64_t key_hash(enum record_type type, struct text name)
{
    return hash_octets(name.at, name.len) + (uint64_t)type;
}

static bool write_ahead_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct write_ahead *write_aheads = context;
    const struct write_ahead_key *key = wanted;
    return write_aheads[id].type == key->type && text_is(key->name, write_aheads[id].name);
}

static uint64_t write_ahead_hash(const void *context, uint32_t id)
{
    const struct write_ahead *write_aheads = context;
    return key_hash(write_aheads[id].type, text_of(write_aheads[id].name));
}

static const struct table_ops write_ahead_ops = {write_ahead_matches, write_ahead_hash};

// ---- what an exchange sees ----------------------------------------------------------------------

static struct ledger_view view_of(const void *context)
{
    const struct exchange *exchange = context;
    return ledger_keeper_view(exchange->backend->ledger);
}

static const char *find_before(const void *context, enum record_type type, struct text name)
{
    const struct exchange *exchange = context;
    const struct write_ahead_key key = {type, name};
    struct ledger_view view = view_of(context);
    uint32_t at = exchange->write_aheads
                      ? table_find(&exchange->by_name, key_hash(type, name), &key)
                      : TABLE_NONE;
    return at == TABLE_NONE ? view.find(view.context, type, name)
                            : exchange->write_aheads[at].before;
}

static const char *recall(const void *context, const char *fact)
{
    struct ledger_view view = view_of(context);
    return view.recall(view.context, fact);
}

static void keep(void *context, const char *fact, const char *value)
{
    struct ledger_view view = view_of(context);
    view.keep(view.context, fact, value);
}

void write_ahead_look(struct exchange *exchange)
{
    if (!exchange->backend->ledger)
        return;
    exchange->ledger = (struct ledger_view){find_before, recall, keep, exchange};
    exchange->job.ledger = &exchange->ledger;
}

// ---- before the exchange ------------------------------------------------------------------------

static const char *stored_of(const struct exchange *exchange, const struct record_set *set)
{
    AUTO_BUFFER out = {0};
    const struct session *session = exchange->session;
    if (!session->provider->entry || !session->provider->entry(session->at, set, &out))
        return NULL;
    return arena_copy_text(exchange->job.arena, buffer_text(&out).at);
}

static const struct object *object_of(const struct exchange *exchange, size_t at)
{
    const struct engine *engine = exchange->engine;
    if (exchange->claims[at] == NO_ID ||
        claim_is_forgotten(claim_get(engine, exchange->claims[at])))
        return NULL;
    return claim_object(engine, claim_get(engine, exchange->claims[at]));
}

static struct write_ahead write_ahead_of(const struct exchange *exchange, size_t at)
{
    const struct change *change = &exchange->job.changes[at];
    struct ledger_view view = view_of(exchange);
    const char *before = view.find(view.context, change->set.type, change->set.domain);
    return (struct write_ahead){
        .type = change->set.type,
        .name = arena_copy(exchange->job.arena, change->set.domain.at, change->set.domain.len),
        .before = before ? arena_copy_text(exchange->job.arena, before) : NULL,
        .stored = change->op == CHANGE_SET ? stored_of(exchange, &change->set) : NULL,
    };
}

static void remember(struct exchange *exchange)
{
    size_t count = exchange->job.change_count;
    exchange->write_aheads = arena_new_array(exchange->job.arena, struct write_ahead, count + 1);
    exchange->by_name.ops = &write_ahead_ops;
    exchange->by_name.context = exchange->write_aheads;
    for (size_t i = 0; i < count; i++) {
        struct write_ahead *write_ahead = &exchange->write_aheads[i];
        *write_ahead = write_ahead_of(exchange, i);
        table_add(&exchange->by_name, key_hash(write_ahead->type, text_of(write_ahead->name)),
                  (uint32_t)i);
        if (write_ahead->stored)
            ledger_keeper_expect(exchange->backend->ledger, &exchange->job.changes[i].set,
                                 text_of(write_ahead->stored), object_of(exchange, i));
    }
}

// Another exchange's, broken off since, may have been what was stored.
static void ledger_is_stored(void *context, bool is_stored)
{
    struct backend *backend = context;
    struct exchange *exchange = backend->write_ahead;
    if (!exchange)
        return;
    if (is_stored && ledger_keeper_flush(backend->ledger, ledger_is_stored, backend))
        return;
    backend->write_ahead = NULL;
    if (is_stored)
        exchange_start(exchange);
    else
        exchange_abort(exchange);
}

bool write_ahead_store(struct exchange *exchange)
{
    struct backend *backend = exchange->backend;
    if (!backend->ledger)
        return false;
    write_ahead_look(exchange);
    remember(exchange);
    if (!ledger_keeper_flush(backend->ledger, ledger_is_stored, backend))
        return false;
    backend->write_ahead = exchange;
    return true;
}

void write_ahead_abort(struct exchange *exchange)
{
    if (exchange->backend->write_ahead == exchange)
        exchange->backend->write_ahead = NULL;
}

// ---- behind the exchange ------------------------------------------------------------------------

static void settle(struct exchange *exchange, size_t at)
{
    struct ledger_keeper *keeper = exchange->backend->ledger;
    const struct change *change = &exchange->job.changes[at];
    const struct write_ahead *write_ahead = &exchange->write_aheads[at];
    const struct outcome *outcome = &change->outcome;
    bool is_ours = outcome->is_done && change->op == CHANGE_SET && !outcome->is_foreign;
    if (change->op == CHANGE_READ || (!outcome->is_done && !outcome->error))
        return;
    if (is_ours && write_ahead->stored)
        ledger_keeper_settle(keeper, &change->set, text_of(write_ahead->stored),
                             object_of(exchange, at));
    else if (outcome->is_done || outcome->replaced || !write_ahead->before)
        ledger_keeper_drop(keeper, &change->set);
    else if (change->op == CHANGE_SET && write_ahead->stored)
        ledger_keeper_settle(keeper, &change->set, text_of(write_ahead->before),
                             object_of(exchange, at));
}

static void ledger_is_settled(void *context, bool is_stored)
{
    const struct backend *backend = context;
    (void)is_stored;
    engine_schedule(backend->engine);
}

void write_ahead_settle(struct exchange *exchange)
{
    if (!exchange->backend->ledger)
        return;
    for (size_t i = 0; exchange->write_aheads && i < exchange->job.change_count; i++)
        settle(exchange, i);
    ledger_keeper_flush(exchange->backend->ledger, ledger_is_settled, exchange->backend);
}

// ---- life ---------------------------------------------------------------------------------------

static void ledger_changed(void *context)
{
    const struct backend *backend = context;
    engine_schedule(backend->engine);
}

void write_ahead_open(struct backend *backend)
{
    struct engine *engine = backend->engine;
    if (!backend->provider->has_ledger || !engine->options.store)
        return;
    if (!backend->ledger)
        backend->ledger = ledger_keeper_new(&(struct ledger_setup){.calls = &engine->ledger_calls,
                                                                   .loop = engine->loop,
                                                                   .store = engine->options.store,
                                                                   .backend = backend->name,
                                                                   .zone = ".",
                                                                   .changed = ledger_changed,
                                                                   .context = backend});
    if (engine->is_leading)
        ledger_keeper_open(backend->ledger);
}

const struct error *write_ahead_why_degraded(const struct backend *backend)
{
    return backend->ledger ? ledger_keeper_why_degraded(backend->ledger) : NULL;
}
