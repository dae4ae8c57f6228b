#include <string.h>

#include "store/events.def"

#include "engine/backend_state.h"

enum { FAILURES_REPORTED = 20 }; // of an exchange, each with a line of its own

static const char *backend_name_of(const struct change_messages *messages,
                                   const struct backend *backend)
{
    size_t len = strlen(messages->prefix);
    return strncmp(backend->name, messages->prefix, len) ? backend->name : backend->name + len;
}

static const char *join_values(struct arena *arena, const struct record_set *set)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < set->value_count; i++)
        buffer_printf(&out, "%s%.*s", i ? "," : "", TEXT_ARGS(set->values[i]));
    return arena_copy_text(arena, buffer_text(&out).at);
}

static const char *name_of(struct arena *arena, const struct record_set *set)
{
    if (text_is(set->subdomain, "@"))
        return arena_printf(arena, "%.*s", TEXT_ARGS(set->domain));
    return arena_printf(arena, "%.*s.%.*s", TEXT_ARGS(set->subdomain), TEXT_ARGS(set->domain));
}

static struct log_attr values_attr(struct arena *arena, const struct change_messages *messages,
                                   const char *prefix, const struct record_set *set)
{
    bool is_address = set->type == RECORD_A || set->type == RECORD_AAAA;
    const char *key = is_address ? messages->address : messages->target;
    return LOG_TEXT(arena_printf(arena, "%s%s", prefix, key), join_values(arena, set));
}

static const char *object_text(struct arena *arena, const struct object *object)
{
    if (!object)
        return "";
    struct text namespace_ = object_namespace(object);
    struct text name = object_name(object);
    return arena_printf(arena, "%.*s/%.*s", TEXT_ARGS(namespace_), TEXT_ARGS(name));
}

// Somebody else's word counts: what was ours there has gone.
static bool has_given_way(const struct change *change)
{
    const struct outcome *outcome = &change->outcome;
    return change->op == CHANGE_SET && outcome->replaced && (outcome->is_foreign || outcome->error);
}

static const char *message_of(const struct change_messages *messages, const struct change *change)
{
    if (change->op == CHANGE_REMOVE || has_given_way(change))
        return messages->deleted;
    return change->outcome.replaced ? messages->updated : messages->created;
}

static bool is_quiet(const struct change *change)
{
    const struct outcome *outcome = &change->outcome;
    return change->op == CHANGE_READ || outcome->is_unchanged ||
           (outcome->is_foreign && !outcome->replaced) ||
           (change->op == CHANGE_REMOVE && outcome->was_absent);
}

static void report_done(const struct backend *backend, const struct change_messages *messages,
                        const struct object *object, const struct change *change)
{
    struct arena *arena = arena_new();
    const struct record_set *set = &change->set;
    const struct record_set *before = change->outcome.replaced;
    bool is_set = change->op == CHANGE_SET && !has_given_way(change);
    struct log_attr attrs[7];
    size_t count = 0;
    attrs[count++] = LOG_TEXT(messages->object, object_text(arena, object));
    attrs[count++] = LOG_TEXT(messages->name, name_of(arena, set));
    if (is_set && before)
        attrs[count++] = values_attr(arena, messages, messages->before, before);
    if (is_set)
        attrs[count++] = values_attr(arena, messages, before ? messages->after : "", set);
    attrs[count++] = LOG_TEXT(messages->backend, backend_name_of(messages, backend));
    if (change->outcome.error)
        attrs[count++] = LOG_TEXT("reason", change->outcome.error->reason);
    attrs[count] = LOG_END;
    log_attrs(backend->engine->log, LOG_INFO, message_of(messages, change), attrs);
    arena_free(arena);
}

static void report_failed(const struct backend *backend, const struct change_messages *messages,
                          const struct object *object, const struct change *change)
{
    static const char *const operations[] = {
        [CHANGE_SET] = "set", [CHANGE_REMOVE] = "remove", [CHANGE_READ] = "read"};
    struct arena *arena = arena_new();
    log_line(backend->engine->log, LOG_ERROR, messages->failed,
             LOG_TEXT(messages->object, object_text(arena, object)),
             LOG_TEXT(messages->name, name_of(arena, &change->set)),
             LOG_TEXT("operation", operations[change->op]),
             LOG_TEXT("error", change->outcome.error->text),
             LOG_TEXT(messages->backend, backend_name_of(messages, backend)), LOG_END);
    arena_free(arena);
}

// ---- the last changes, for those who look in ----------------------------------------------------

static void write_owner(struct buffer *out, const struct object *object)
{
    if (!object)
        return;
    buffer_printf(out, "%s ", object->kind->name);
    object_write_name(out, object);
}

static enum recent_change_type recent_type_of(const struct change *change,
                                              const struct claim *claim)
{
    if (!change->outcome.is_done && !has_given_way(change))
        return CHANGE_HAS_FAILED;
    if (change->op == CHANGE_REMOVE || has_given_way(change))
        return CHANGE_WAS_DELETED;
    bool was_there = change->outcome.replaced || (claim && claim_stands(claim));
    return was_there && !change->outcome.was_created ? CHANGE_WAS_UPDATED : CHANGE_WAS_CREATED;
}

