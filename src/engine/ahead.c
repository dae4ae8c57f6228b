#include <string.h>

#include "base/hash.h"
#include "engine/state.h"

// What the ledger said of a change's name before it was written ahead: only that proves whose
// something is that the talk finds.
struct ahead {
    enum record_type type;
    const char *name;
    const char *before; // NULL: nothing
    const char *stored; // as it will stand there; NULL: it needs no entry
};

struct ahead_key {
    enum record_type type;
    struct text name;
};

static uint64_t key_hash(enum record_type type, struct text name)
{
    return hash_octets(name.at, name.len) + (uint64_t)type;
}

static bool ahead_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct ahead *aheads = context;
    const struct ahead_key *key = wanted;
    return aheads[id].type == key->type && text_is(key->name, aheads[id].name);
}

static uint64_t ahead_hash(const void *context, uint32_t id)
{
    const struct ahead *aheads = context;
    return key_hash(aheads[id].type, text_of(aheads[id].name));
}

static const struct table_ops ahead_ops = {ahead_matches, ahead_hash};

// ---- what a talk sees ---------------------------------------------------------------------------

static struct ledger_view view_of(const void *context)
{
    const struct flight *flight = context;
    return ledger_keeper_view(flight->lane->ledger);
}

static const char *find_before(const void *context, enum record_type type, struct text name)
{
    const struct flight *flight = context;
    const struct ahead_key key = {type, name};
    struct ledger_view view = view_of(context);
    uint32_t at =
        flight->aheads ? table_find(&flight->by_name, key_hash(type, name), &key) : TABLE_NONE;
    return at == TABLE_NONE ? view.find(view.context, type, name) : flight->aheads[at].before;
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

void ahead_look(struct flight *flight)
{
    if (!flight->lane->ledger)
        return;
    flight->ledger = (struct ledger_view){find_before, recall, keep, flight};
    flight->job.ledger = &flight->ledger;
}

// ---- before the talk ----------------------------------------------------------------------------

static const char *stored_of(const struct flight *flight, const struct record_set *set)
{
    AUTO_BUFFER out = {0};
    const struct seat *seat = flight->seat;
    if (!seat->provider->entry || !seat->provider->entry(seat->at, set, &out))
        return NULL;
    return arena_copy_text(flight->job.arena, buffer_text(&out).at);
}

static const struct object *object_of(const struct flight *flight, size_t at)
{
    const struct engine *engine = flight->engine;
    if (flight->claims[at] == NO_ID || engine->claims[flight->claims[at]].is_forgotten)
        return NULL;
    return engine->keys[engine->claims[flight->claims[at]].key].object;
}

static struct ahead ahead_of(const struct flight *flight, size_t at)
{
    const struct change *change = &flight->job.changes[at];
    struct ledger_view view = view_of(flight);
    const char *before = view.find(view.context, change->set.type, change->set.domain);
    return (struct ahead){
        .type = change->set.type,
        .name = arena_copy(flight->job.arena, change->set.domain.at, change->set.domain.len),
        .before = before ? arena_copy_text(flight->job.arena, before) : NULL,
        .stored = change->op == CHANGE_SET ? stored_of(flight, &change->set) : NULL,
    };
}

static void remember(struct flight *flight)
{
    size_t count = flight->job.change_count;
    flight->aheads = arena_new_array(flight->job.arena, struct ahead, count + 1);
    flight->by_name.ops = &ahead_ops;
    flight->by_name.context = flight->aheads;
    for (size_t i = 0; i < count; i++) {
        struct ahead *ahead = &flight->aheads[i];
        *ahead = ahead_of(flight, i);
        table_add(&flight->by_name, key_hash(ahead->type, text_of(ahead->name)), (uint32_t)i);
        if (ahead->stored)
            ledger_keeper_expect(flight->lane->ledger, &flight->job.changes[i].set,
                                 text_of(ahead->stored), object_of(flight, i));
    }
}

// Another talk's, broken off since, may have been what was stored.
static void ledger_is_stored(void *context, bool is_stored)
{
    struct lane *lane = context;
    struct flight *flight = lane->ahead;
    if (!flight)
        return;
    if (is_stored && ledger_keeper_flush(lane->ledger, ledger_is_stored, lane))
        return;
    lane->ahead = NULL;
    if (is_stored)
        flight_talk(flight);
    else
        flight_abort(flight);
}

bool ahead_write(struct flight *flight)
{
    struct lane *lane = flight->lane;
    if (!lane->ledger)
        return false;
    ahead_look(flight);
    remember(flight);
    if (!ledger_keeper_flush(lane->ledger, ledger_is_stored, lane))
        return false;
    lane->ahead = flight;
    return true;
}

void ahead_abort(struct flight *flight)
{
    if (flight->lane->ahead == flight)
        flight->lane->ahead = NULL;
}

// ---- behind the talk ----------------------------------------------------------------------------

static void settle(struct flight *flight, size_t at)
{
    struct ledger_keeper *keeper = flight->lane->ledger;
    const struct change *change = &flight->job.changes[at];
    const struct ahead *ahead = &flight->aheads[at];
    const struct outcome *outcome = &change->outcome;
    bool is_ours = outcome->is_done && change->op == CHANGE_SET && !outcome->is_foreign;
    if (change->op == CHANGE_READ || (!outcome->is_done && !outcome->error))
        return;
    if (is_ours && ahead->stored)
        ledger_keeper_settle(keeper, &change->set, text_of(ahead->stored), object_of(flight, at));
    else if (outcome->is_done || outcome->replaced || !ahead->before)
        ledger_keeper_drop(keeper, &change->set);
    else if (change->op == CHANGE_SET && ahead->stored)
        ledger_keeper_settle(keeper, &change->set, text_of(ahead->before), object_of(flight, at));
}

static void ledger_is_settled(void *context, bool is_stored)
{
    const struct lane *lane = context;
    (void)is_stored;
    engine_schedule(lane->engine);
}

void ahead_settle(struct flight *flight)
{
    if (!flight->lane->ledger)
        return;
    for (size_t i = 0; flight->aheads && i < flight->job.change_count; i++)
        settle(flight, i);
    ledger_keeper_flush(flight->lane->ledger, ledger_is_settled, flight->lane);
}

// ---- life ---------------------------------------------------------------------------------------

static void ledger_changed(void *context)
{
    const struct lane *lane = context;
    engine_schedule(lane->engine);
}

void ahead_open(struct lane *lane)
{
    struct engine *engine = lane->engine;
    if (!lane->provider->has_ledger || !engine->options.store)
        return;
    if (!lane->ledger)
        lane->ledger = ledger_keeper_new(&(struct ledger_setup){.calls = &engine->ledger_calls,
                                                                .loop = engine->loop,
                                                                .store = engine->options.store,
                                                                .backend = lane->name,
                                                                .zone = ".",
                                                                .changed = ledger_changed,
                                                                .context = lane});
    if (engine->is_leading)
        ledger_keeper_open(lane->ledger);
}

const struct error *ahead_trouble(const struct lane *lane)
{
    return lane->ledger ? ledger_keeper_trouble(lane->ledger) : NULL;
}
