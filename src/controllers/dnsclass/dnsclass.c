#include <string.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/when.h"
#include "controllers/dnsclass/dnsclass_controller.h"
#include "controllers/dnsclass/events.def"
#include "kinds/dnsclass/dnsclass.h"
#include "kinds/secret/secret_kind.h"

enum { SECOND_MS = 1000, MINUTE_MS = 60 * SECOND_MS, LEARN_MS = SECOND_MS };

const struct dnsclass_settings dnsclass_defaults = {
    .health_interval_ms = 10 * MINUTE_MS,
    .retry_base_ms = 5 * SECOND_MS,
    .retry_max_ms = MINUTE_MS,
    .retry_attempts = 5,
    .orphan_after_ms = 10 * MINUTE_MS,
};

static const struct controller_setting settings[] = {
    {.name = "health-check-interval",
     .variable = "DNS_CLASS_HEALTH_CHECK_INTERVAL",
     .type = SETTING_MS,
     .fallback = "10m",
     .min = SECOND_MS,
     .doc = "Time between two health checks of a class.",
     .offset = offsetof(struct dnsclass_settings, health_interval_ms)},
    {.name = "retry-base-delay",
     .variable = "DNS_RECORD_RETRY_BASE_DELAY",
     .type = SETTING_MS,
     .fallback = "5s",
     .min = 10,
     .doc = "Delay before the first retry of a record; it doubles with each.",
     .offset = offsetof(struct dnsclass_settings, retry_base_ms)},
    {.name = "retry-max-delay",
     .variable = "DNS_RECORD_RETRY_MAX_DELAY",
     .type = SETTING_MS,
     .fallback = "60s",
     .min = 10,
     .not_below = "retry-base-delay",
     .doc = "Longest delay between two retries; not below the base delay.",
     .offset = offsetof(struct dnsclass_settings, retry_max_ms)},
    {.name = "retry-max-attempts",
     .variable = "DNS_RECORD_RETRY_MAX_ATTEMPTS",
     .type = SETTING_INT,
     .fallback = "5",
     .min = 0,
     .max = 100,
     .doc = "Retries before the slow ones, one every health check interval.",
     .offset = offsetof(struct dnsclass_settings, retry_attempts)},
    {.name = "orphan-after",
     .type = SETTING_MS,
     .fallback = "10m",
     .min = SECOND_MS,
     .doc =
         "How long deletions go on with the last known Secret, or wait, once a class or its Secret "
         "is gone.",
     .offset = offsetof(struct dnsclass_settings, orphan_after_ms)},
};

// One reconciliation of a class.
struct reconcile {
    const struct snapshot *snapshot;
    struct arena *arena;
    struct dnsclass_settings settings;
    struct dnsclass dnsclass;
    struct dnsclass_managed ours;
    struct text server;                 // normalised; absent when it is no URL
    const struct backend_view *backend; // as it is before this reconciliation; or NULL
    struct secret *secret;
    struct error fault;  // why requests can't be signed or sent
    const char *warning; // behind each message, or NULL
};

static const char *terminated(struct arena *arena, struct text text)
{
    return arena_copy(arena, text.at, text.len);
}

// ---- the secret ---------------------------------------------------------------------------------

static void refuse_secret(struct reconcile *reconcile, enum reason reason, const char *what)
{
    const struct dnsclass *dnsclass = &reconcile->dnsclass;
    enum fault fault = reason == REASON_INVALID_CONFIGURATION ? FAULT_SPEC : FAULT_WAIT;
    error_set(&reconcile->fault, fault, reason_name(reason), "Secret %.*s/%.*s %s",
              TEXT_ARGS(dnsclass->secret_namespace), TEXT_ARGS(dnsclass->secret_name), what);
}

