#include "engine/questions.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "engine/backend_state.h"

#define HEALTH "health"
enum { ASK_SOON_MS = 1000 };

// A key, or the settings of a backend, that names a question.
struct asker {
    struct link link; // of the question's
    struct question_state *question;
    uint32_t key;        // NO_ID: settings
    int64_t good_for_ms; // 0: it only looks at the answer
    uint64_t epoch;
};

struct question_state {
    struct link link;     // of those that are due at the backend
    struct content_id id; // of backend, name and about
    uint32_t number;      // in questions.items
    char *backend;
    char *name;
    char *about;    // JSON; NULL: nothing
    bool is_health; // its answer is the backend's as well
    bool is_stale;  // asked as soon as possible, however young the answer is
    LIST_OF(struct asker) askers;
    int64_t good_for_ms;       // of the most impatient asker; 0: nobody asks
    struct backend *due_at;    // in whose queue it is; NULL: in none
    struct exchange *exchange; // under way
    int64_t since_ms;          // mono: when that ended last
    unsigned failures;         // in a row
    int64_t retry_ms;          // after the last of them; 0: there was none
    // The last answer.
    int64_t answered_ms; // Unix; 0: there is none
    bool is_ok;
    char *answer; // JSON; NULL: it said nothing
    struct error error;
};

struct questions {
    struct engine *engine;
    struct question_state **items; // NULL: free
    size_t capacity;
    struct slots slots;
    struct table by_id;
    struct queue *due; // numbers of those that are asked, by when
    struct loop_timer timer;
    bool is_stopped;
};

// ---- all questions ------------------------------------------------------------------------------

static void ring(void *context);

static bool question_matches(const void *context, uint32_t number, const void *key)
{
    const struct questions *questions = context;
    const struct content_id *id = key;
    return content_id_equal(questions->items[number]->id, *id);
}

static uint64_t question_hash(const void *context, uint32_t number)
{
    const struct questions *questions = context;
    return questions->items[number]->id.words[0];
}

static const struct table_ops question_table_ops = {question_matches, question_hash};

struct questions *questions_new(struct engine *engine)
{
    struct questions *questions = mem_new_of(struct questions);
    questions->engine = engine;
    questions->by_id = (struct table){.ops = &question_table_ops, .context = questions};
    questions->due = queue_new();
    questions->timer = (struct loop_timer){.call = ring, .context = questions};
    return questions;
}

void questions_free(struct questions *questions)
{
    if (!questions)
        return;
    must(!slots_taken(&questions->slots));
    questions_stop(questions);
    queue_free(questions->due);
    table_done(&questions->by_id);
    slots_done(&questions->slots);
    free(questions->items);
    free(questions);
}

void questions_stop(struct questions *questions)
{
    questions->is_stopped = true;
    loop_timer_cancel(questions->engine->loop, &questions->timer);
}

struct content_id question_id(const char *backend, const char *name, const struct value *about)
{
    struct content_id of_about = value_content_id(about);
    struct content_hash hash = content_hash_new();
    content_hash_add_text(&hash, text_of(backend));
    content_hash_add_text(&hash, text_of(name));
    content_hash_add(&hash, of_about.words[0]);
    content_hash_add(&hash, of_about.words[1]);
    return content_hash_end(&hash);
}

static struct question_state *question_find(const struct questions *questions, struct content_id id)
{
    uint32_t number = table_find(&questions->by_id, id.words[0], &id);
    return number == TABLE_NONE ? NULL : questions->items[number];
}

static char *json_of(const struct value *value)
{
    struct buffer out = {0};
    if (!value)
        return NULL;
    value_write_json(&out, value);
    return buffer_steal(&out);
}

static struct question_state *question_new(struct questions *questions, struct content_id id,
                                           const struct question *want)
{
    struct question_state *question = mem_new_of(struct question_state);
    *question = (struct question_state){
        .id = id,
        .number = slots_take(&questions->slots),
        .backend = mem_copy_text(want->backend),
        .name = mem_copy_text(want->name),
        .about = json_of(want->about),
        .is_health = !strcmp(want->name, HEALTH) && !want->about,
        .is_stale = true,
    };
    mem_reserve(&questions->items, &questions->capacity, questions->slots.end);
    questions->items[question->number] = question;
    table_add(&questions->by_id, id.words[0], question->number);
    return question;
}

// ---- when it is asked ---------------------------------------------------------------------------

static void set_timer(struct questions *questions)
{
    int64_t now_ms = loop_mono_ms(questions->engine->loop);
    int64_t next_ms = queue_next_ms(questions->due);
    if (next_ms != INT64_MAX && !questions->is_stopped)
        loop_timer_set(questions->engine->loop, &questions->timer,
                       next_ms > now_ms ? next_ms - now_ms : 0);
}