static void remember_change(const struct backend *backend, const struct object *object,
                            const struct change *change, const struct claim *claim)
{
    const struct engine *engine = backend->engine;
    const struct error *error = change->outcome.error;
    AUTO_BUFFER what = {0};
    AUTO_BUFFER owner = {0};
    if (!engine->recent_changes)
        return;
    if (!text_is(change->set.subdomain, "@"))
        buffer_printf(&what, "%.*s.", TEXT_ARGS(change->set.subdomain));
    buffer_printf(&what, "%.*s %s", TEXT_ARGS(change->set.domain),
                  record_type_name(change->set.type));
    write_owner(&owner, object);
    recent_changes_add(engine->recent_changes,
                       &(struct recent_change){.at_ms = loop_unix_ms(engine->loop),
                                               .type = recent_type_of(change, claim),
                                               .what = buffer_text(&what).at,
                                               .object = buffer_text(&owner).at,
                                               .backend = backend->name,
                                               .took_ms = claim ? claim_due_ms(engine, claim) : -1,
                                               .error = error ? error->text : ""});
}

void change_log_arrival(const struct engine *engine, const struct object *object, int64_t took_ms)
{
    AUTO_BUFFER owner = {0};
    if (!engine->recent_changes)
        return;
    write_owner(&owner, object);
    recent_changes_add(engine->recent_changes,
                       &(struct recent_change){.at_ms = loop_unix_ms(engine->loop),
                                               .type = CHANGE_HAS_ARRIVED,
                                               .what = "",
                                               .object = buffer_text(&owner).at,
                                               .backend = "",
                                               .took_ms = took_ms,
                                               .error = ""});
}

// ---- lines of the log ---------------------------------------------------------------------------

void change_log_change(const struct backend *backend, const struct controller *controller,
                       const struct object *object, const struct change *change,
                       const struct claim *claim, size_t *failures)
{
    const struct change_messages *messages = controller ? controller->messages : NULL;
    if (is_quiet(change))
        return;
    remember_change(backend, object, change, claim);
    if (!messages)
        return;
    if (change->outcome.is_done || has_given_way(change))
        report_done(backend, messages, object, change);
    else if (change->outcome.error && change->outcome.error->fault != FAULT_WAIT &&
             (*failures)++ < FAILURES_REPORTED)
        report_failed(backend, messages, object, change);
}

void change_log_unread(const struct backend *backend, size_t count)
{
    log_line(backend->engine->log, LOG_WARN,
             "records are kept although nothing wants them: what could want them may not be read",
             LOG_TEXT("backend", backend->name), LOG_INT("kept", (int64_t)count), LOG_END);
}

static const struct change_messages *messages_of(const struct backend *backend)
{
    if (backend->controller == NO_CONTROLLER)
        return NULL;
    return backend->engine->controllers[backend->controller].controller->messages;
}

static struct log_attr backend_attr(const struct backend *backend)
{
    const struct change_messages *messages = messages_of(backend);
    return messages ? LOG_TEXT(messages->backend, backend_name_of(messages, backend))
                    : LOG_TEXT("backend", backend->name);
}

// It concerns no object, but whoever runs us.
static void publish_event(const struct backend *backend, const char *reason, const char *text)
{
    AUTO_BUFFER whole = {0};
    struct store *store = backend->engine->options.store;
    if (!store || !backend->engine->is_leading)
        return;
    buffer_printf(&whole, "%s: %s", backend->name, text);
    store_publish_event(store, &(struct kube_event){.is_warning = true,
                                                    .reason = reason,
                                                    .action = backend->name,
                                                    .text = whole.at});
}

void change_log_progress(const struct backend *backend, const struct job *job)
{
    log_line(backend->engine->log, LOG_INFO, "records are written one by one",
             backend_attr(backend), LOG_INT("done", (int64_t)job->writes.done),
             LOG_INT("open", (int64_t)job->writes.open), LOG_END);
}

void change_log_guarded(const struct backend *backend)
{
    log_line(backend->engine->log, LOG_WARN,
             "records are kept although nothing wants them any more: they are too many to go at "
             "once. signpost plan lists them, signpost plan approve lets them go",
             LOG_TEXT("reason", "GuardTripped"), LOG_TEXT("backend", backend->name),
             LOG_INT("held", (int64_t)guarded_count(backend->guarded)),
             LOG_INT("owned", (int64_t)backend->owned), LOG_END);
    publish_event(
        backend, EVENT_GUARD_TRIPPED,
        "records are kept although nothing wants them any more, as they are too many to go at "
        "once; `signpost status` names the plan that asks whether they may");
}

void change_log_approved(const struct backend *backend)
{
    log_line(backend->engine->log, LOG_INFO, "records that were kept go: a person approved it",
             backend_attr(backend), LOG_TEXT("checksum", backend->view.guarded_checksum), LOG_END);
}

void change_log_failures(const struct backend *backend, size_t failures)
{
    const struct change_messages *messages = messages_of(backend);
    if (!messages || failures <= FAILURES_REPORTED)
        return;
    log_line(backend->engine->log, LOG_ERROR, messages->failed, backend_attr(backend),
             LOG_TEXT("error", "more records failed in the same exchange, not shown one by one"),
             LOG_INT("count", (int64_t)failures - FAILURES_REPORTED), LOG_END);
}

void change_log_stall(const struct backend *backend, const struct error *error)
{
    log_line(backend->engine->log, LOG_INFO, "the backend is waited for", backend_attr(backend),
             LOG_TEXT("error", error->text), LOG_END);
}

void change_log_unavailable(const struct backend *backend, const struct error *error,
                            unsigned count, bool is_changed)
{
    const struct change_messages *messages = messages_of(backend);
    log_line(backend->engine->log, LOG_ERROR,
             messages ? messages->failed : "the backend is unavailable", backend_attr(backend),
             LOG_TEXT("error", error->text), LOG_INT("count", count), LOG_END);
    if (is_changed)
        publish_event(backend, error->reason, error->text);
}