static void secret_read(struct reconcile *reconcile)
{
    const struct input_objects *found = &reconcile->snapshot->inputs[0];
    if (found->unreadable) {
        refuse_secret(reconcile, REASON_FORBIDDEN,
                      arena_printf(reconcile->arena, "cannot be read: %s", found->unreadable));
        return;
    }
    if (found->count == 0 && !found->is_synced) {
        refuse_secret(reconcile, REASON_PENDING, "has not been read yet");
        return;
    }
    if (found->count == 0) {
        refuse_secret(reconcile, REASON_SECRET_NOT_FOUND, "does not exist: create it");
        return;
    }
    reconcile->secret =
        secret_kind_get(object_spec(found->objects[0]), reconcile->dnsclass.secret_key);
    if (!reconcile->secret)
        refuse_secret(reconcile, REASON_SECRET_NOT_FOUND,
                      arena_printf(reconcile->arena, "has no key %.*s: add it",
                                   TEXT_ARGS(reconcile->dnsclass.secret_key)));
    else if (secret_len(reconcile->secret) == 0)
        refuse_secret(reconcile, REASON_INVALID_CONFIGURATION,
                      arena_printf(reconcile->arena, "has an empty key %.*s: fill it",
                                   TEXT_ARGS(reconcile->dnsclass.secret_key)));
}

static const char *warning_of(const struct secret *secret)
{
    if (secret_ends_with_newline(secret))
        return "the shared secret ends in a line feed, which is part of it: "
               "use echo -n if it is not meant";
    return secret_is_short(secret) ? "the shared secret is short; 32 random octets are good" : NULL;
}

static void secret_find(struct reconcile *reconcile)
{
    if (reconcile->fault.fault != FAULT_NONE || !reconcile->dnsclass.has_hmac)
        return;
    if (reconcile->dnsclass.has_secret_ref)
        secret_read(reconcile);
    else
        reconcile->secret =
            secret_new(reconcile->dnsclass.secret.at, reconcile->dnsclass.secret.len);
    if (reconcile->secret)
        reconcile->warning = warning_of(reconcile->secret);
}

static void reconcile_open(struct reconcile *reconcile, const struct snapshot *snapshot)
{
    *reconcile = (struct reconcile){.snapshot = snapshot, .arena = snapshot->arena};
    struct findings findings = {.arena = snapshot->arena};
    const struct object *subject = snapshot->subject;
    reconcile->settings = snapshot->settings ? *(const struct dnsclass_settings *)snapshot->settings
                                             : dnsclass_defaults;
    dnsclass_unpack(reconcile->arena, object_spec(subject), object_managed(subject),
                    &reconcile->dnsclass, &reconcile->ours);
    reconcile->server = dnsclass_server(reconcile->arena, &reconcile->dnsclass);
    reconcile->backend = snapshot->backend_count ? snapshot->backends[0] : NULL;
    dnsclass_check(reconcile->arena, &reconcile->dnsclass, &findings);
    const char *faults = findings_join(&findings, FINDING_ERROR);
    if (faults)
        error_set(&reconcile->fault, FAULT_SPEC, reason_name(REASON_INVALID_CONFIGURATION), "%s",
                  faults);
    secret_find(reconcile);
}

// ---- the backend --------------------------------------------------------------------------------

static void config_set(struct reconcile *reconcile, struct value *config, const char *key,
                       struct text text)
{
    if (text.len)
        value_set(config, text_of(key), value_make_text(reconcile->arena, text));
}