static int64_t due_ms(const struct question_state *question, int64_t now_ms)
{
    bool is_retry = question->retry_ms && question->retry_ms < question->good_for_ms;
    return question->is_stale
               ? now_ms
               : question->since_ms + (is_retry ? question->retry_ms : question->good_for_ms);
}

static bool is_idle(const struct question_state *question)
{
    return !question->exchange && !question->due_at;
}

static void question_schedule(struct questions *questions, struct question_state *question)
{
    if (!question->good_for_ms || !is_idle(question))
        return;
    queue_forget(questions->due, question->number);
    queue_after(questions->due, question->number, QUEUE_USER,
                due_ms(question, loop_mono_ms(questions->engine->loop)));
    set_timer(questions);
}

static void leave_line(struct question_state *question)
{
    if (question->due_at)
        list_remove(&question->due_at->questions_due, question);
    question->due_at = NULL;
}

// Without a backend it waits for one to come. Health goes first: all else may depend on it.
static void line_up(struct questions *questions, struct question_state *question)
{
    struct backend *backend = backend_find(questions->engine, question->backend);
    queue_forget(questions->due, question->number);
    if (!backend || !question->good_for_ms || !is_idle(question))
        return;
    question->due_at = backend;
    if (question->is_health)
        list_prepend(&backend->questions_due, question);
    else
        list_append(&backend->questions_due, question);
}

static void ring(void *context)
{
    struct questions *questions = context;
    uint32_t number;
    while (queue_pop(questions->due, loop_mono_ms(questions->engine->loop), &number))
        line_up(questions, questions->items[number]);
    set_timer(questions);
    engine_schedule(questions->engine);
}

static void ask_now(struct questions *questions, struct question_state *question)
{
    question->is_stale = true;
    line_up(questions, question);
    engine_schedule(questions->engine);
}

// ---- who names it -------------------------------------------------------------------------------

static void question_free(struct questions *questions, struct question_state *question)
{
    question->good_for_ms = 0;
    leave_line(question);
    if (question->exchange)
        exchange_drop_question(question->exchange);
    queue_forget(questions->due, question->number);
    table_remove(&questions->by_id, question->id.words[0], question->number);
    questions->items[question->number] = NULL;
    slots_give(&questions->slots, question->number);
    free(question->backend);
    free(question->name);
    free(question->about);
    free(question->answer);
    free(question);
}

// Somebody began or ceased to name it, or asks in another way.
static void question_handle_askers(struct questions *questions, struct question_state *question)
{
    question->good_for_ms = 0;
    list_each (asker, &question->askers) {
        if (asker->good_for_ms &&
            (!question->good_for_ms || asker->good_for_ms < question->good_for_ms))
            question->good_for_ms = asker->good_for_ms;
    }
    if (question->good_for_ms) {
        question_schedule(questions, question);
        return;
    }
    queue_forget(questions->due, question->number);
    leave_line(question);
}

static void asker_free(struct questions *questions, struct asker *asker)
{
    struct question_state *question = asker->question;
    bool asked = asker->good_for_ms > 0;
    list_remove(&question->askers, asker);
    free(asker);
    if (list_is_empty(&question->askers))
        question_free(questions, question);
    else if (asked)
        question_handle_askers(questions, question);
}

static struct asker *asker_new(struct question_state *question, uint32_t key)
{
    struct asker *asker = mem_new_of(struct asker);
    *asker = (struct asker){.question = question, .key = key};
    list_append(&question->askers, asker);
    return asker;
}

static void asker_set(struct questions *questions, struct asker *asker, const struct question *want,
                      bool is_new)
{
    bool asks_anew = !is_new && want->good_for_ms && asker->epoch != want->epoch;
    bool asks_so = asker->good_for_ms == want->good_for_ms && !asks_anew;
    asker->good_for_ms = want->good_for_ms;
    asker->epoch = want->epoch;
    asker->question->is_stale |= asks_anew;
    if (!asks_so)
        question_handle_askers(questions, asker->question);
}

// Out of those named before. They are mostly named in the same order again.
static struct asker *take_asker(struct asking *asking, size_t first,
                                const struct question_state *question)
{
    for (size_t i = 0; i < asking->count; i++) {
        struct asker **at = &asking->askers[(first + i) % asking->count];
        struct asker *asker = *at;
        if (!asker || asker->question != question)
            continue;
        *at = NULL;
        return asker;
    }
    return NULL;
}

