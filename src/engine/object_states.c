#include "engine/object_states.h"

#include <stdlib.h>
#include <string.h>

#include "base/when.h"
#include "engine/state.h"

enum { REASONS_MAX = 1024 }; // different ones; those of a status are a table of its kind

struct state_row {
    char *message; // NULL: none
    uint32_t since_s;
    uint16_t reason; // from 1, in object_states.reasons; 0: none
    uint8_t readiness;
    bool is_shown : 1;
    bool is_in_order : 1;
};

struct object_states {
    struct state_row *rows; // by key
    size_t capacity;
    char **reasons;
    size_t reason_count;
    size_t reason_capacity;
    uint32_t *order; // keys by kind, namespace and name
    size_t count;
    size_t order_capacity;
    bool is_stale; // keys have come or gone since it was made
};

struct object_states *object_states_new(void)
{
    return mem_new_of(struct object_states);
}

void object_states_free(struct object_states *states)
{
    if (!states)
        return;
    for (size_t i = 0; i < states->capacity; i++)
        free(states->rows[i].message);
    for (size_t i = 0; i < states->reason_count; i++)
        free(states->reasons[i]);
    free(states->rows);
    free(states->reasons);
    free(states->order);
    free(states);
}

// ---- what a decision says -----------------------------------------------------------------------

static struct state_row *row_of(struct object_states *states, uint32_t key)
{
    size_t before = states->capacity;
    mem_reserve(&states->rows, &states->capacity, (size_t)key + 1);
    for (size_t i = before; i < states->capacity; i++)
        states->rows[i] = (struct state_row){0};
    return &states->rows[key];
}

static uint16_t find_reason(struct object_states *states, struct text reason)
{
    if (!reason.len)
        return 0;
    for (size_t i = 0; i < states->reason_count; i++)
        if (text_is(reason, states->reasons[i]))
            return (uint16_t)(i + 1);
    if (states->reason_count == REASONS_MAX)
        return 0;
    mem_reserve(&states->reasons, &states->reason_capacity, states->reason_count + 1);
    states->reasons[states->reason_count++] = text_dup(reason);
    return (uint16_t)states->reason_count;
}

static void row_set(struct object_states *states, struct state_row *row,
                    enum object_readiness readiness, struct text reason, struct text message)
{
    row->is_shown = true;
    row->readiness = (uint8_t)readiness;
    row->reason = find_reason(states, reason);
    free(row->message);
    row->message = message.len && readiness != OBJECT_READY ? text_dup(message) : NULL;
}

static uint32_t time_of(const struct value *condition)
{
    int64_t unix_ms;
    if (!when_parse(value_text_at(condition, "lastTransitionTime"), &unix_ms, NULL) || unix_ms < 0)
        return 0;
    return (uint32_t)(unix_ms / 1000);
}

static void read_status(struct object_states *states, struct state_row *row,
                        const struct kind *kind, const struct value *status)
{
    bool is_right;
    const struct value *condition = kind_find_reporting(kind, status, &is_right);
    bool is_unknown = !condition || text_is(value_text_at(condition, "status"), "Unknown");
    row->since_s = condition ? time_of(condition) : 0;
    row_set(states, row,
            is_right     ? OBJECT_READY
            : is_unknown ? OBJECT_UNKNOWN
                         : OBJECT_NOT_READY,
            value_text_at(condition, "reason"), value_text_at(condition, "message"));
}

// Judges a key without a status of its own by its claims.
static void read_claims(struct engine *engine, uint32_t id, const struct decision *decision)
{
    struct object_states *states = engine->object_states;
    struct state_row *row = &states->rows[id];
    bool was_shown = row->is_shown;
    uint8_t before = row->readiness;
    bool is_settled = decision->fault.fault == FAULT_NONE && registry_is_settled(engine, id);
    if (decision->obstacle.reason)
        row_set(states, row, OBJECT_NOT_READY, text_of(decision->obstacle.reason),
                text_of(decision->obstacle.text));
    else
        row_set(states, row, is_settled ? OBJECT_READY : OBJECT_UNKNOWN,
                text_of(decision->reason_label), TEXT(""));
    row->is_shown = decision->obstacle.reason || decision->claim_count;
    if (!was_shown || before != row->readiness)
        row->since_s = (uint32_t)(loop_unix_ms(engine->loop) / 1000);
}

static bool has_own_status(const struct kind *kind)
{
    return kind->has_status && !kind->is_foreign;
}

