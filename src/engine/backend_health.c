#include "engine/backend_state.h"

#include <string.h>

#include "base/backoff.h"

enum { LINE_MOVES_MS = 1000 };

// ---- its health ---------------------------------------------------------------------------------

// Too early to tell, and the answer before may hold.
static bool is_no_answer(const struct backend *backend, const struct job *job)
{
    return backend->view.answered_s && job->unavailable && !*job->unavailable->reason;
}

static void take_answer(struct backend *backend, const struct job *job)
{
    struct arena *arena = arena_new();
    bool was_ok = backend->view.answered_s ? backend->view.is_answer_ok : backend->was_well;
    bool is_ok = job->health.is_done;
    backend->view.answered_s = loop_unix_ms(backend->engine->loop) / 1000;
    backend->view.is_answer_ok = is_ok;
    backend->view.answer = job->answer ? value_copy(arena, job->answer) : NULL;
    backend->view.note = job->health.note ? arena_copy_text(arena, job->health.note) : NULL;
    error_clear(&backend->view.answer_error);
    if (job->health.error)
        backend->view.answer_error = *job->health.error;
    arena_free(backend->answer_arena);
    backend->answer_arena = arena;
    struct content_id id = {0};
    if (backend->view.answer)
        id = value_content_id(value_find(backend->view.answer, "capabilities"));
    bool is_learned = backend->is_learning || !content_id_equal(id, backend->answer_id);
    backend->answer_id = id;
    backend->is_learning = backend->view.is_learning = false;
    loop_timer_cancel(backend->engine->loop, &backend->learn_timer);
    if (is_ok && !was_ok)
        backend_clear_backoff(backend);
    if (backend->owner != NO_ID)
        key_wake(backend->engine, backend->owner, QUEUE_USER);
    if (is_learned)
        input_wake_backend(backend);
}

void backend_take_answer(struct backend *backend, const struct job *job)
{
    if (is_no_answer(backend, job))
        return;
    take_answer(backend, job);
    question_take_health(backend, job);
}

// ---- what an exchange says of the backend -------------------------------------------------------

// While the backend sends one exchange at a time to see whether its server is back, all that is due
// fails with it: a dead server costs one time-out at each attempt, not one for each record.
static void share_failure(struct backend *backend, const struct error *error, const char *trace)
{
    for (int line = 0; line < 2; line++)
        while (backend->due[line].first != NO_ID) {
            uint32_t id = backend->due[line].first;
            claim_unqueue(backend->engine, id);
            claim_fail(backend->engine, id, error, trace);
        }
}

// The failure that says what became of the backend: of the question, or of the first change that
// could not be sent.
static const struct error *first_error(const struct job *job)
{
    if (job->kind == JOB_QUESTION)
        return job->health.error;
    for (size_t i = 0; i < job->change_count; i++) {
        const struct error *error = job->changes[i].outcome.error;
        if (error && (!job->is_transport_failure || error->fault == FAULT_AGAIN))
            return error;
    }
    return NULL;
}

static bool has_done(const struct job *job)
{
    if (job->kind == JOB_QUESTION)
        return job->health.is_done;
    for (size_t i = 0; i < job->change_count; i++)
        if (job->changes[i].outcome.is_done)
            return true;
    return false;
}

// The backend was said to be out of reach, or to refuse us, and now this.
static bool contradicts_health(const struct backend *backend, const struct job *job)
{
    const struct backend_view *view = &backend->view;
    if (!view->answered_s || view->is_answer_ok)
        return false;
    bool was_unreachable = view->answer_error.fault == FAULT_AGAIN && !view->answer_error.status;
    bool was_refused = view->answer_error.fault == FAULT_AUTH;
    return was_unreachable || (was_refused && has_done(job));
}

void backend_judge(struct backend *backend, const struct job *job, const char *trace)
{
    const struct error *error = first_error(job);
    if (!job->is_transport_failure) {
        backend->transport_failures = 0;
        if (contradicts_health(backend, job))
            backend_ask_soon(backend);
        if (error && error->fault == FAULT_LIMIT && error->retry_ms > 0)
            backend->blocked_until_ms = loop_mono_ms(backend->engine->loop) + error->retry_ms;
        return;
    }
    backend->transport_failures++;
    if (backend->transport_failures > 3 && error)
        share_failure(backend, error, trace);
}

// ---- why nothing can be done there --------------------------------------------------------------

enum { REPORT_AGAIN_MS = 5 * 60 * 1000 };

static void report_unavailable(struct backend *backend, bool is_changed)
{
    int64_t now_ms = loop_mono_ms(backend->engine->loop);
    backend->failures_unreported++;
    if (!is_changed && now_ms - backend->unavailable_reported_ms < REPORT_AGAIN_MS)
        return;
    change_log_unavailable(backend, &backend->view.unavailable, backend->failures_unreported,
                           is_changed);
    backend->unavailable_reported_ms = now_ms;
    backend->failures_unreported = 0;
}

static void set_available(struct backend *backend)
{
    backend->view.stalled_ms = 0;
    if (backend->view.unavailable.fault == FAULT_NONE)
        return;
    error_clear(&backend->view.unavailable);
    backend->failures_unreported = 0;
    input_wake_backend(backend);
}

static void backend_wait(struct backend *backend, const struct error *why)
{
    int64_t wait_ms = why->retry_ms > 0 ? why->retry_ms : 1;
    backend->blocked_until_ms = loop_mono_ms(backend->engine->loop) + wait_ms;
    backend_ask_now(backend);
}

// It may pass by itself: logged once.
static void stall(struct backend *backend, const struct error *why)
{
    if (backend->view.stalled_ms)
        return;
    backend->view.stalled_ms = loop_mono_ms(backend->engine->loop);
    change_log_stall(backend, why);
}

void backend_set_unavailable(struct backend *backend, const struct error *why, bool waits)
{
    if (!why) {
        set_available(backend);
        return;
    }
    bool is_changed = strcmp(backend->view.unavailable.reason, why->reason) != 0;
    if (waits)
        backend_wait(backend, why);
    if (!*why->reason) {
        stall(backend, why);
        return;
    }
    backend->view.stalled_ms = 0;
    backend->view.unavailable = *why;
    report_unavailable(backend, is_changed);
    if (is_changed)
        input_wake_backend(backend);
}

bool backend_is_unavailable(const struct backend *backend)
{
    return backend->view.unavailable.fault != FAULT_NONE &&
           backend->blocked_until_ms > loop_mono_ms(backend->engine->loop);
}

// ---- what claims ask of it ----------------------------------------------------------------------

int64_t backend_retry_delay(const struct backend *backend, unsigned attempts,
                            const struct error *error)
{
    if (error->retry_ms > 0)
        return error->retry_ms;
    if (attempts > backend->retry_attempts || error->fault == FAULT_SPEC)
        return backend->retry_slow_ms;
    return backoff_ms(backend->retry_base_ms, backend->retry_max_ms, attempts);
}

int64_t backend_retry_slow_ms(const struct backend *backend)
{
    return backend->retry_slow_ms;
}

bool backend_is_moving(const struct backend *backend)
{
    int64_t now_ms = loop_mono_ms(backend->engine->loop);
    return !backend->transport_failures && now_ms - backend->idle_since_ms < LINE_MOVES_MS;
}

void backend_count_repair(struct backend *backend)
{
    backend->repaired++;
}