static struct value *config_make(struct reconcile *reconcile)
{
    const struct dnsclass *dnsclass = &reconcile->dnsclass;
    struct value *config = value_make(reconcile->arena, VALUE_MAP);
    config_set(reconcile, config, "server", reconcile->server);
    value_set(config, TEXT("timeoutSeconds"),
              value_make_int(reconcile->arena, dnsclass->timeout_s));
    config_set(reconcile, config, "algorithm", dnsclass->algorithm);
    config_set(reconcile, config, "signedPath", dnsclass->signed_path);
    config_set(reconcile, config, "metadataStyle", dnsclass->metadata_style);
    config_set(reconcile, config, "caBundle", dnsclass->ca_bundle);
    config_set(reconcile, config, "serverName", dnsclass->tls_server_name);
    return config;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// A hash of class and Secret; not of the Secret's content, as records keep the hash in their
// status.
static uint64_t basis_of(const struct reconcile *reconcile)
{
    const struct object *subject = reconcile->snapshot->subject;
    const struct input_objects *secrets = &reconcile->snapshot->inputs[0];
    struct text spec = object_spec(subject);
    uint64_t parts[4] = {digest_word(spec.at, spec.len), subject->generation};
    for (size_t i = 0; i < secrets->count; i++) {
        struct text version = object_version(secrets->objects[i]);
        parts[2] ^= digest_word(secrets->objects[i]->uid, sizeof secrets->objects[i]->uid);
        parts[3] ^= digest_word(version.at, version.len);
    }
    return digest_word(parts, sizeof parts);
}

static bool was_well(const struct reconcile *reconcile)
{
    const struct condition *ready = conditions_find(&reconcile->ours.conditions, "Ready");
    return ready && ready->reason == REASON_SERVER_HEALTHY &&
           reconcile->ours.observed_generation == (int64_t)reconcile->snapshot->subject->generation;
}

// What was learned of the server: by the backend, or before this process.
static const struct value *known_of(const struct reconcile *reconcile)
{
    bool is_read =
        reconcile->backend && reconcile->backend->registry && *reconcile->backend->registry;
    if (is_read)
        return text_is(reconcile->server, reconcile->backend->registry) ? reconcile->backend->known
                                                                        : NULL;
    const struct value *known =
        reconcile->ours.known.len
            ? value_read_json(reconcile->arena, reconcile->ours.known, &value_manifest_limits, NULL)
            : NULL;
    return text_equal(value_text_at(known, "server"), reconcile->server) ? known : NULL;
}

static void open_backend(struct reconcile *reconcile, struct decision *out)
{
    const struct dnsclass_settings *numbers = &reconcile->settings;
    *decision_add_backend(out, reconcile->arena) = (struct backend_want){
        .name = arena_printf(reconcile->arena, DNSCLASS_BACKEND "%.*s",
                             TEXT_ARGS(reconcile->snapshot->name)),
        .provider = "webhook",
        .registry = terminated(reconcile->arena, reconcile->server),
        .config = config_make(reconcile),
        .secret = reconcile->secret,
        .max_in_flight = (unsigned)reconcile->dnsclass.max_in_flight,
        .retry_base_ms = numbers->retry_base_ms,
        .retry_max_ms = numbers->retry_max_ms,
        .retry_attempts = (unsigned)numbers->retry_attempts,
        .retry_slow_ms = larger(numbers->health_interval_ms, numbers->retry_max_ms),
        .linger_ms = numbers->orphan_after_ms,
        .learn_ms = LEARN_MS,
        .basis = basis_of(reconcile),
        .was_well = was_well(reconcile),
        .known = known_of(reconcile),
        .fault = reconcile->fault,
    };
}

static void ask_health(struct reconcile *reconcile, struct decision *out)
{
    uint8_t print[8] = {0};
    uint64_t parts[2] = {object_spec_hash(reconcile->snapshot->subject), 0};
    if (reconcile->secret)
        secret_fingerprint(reconcile->secret, print, sizeof print);
    memcpy(&parts[1], print, sizeof print);
    *decision_add_question(out, reconcile->arena) =
        (struct question){.backend = out->backends[0].name,
                          .name = "health",
                          .good_for_ms = reconcile->settings.health_interval_ms,
                          .epoch = hash_octets(parts, sizeof parts)};
}

// ---- the status ---------------------------------------------------------------------------------

// What a status says.
struct reported {
    enum reason reason;
    enum condition_status ready;
    const char *message;
    const char *health;
    const char *health_message; // or NULL
    int64_t checked_s;
};

static bool is_answered(const struct reconcile *reconcile)
{
    return reconcile->backend && reconcile->backend->answered_s &&
           text_is(reconcile->server, reconcile->backend->registry);
}

static bool has_moved(const struct reconcile *reconcile)
{
    return reconcile->backend && reconcile->backend->registry && *reconcile->backend->registry &&
           reconcile->server.len && !text_is(reconcile->server, reconcile->backend->registry);
}

static enum reason reason_of_failure(const struct error *error)
{
    enum reason found = reason_find(text_of(error->reason));
    if (found != REASON_NONE)
        return found;
    return error->fault == FAULT_AUTH ? REASON_AUTHENTICATION_FAILED : REASON_SERVER_ERROR;
}

static bool says_healthy(const struct value *answer)
{
    return text_equal_nocase(value_text_at(answer, "status"), TEXT("healthy"));
}

static void report_answer(const struct reconcile *reconcile, struct reported *reported)
{
    const struct backend_view *backend = reconcile->backend;
    struct text message = value_text_at(backend->answer, "message");
    reported->checked_s = backend->answered_s;
    reported->health_message = message.len ? terminated(reconcile->arena, message) : NULL;
    if (backend->is_answer_ok && says_healthy(backend->answer)) {
        reported->reason = REASON_SERVER_HEALTHY;
        reported->ready = CONDITION_TRUE;
        reported->health = "Healthy";
        reported->message = arena_printf(reconcile->arena, "%s is healthy", backend->registry);
        return;
    }
    reported->ready = CONDITION_FALSE;
    reported->health = "Unhealthy";
    reported->reason =
        backend->is_answer_ok ? REASON_SERVER_UNHEALTHY : reason_of_failure(&backend->answer_error);
    if (!backend->is_answer_ok)
        reported->health_message =
            terminated(reconcile->arena, text_of(backend->answer_error.text));
    reported->message =
        backend->is_answer_ok
            ? arena_printf(reconcile->arena, "%s says that it is not healthy", backend->registry)
            : reported->health_message;
}

static void report_fault(const struct reconcile *reconcile, struct reported *reported)
{
    *reported = (struct reported){
        .reason = reason_find(text_of(reconcile->fault.reason)),
        .ready = CONDITION_FALSE,
        .message = terminated(reconcile->arena, text_of(reconcile->fault.text)),
        .health = "Unknown",
        .checked_s = reconcile->ours.last_health_check_s,
    };
}

// The time of the last check. If nothing else changes it is written once an interval only.
static int64_t steady_time(const struct reconcile *reconcile, const struct reported *reported)
{
    const struct condition *before = conditions_find(&reconcile->ours.conditions, "Ready");
    int64_t last_s = reconcile->ours.last_health_check_s;
    bool is_same =
        before && before->reason == reported->reason &&
        reconcile->ours.observed_generation == (int64_t)reconcile->snapshot->subject->generation;
    bool is_early = reported->checked_s >= last_s &&
                    (reported->checked_s - last_s) * 1000 < reconcile->settings.health_interval_ms;
    return is_same && last_s && is_early ? last_s : reported->checked_s;
}

static const char *message_of(const struct reconcile *reconcile, const struct reported *reported)
{
    const char *note = is_answered(reconcile) ? reconcile->backend->note : NULL;
    return arena_printf(reconcile->arena, "%s%s%s%s%s", reported->message, note ? "; " : "",
                        note ? note : "", reconcile->warning ? "; " : "",
                        reconcile->warning ? reconcile->warning : "");
}

static const struct value *status_make(struct reconcile *reconcile, const struct reported *reported)
{
    int64_t generation = reconcile->snapshot->subject->generation;
    const struct value *known = known_of(reconcile);
    struct text path = value_text_at(known, "signedPath");
    struct dnsclass_status status = {
        .last_health_check_s = steady_time(reconcile, reported),
        .health = reported->health,
        .health_message = reported->health_message,
        .observed_generation = generation,
        .server = known ? terminated(reconcile->arena, reconcile->server) : NULL,
        .capabilities = value_find(known, "capabilities"),
        .signed_path = path.len ? terminated(reconcile->arena, path) : NULL,
    };
    conditions_set(&status.conditions, &reconcile->ours.conditions,
                   (struct condition){.type = "Ready",
                                      .status = reported->ready,
                                      .reason = reported->reason,
                                      .message = message_of(reconcile, reported),
                                      .observed_generation = generation},
                   reconcile->snapshot->now_ms / 1000);
    return dnsclass_status_encode(reconcile->arena, &status);
}

static const struct log_attr *attrs_make(struct reconcile *reconcile,
                                         const struct reported *reported)
{
    struct log_attr *attrs = arena_new_array(reconcile->arena, struct log_attr, 5);
    attrs[0] = LOG_SLICE("class", reconcile->snapshot->name);
    attrs[1] = LOG_SLICE("server", reconcile->server);
    attrs[2] = LOG_TEXT("reason", reason_name(reported->reason));
    attrs[3] = LOG_TEXT("message", message_of(reconcile, reported));
    attrs[4] = LOG_END;
    return attrs;
}

static void note_change(struct reconcile *reconcile, const struct reported *reported,
                        struct decision *out)
{
    const struct condition *before = conditions_find(&reconcile->ours.conditions, "Ready");
    bool is_warning = reported->ready == CONDITION_FALSE;
    enum reason old = before ? before->reason : REASON_HEALTH_CHECK_PENDING;
    if (has_moved(reconcile))
        decision_add_event(out, false, EVENT_SERVER_CHANGED,
                           arena_printf(reconcile->arena,
                                        "records go to %.*s from now on; nothing is deleted at %s",
                                        TEXT_ARGS(reconcile->server),
                                        reconcile->backend->registry));
    if (old == reported->reason || reported->reason == REASON_HEALTH_CHECK_PENDING)
        return;
    if (old != REASON_HEALTH_CHECK_PENDING || is_warning)
        decision_add_event(out, is_warning, EVENT_HEALTH_CHANGED,
                           arena_printf(reconcile->arena, "%s: %s", reason_name(reported->reason),
                                        reported->message));
    out->lines[out->line_count++] =
        (struct decision_line){.level = is_warning ? LOG_WARN : LOG_INFO,
                               .message = is_warning ? "class is not ready" : "class is ready",
                               .attrs = attrs_make(reconcile, reported)};
}

// The backend has the old secret until this decision is carried out.
static void note_rotation(struct reconcile *reconcile, struct decision *out)
{
    const struct dnsclass *dnsclass = &reconcile->dnsclass;
    const struct secret *before = reconcile->backend ? reconcile->backend->secret : NULL;
    if (!before || !reconcile->secret || secret_equal(before, reconcile->secret))
        return;
    decision_add_event(
        out, false, EVENT_SECRET_ROTATED,
        dnsclass->has_secret_ref
            ? arena_printf(reconcile->arena,
                           "Secret %.*s/%.*s has a new key %.*s: it signs from now on",
                           TEXT_ARGS(dnsclass->secret_namespace), TEXT_ARGS(dnsclass->secret_name),
                           TEXT_ARGS(dnsclass->secret_key))
            : "the class has a new secret: it signs from now on");
    struct log_attr *attrs = arena_new_array(reconcile->arena, struct log_attr, 2);
    attrs[0] = LOG_SLICE("class", reconcile->snapshot->name);
    attrs[1] = LOG_END;
    out->lines[out->line_count++] = (struct decision_line){
        .level = LOG_INFO, .message = "class signs with a new secret", .attrs = attrs};
}

// False: the status keeps what it says from before a restart until the server has answered.
static bool is_pending_news(const struct reconcile *reconcile)
{
    const struct condition *before = conditions_find(&reconcile->ours.conditions, "Ready");
    if (!before || has_moved(reconcile) || before->reason == REASON_HEALTH_CHECK_PENDING)
        return true;
    return before->reason == REASON_SECRET_NOT_FOUND ||
           before->reason == REASON_INVALID_CONFIGURATION || before->reason == REASON_NONE;
}

static bool report_status(struct reconcile *reconcile, struct reported *reported)
{
    if (reconcile->fault.fault != FAULT_NONE) {
        report_fault(reconcile, reported);
        return reported->reason != REASON_PENDING;
    }
    // The provider itself may refuse the settings, certificates say.
    if (reconcile->backend && reconcile->backend->fault.fault == FAULT_SPEC &&
        !has_moved(reconcile) && text_is(reconcile->server, reconcile->backend->registry)) {
        reconcile->fault = reconcile->backend->fault;
        report_fault(reconcile, reported);
        reconcile->fault = (struct error){0};
        return true;
    }
    if (is_answered(reconcile)) {
        report_answer(reconcile, reported);
        return true;
    }
    *reported = (struct reported){.reason = REASON_HEALTH_CHECK_PENDING,
                                  .ready = CONDITION_UNKNOWN,
                                  .message = "the server has not answered yet",
                                  .health = "Unknown"};
    return is_pending_news(reconcile);
}

static enum reason old_reason(const struct reconcile *reconcile)
{
    const struct condition *ready = conditions_find(&reconcile->ours.conditions, "Ready");
    return ready && ready->reason ? ready->reason : REASON_HEALTH_CHECK_PENDING;
}

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    (void)model;
    struct reconcile reconcile;
    struct reported reported = {0};
    if (!snapshot->subject)
        return;
    reconcile_open(&reconcile, snapshot);
    if (reconcile.server.len)
        open_backend(&reconcile, out);
    else
        secret_unref(reconcile.secret);
    if (reconcile.server.len && reconcile.fault.fault == FAULT_NONE)
        ask_health(&reconcile, out);
    out->fault = reconcile.fault;
    out->class_label = terminated(reconcile.arena, snapshot->name);
    note_rotation(&reconcile, out);
    if (!report_status(&reconcile, &reported)) {
        out->reason_label = reason_name(old_reason(&reconcile));
        return;
    }
    out->reason_label = reason_name(reported.reason);
    out->status = status_make(&reconcile, &reported);
    note_change(&reconcile, &reported, out);
}