void object_states_decide(struct engine *engine, uint32_t id, const struct decision *decision)
{
    const struct kind *kind = engine->controllers[engine->keys[id].controller].controller->kind;
    struct object_states *states = engine->object_states;
    if (!states)
        return;
    if (!has_own_status(kind))
        read_claims(engine, id, decision);
    else if (decision->status)
        read_status(states, &states->rows[id], kind, decision->status);
}

// ---- the order in which they are shown ----------------------------------------------------------

void object_states_make(struct object_states *states, uint32_t key)
{
    if (!states)
        return;
    row_of(states, key);
    states->is_stale = true;
}

void object_states_forget(struct object_states *states, uint32_t key)
{
    if (!states)
        return;
    free(states->rows[key].message);
    states->rows[key] = (struct state_row){0};
    states->is_stale = true;
}

static int compare_keys(const void *left, const void *right, void *context)
{
    const struct engine *engine = context;
    const struct key *a = &engine->keys[*(const uint32_t *)left];
    const struct key *b = &engine->keys[*(const uint32_t *)right];
    int order = strcmp(a->object->kind->name, b->object->kind->name);
    if (!order)
        order = text_compare(object_namespace(a->object), object_namespace(b->object));
    if (!order)
        order = text_compare(object_name(a->object), object_name(b->object));
    return order ? order : a->controller - b->controller;
}

static void drop_gone(struct object_states *states)
{
    size_t kept = 0;
    for (size_t i = 0; i < states->count; i++)
        if (states->rows[states->order[i]].is_in_order)
            states->order[kept++] = states->order[i];
    states->count = kept;
}

static void add_new(struct engine *engine, struct object_states *states)
{
    for (uint32_t id = 0; id < engine->key_slots.end; id++) {
        if (!engine->keys[id].object || states->rows[id].is_in_order)
            continue;
        mem_reserve(&states->order, &states->order_capacity, states->count + 1);
        states->order[states->count++] = id;
        states->rows[id].is_in_order = true;
    }
}

// Those behind `old` are new and sorted, and go where they belong: from the end, into the room that
// the others leave.
static void merge(struct engine *engine, struct object_states *states, size_t old)
{
    size_t added = states->count - old;
    autofree uint32_t *new_ = mem_copy(states->order + old, added * sizeof *new_);
    for (size_t to = states->count; added; to--) {
        bool is_old = old && compare_keys(&states->order[old - 1], &new_[added - 1], engine) > 0;
        states->order[to - 1] = is_old ? states->order[--old] : new_[--added];
    }
}

static void put_in_order(struct engine *engine, struct object_states *states)
{
    if (!states->is_stale)
        return;
    states->is_stale = false;
    drop_gone(states);
    size_t old = states->count;
    add_new(engine, states);
    if (states->count == old)
        return;
    qsort_r(states->order + old, states->count - old, sizeof *states->order, compare_keys, engine);
    merge(engine, states, old);
}

// ---- showing ------------------------------------------------------------------------------------

static bool is_hidden(const struct key *key, const struct state_row *row)
{
    const struct kind *kind = key->object->kind;
    return kind->is_secret || (!row->is_shown && !has_own_status(kind));
}

static struct object_state make_state(const struct engine *engine,
                                      const struct object_states *states, uint32_t id)
{
    const struct key *key = &engine->keys[id];
    const struct state_row *row = &states->rows[id];
    enum object_readiness readiness = row->is_shown ? row->readiness : OBJECT_UNKNOWN;
    return (struct object_state){
        .object = key->object,
        .controller = engine->controllers[key->controller].controller->name,
        .readiness = key->object->is_over ? OBJECT_OVER : readiness,
        .is_going = key->is_gone || key->object->deleted_s,
        .reason = row->reason ? states->reasons[row->reason - 1] : "",
        .message = row->message ? row->message : "",
        .since_s = row->since_s,
    };
}

void engine_each_state(struct engine *engine,
                       void (*call)(void *context, const struct object_state *state), void *context)
{
    struct object_states *states = engine->object_states;
    if (!states)
        return;
    put_in_order(engine, states);
    for (size_t i = 0; i < states->count; i++) {
        uint32_t id = states->order[i];
        if (is_hidden(&engine->keys[id], &states->rows[id]))
            continue;
        const struct object_state state = make_state(engine, states, id);
        call(context, &state);
    }
}