static struct asker *name_one(struct questions *questions, struct asking *before, size_t at,
                              uint32_t key, const struct question *want, bool *is_answered)
{
    must(want->backend && want->name);
    struct content_id id = question_id(want->backend, want->name, want->about);
    struct question_state *question = question_find(questions, id);
    if (!question)
        question = question_new(questions, id, want);
    struct asker *asker = take_asker(before, at, question);
    bool is_new = !asker;
    if (is_new)
        asker = asker_new(question, key);
    *is_answered |= is_new && question->answered_ms;
    asker_set(questions, asker, want, is_new);
    return asker;
}

bool questions_set(struct engine *engine, struct asking *asking, uint32_t key,
                   const struct question *wants, size_t count)
{
    struct asking before = *asking;
    bool is_answered = false;
    if (!count && !before.count)
        return false;
    asking->askers = count ? mem_new_array(struct asker *, count) : NULL;
    asking->count = count;
    for (size_t i = 0; i < count; i++)
        asking->askers[i] = name_one(engine->questions, &before, i, key, &wants[i], &is_answered);
    for (size_t i = 0; i < before.count; i++)
        if (before.askers[i])
            asker_free(engine->questions, before.askers[i]);
    free(before.askers);
    return is_answered;
}

// ---- what was answered --------------------------------------------------------------------------