// ---- inputs -------------------------------------------------------------------------------------

static void want_secret(const struct object *subject, struct strings *out)
{
    struct dnsclass dnsclass;
    dnsclass_unpack(out->arena, object_spec(subject), (struct text){0}, &dnsclass, NULL);
    if (dnsclass.has_secret_ref)
        strings_add(out, "%.*s/%.*s", TEXT_ARGS(dnsclass.secret_namespace),
                    TEXT_ARGS(dnsclass.secret_name));
}

static void want_backend(const struct object *subject, struct strings *out)
{
    strings_add(out, DNSCLASS_BACKEND "%.*s", TEXT_ARGS(object_name(subject)));
}

static const struct input inputs[] = {
    {.kind = &secret_kind, .lookup_keys = want_secret},
};
static const struct backend_input backends = {.lookup_keys = want_backend};

static const struct controller_metric metrics[] = {
    {.name = "signpost_dnsclass_healthy",
     .title = "Servers that are healthy",
     .type = METRIC_IS,
     .reason = "ServerHealthy",
     .help = "1 while the server of the class says that it is healthy."},
};

static const char *const outward_reasons[] = {"SecretNotFound", NULL};

static const char *const follow[] = {"get", "list", "watch", NULL};
static const char *const follow_one[] = {"get", "watch", NULL};
static const char *const patch[] = {"patch", NULL};

