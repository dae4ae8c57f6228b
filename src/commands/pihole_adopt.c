#include "commands/pihole_adopt.h"

#include <stdlib.h>
#include <string.h>

#include "commands/pihole_talk.h"
#include "commands/writer.h"

enum { BATCH_MAX = 500 };

// ---- the list -----------------------------------------------------------------------------------

static struct adoption *find(const struct adoptions *adoptions, const struct adoption *wanted)
{
    for (size_t i = 0; i < adoptions->count; i++) {
        struct adoption *adoption = &adoptions->items[i];
        if (adoption->target == wanted->target && adoption->type == wanted->type &&
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

void adoptions_add(struct adoptions *adoptions, struct arena *arena,
                   const struct pihole_target *target, struct text name, struct text address)
{
    struct text value;
    enum record_type type = memchr(address.at, ':', address.len) ? RECORD_AAAA : RECORD_A;
    struct adoption wanted = {.target = target, .name = lower(arena, name), .type = type};
    if (!record_value_normalise(arena, type, address, &value, NULL))
        return;
    value = record_value_canonical(arena, type, value);
    struct adoption *adoption = find(adoptions, &wanted);
    if (!adoption) {
        mem_reserve(&adoptions->items, &adoptions->capacity, adoptions->count + 1);
        adoption = &adoptions->items[adoptions->count++];
        *adoption = wanted;
    }
    add_value(adoption, arena, value);
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
    struct pihole_targets targets; // which adopt, whatever the settings are
    size_t at;                     // of the Pi-holes
    size_t first;                  // of its adoptions: where the next batch begins
    struct arena *arena;           // of one talk
    struct pihole_talk talk;
    struct job job;
    const struct adoption *batch[BATCH_MAX];
};

// That everything here may be adopted is said by hand, whatever an earlier sync left behind.
static const char *find_nothing(const void *context, enum record_type type, struct text name)
{
    (void)context, (void)type, (void)name;
    return NULL;
}

static const char *recall_nothing(const void *context, const char *fact)
{
    (void)context, (void)fact;
    return NULL;
}

static void keep_nothing(void *context, const char *fact, const char *value)
{
    (void)context, (void)fact, (void)value;
}

static const struct ledger_view no_ledger = {
    .find = find_nothing, .recall = recall_nothing, .keep = keep_nothing};

static void next_target(struct adopter *adopter);

static bool fill_batch(struct adopter *adopter)
{
    const struct adoptions *all = adopter->adopt->adoptions;
    struct job *job = &adopter->job;
    const struct pihole_target *target = &adopter->targets.items[adopter->at];
    arena_reset(adopter->arena);
    *job = (struct job){.kind = JOB_CHANGES,
                        .arena = adopter->arena,
                        .trace = PIHOLE_NO_TRACE,
                        .ledger = &no_ledger};
    job->changes = arena_new_array(adopter->arena, struct change, BATCH_MAX);
    for (; adopter->first < all->count && job->change_count < BATCH_MAX; adopter->first++) {
        const struct adoption *adoption = &all->items[adopter->first];
        if (adoption->target != target)
            continue;
        adopter->batch[job->change_count] = adoption;
        job->changes[job->change_count++] = (struct change){
            .op = CHANGE_SET,
            .may_adopt = true,
            .set = {.type = adoption->type,
                    .domain = adoption->name,
                    .subdomain = TEXT("@"),
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
    if (adopter->job.trouble)
        return adopter->job.trouble->text;
    return "the Pi-hole did not answer within --timeout";
}

static void tell_batch(const struct adopter *adopter)
{
    const struct adopt *adopt = adopter->adopt;
    for (size_t i = 0; i < adopter->job.change_count; i++)
        adopt->told(adopt->context, adopter->batch[i],
                    fault_of(adopter, &adopter->job.changes[i].outcome));
}

static void target_left(void *context)
{
    struct adopter *adopter = context;
    pihole_talk_close(&adopter->talk);
    adopter->at++;
    next_target(adopter);
}

static void leave_target(struct adopter *adopter)
{
    adopter->talk.done = target_left;
    pihole_talk_leave(&adopter->talk, &adopter->job);
}

static void batch_done(void *context)
{
    struct adopter *adopter = context;
    tell_batch(adopter);
    if (fill_batch(adopter))
        pihole_talk_begin(&adopter->talk, &adopter->job, adopter->adopt->timeout_ms);
    else
        leave_target(adopter);
}

static void tell_refused(struct adopter *adopter, const char *fault)
{
    do {
        for (size_t i = 0; i < adopter->job.change_count; i++)
            adopter->adopt->told(adopter->adopt->context, adopter->batch[i], fault);
    } while (fill_batch(adopter));
}

static void next_target(struct adopter *adopter)
{
    struct error err;
    for (; adopter->at < adopter->targets.count; adopter->at++) {
        adopter->first = 0;
        if (!fill_batch(adopter))
            continue;
        adopter->talk = (struct pihole_talk){
            .world = writer_world(adopter->writer), .done = batch_done, .context = adopter};
        if (pihole_talk_open(&adopter->talk, &adopter->targets,
                             &adopter->targets.items[adopter->at], adopter->owner_id, &err)) {
            pihole_talk_begin(&adopter->talk, &adopter->job, adopter->adopt->timeout_ms);
            return;
        }
        tell_refused(adopter, err.text);
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
    pihole_talk_close(&adopter->talk);
}

bool pihole_adopt(const struct adopt *adopt, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct adopter adopter = {.adopt = adopt, .targets = *adopt->setup->piholes, .arena = arena};
    adopter.targets.adopts = true;
    const struct writer_calls calls = {.begin = begin, .lost = lost, .context = &adopter};
    return writer_run(adopt->setup, adopt->timeout_ms, &calls, err);
}