static void wake_askers(struct questions *questions, const struct question_state *question)
{
    list_each (asker, &question->askers) {
        if (asker->key != NO_ID)
            key_wake(questions->engine, asker->key, QUEUE_USER);
    }
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool is_same_error(const struct error *a, const struct error *b)
{
    return a->fault == b->fault && !strcmp(a->reason, b->reason) && !strcmp(a->text, b->text);
}

static void take_answer(struct questions *questions, struct question_state *question,
                        const struct job *job)
{
    const struct outcome *outcome = &job->health;
    const struct error *why = outcome->error ? outcome->error : job->unavailable;
    struct error error = {0};
    if (!outcome->is_done && why)
        error = *why;
    char *answer = json_of(job->answer);
    bool is_same = question->answered_ms && question->is_ok == outcome->is_done &&
                   is_same_text(question->answer, answer) &&
                   is_same_error(&question->error, &error);
    free(question->answer);
    question->answer = answer;
    question->is_ok = outcome->is_done;
    question->error = error;
    question->answered_ms = loop_unix_ms(questions->engine->loop);
    if (!is_same)
        wake_askers(questions, question);
}

static void forget_answer(struct questions *questions, struct question_state *question)
{
    bool was_answered = question->answered_ms;
    free(question->answer);
    question->answer = NULL;
    question->answered_ms = 0;
    question->failures = 0;
    if (was_answered)
        wake_askers(questions, question);
}

static struct answer_view answer_of(struct arena *arena, const struct question_state *question)
{
    struct answer_view answer = {.id = question->id,
                                 .backend = arena_copy_text(arena, question->backend),
                                 .name = arena_copy_text(arena, question->name),
                                 .about = question->about,
                                 .answered_ms = question->answered_ms};
    if (!question->answered_ms)
        return answer;
    answer.is_ok = question->is_ok;
    if (question->answer)
        answer.value =
            value_read_json(arena, text_of(question->answer), &value_manifest_limits, NULL);
    if (!answer.is_ok)
        answer.error = error_copy(arena, &question->error);
    return answer;
}

void questions_fill_snapshot(const struct asking *asking, struct snapshot *snapshot)
{
    struct answer_view *answers =
        arena_new_array(snapshot->arena, struct answer_view, asking->count + 1);
    for (size_t i = 0; i < asking->count; i++)
        answers[i] = answer_of(snapshot->arena, asking->askers[i]->question);
    snapshot->answers = answers;
    snapshot->answer_count = asking->count;
}

const struct answer_view *snapshot_answer(const struct snapshot *snapshot, const char *backend,
                                          const char *name, const struct value *about)
{
    struct content_id id = question_id(backend, name, about);
    for (size_t i = 0; i < snapshot->answer_count; i++)
        if (content_id_equal(snapshot->answers[i].id, id))
            return &snapshot->answers[i];
    return NULL;
}

// ---- exchanges ----------------------------------------------------------------------------------

bool question_is_health(const struct question_state *question)
{
    return question->is_health;
}

void question_fill_job(const struct question_state *question, struct job *job)
{
    job->question = arena_copy_text(job->arena, question->name);
    if (question->about)
        job->about =
            value_read_json(job->arena, text_of(question->about), &value_manifest_limits, NULL);
}

void question_set_exchange(struct question_state *question, struct exchange *exchange)
{
    question->exchange = exchange;
}

static bool is_answerable(const struct provider *provider, const struct question_state *question)
{
    for (const char *const *at = provider->questions; at && *at; at++)
        if (!strcmp(*at, question->name))
            return true;
    return question->is_health;
}

static void refuse_question(struct question_state *question, struct backend *backend)
{
    struct error error = {0};
    error_set(&error, FAULT_SPEC, "UnknownQuestion", "%s: provider %s answers no question \"%s\"",
              backend->name, backend->provider->name, question->name);
    const struct job job = {.kind = JOB_QUESTION, .health.error = &error};
    question_end(question, backend, &job);
    engine_schedule(backend->engine);
}

bool question_begin_next(struct backend *backend, bool is_health_only)
{
    struct question_state *question = list_first(&backend->questions_due);
    if (!question || (is_health_only && !question->is_health) || !backend->session ||
        backend->view.fault.fault != FAULT_NONE)
        return false;
    leave_line(question);
    question->is_stale = false;
    if (is_answerable(backend->session->provider, question))
        exchange_begin_question(backend, question, NULL);
    else
        refuse_question(question, backend);
    return true;
}

void question_end(struct question_state *question, const struct backend *backend,
                  const struct job *job)
{
    struct questions *questions = backend->engine->questions;
    bool is_failed = job && !question->is_health && !job->health.is_done;
    question->exchange = NULL;
    question->since_ms = loop_mono_ms(backend->engine->loop);
    if (job && !question->is_health)
        take_answer(questions, question, job);
    question->failures = is_failed ? question->failures + 1 : 0;
    question->retry_ms =
        is_failed ? backend_retry_delay(backend, question->failures, &question->error) : 0;
    question_schedule(questions, question);
}

void question_abort(struct question_state *question, struct engine *engine)
{
    question->exchange = NULL;
    question->is_stale = true;
    question_schedule(engine->questions, question);
}

// ---- backends -----------------------------------------------------------------------------------

static struct question_state *health_of(const struct backend *backend)
{
    return question_find(backend->engine->questions, question_id(backend->name, HEALTH, NULL));
}

bool backend_is_asked(const struct backend *backend)
{
    const struct question_state *health = health_of(backend);
    return health && health->good_for_ms;
}

void backend_ask_now(struct backend *backend)
{
    struct question_state *health = health_of(backend);
    if (health)
        ask_now(backend->engine->questions, health);
}

void backend_ask_soon(struct backend *backend)
{
    struct questions *questions = backend->engine->questions;
    struct question_state *health = health_of(backend);
    if (!health || !health->good_for_ms || !is_idle(health))
        return;
    queue_after(questions->due, health->number, QUEUE_USER, health->since_ms + ASK_SOON_MS);
    set_timer(questions);
}

void question_take_health(struct backend *backend, const struct job *job)
{
    struct question_state *health = health_of(backend);
    if (health)
        take_answer(backend->engine->questions, health, job);
}

typedef void question_call(struct questions *questions, struct question_state *question);

static void each_of(struct backend *backend, question_call *call)
{
    struct questions *questions = backend->engine->questions;
    for (uint32_t i = 0; i < questions->slots.end; i++)
        if (questions->items[i] && !strcmp(questions->items[i]->backend, backend->name))
            call(questions, questions->items[i]);
}

void questions_add_backend(struct backend *backend)
{
    each_of(backend, question_schedule);
}

void questions_remove_backend(struct backend *backend)
{
    list_each (question, &backend->questions_due)
        leave_line(question);
}

static void move(struct questions *questions, struct question_state *question)
{
    forget_answer(questions, question);
    question->is_stale = true;
    question_schedule(questions, question);
}

void questions_move_backend(struct backend *backend)
{
    each_of(backend, move);
}

void questions_lead(struct engine *engine)
{
    struct questions *questions = engine->questions;
    for (uint32_t i = 0; i < questions->slots.end; i++)
        if (questions->items[i])
            ask_now(questions, questions->items[i]);
}

static bool is_awaited(const struct engine *engine, const struct question_state *question)
{
    const struct backend *backend = backend_find(engine, question->backend);
    return question->good_for_ms && !question->is_health && !question->answered_ms && backend &&
           backend->session && backend->view.fault.fault == FAULT_NONE &&
           !backend_is_unavailable(backend);
}

bool questions_are_awaited(const struct engine *engine)
{
    const struct questions *questions = engine->questions;
    for (uint32_t i = 0; i < questions->slots.end; i++)
        if (questions->items[i] && is_awaited(engine, questions->items[i]))
            return true;
    return false;
}