static const struct kube_right rights[] = {
    {.group = DNS_GROUP,
     .resource = "dnsclasses",
     .verbs = follow,
     .scope = RIGHT_CLUSTER,
     .why = "Servers that records go to."},
    {.group = DNS_GROUP,
     .resource = "dnsclasses/status",
     .verbs = patch,
     .scope = RIGHT_CLUSTER,
     .why = "How a server answers."},
    {.group = "",
     .resource = "namespaces",
     .verbs = follow,
     .scope = RIGHT_CLUSTER,
     .why = "Labels, which the namespaceSelector of a class looks at."},
    {.group = "",
     .resource = "secrets",
     .verbs = follow_one,
     .scope = RIGHT_REFERENCED,
     .why = "Keys that requests are signed with: those that a class names, one by one."},
    {0},
};

static const struct dependency dependencies[] = {{.type = RUNS_BY_DEFAULT}, {.type = DEPENDS_END}};

const struct controller dnsclass_controller = {
    .name = "dnsclass",
    .kind = &dnsclass_kind,
    .inputs = inputs,
    .input_count = COUNT_OF(inputs),
    .backends = &backends,
    .dependencies = dependencies,
    .decide = decide,
    .outward_reasons = outward_reasons,
    .rights = rights,
    .settings = settings,
    .setting_count = COUNT_OF(settings),
    .settings_size = sizeof(struct dnsclass_settings),
    .metrics = metrics,
    .metric_count = COUNT_OF(metrics),
};
