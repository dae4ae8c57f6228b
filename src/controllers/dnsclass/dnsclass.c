#include <string.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/when.h"
#include "controllers/dnsclass/dnsclass_controller.h"
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
     .doc = "How long deletions go on or wait when class or Secret are gone.",
     .offset = offsetof(struct dnsclass_settings, orphan_after_ms)},
};

// One turn of a class.
struct turn {
    const struct snapshot *snapshot;
    struct arena *arena;
    struct dnsclass_settings settings;
    struct dnsclass dnsclass;
    struct dnsclass_ours ours;
    struct text server;           // normalised; absent when it is no URL
    const struct lane_view *lane; // as it is before this turn; or NULL
    struct secret *secret;
    struct error fault;  // why requests can't be signed or sent
    const char *warning; // behind each message, or NULL
};

static const char *terminated(struct arena *arena, struct text text)
{
    return arena_copy(arena, text.at, text.len);
}

// ---- the secret ---------------------------------------------------------------------------------

static void refuse_secret(struct turn *turn, enum reason reason, const char *what)
{
    const struct dnsclass *dnsclass = &turn->dnsclass;
    enum fault fault = reason == REASON_INVALID_CONFIGURATION ? FAULT_SPEC : FAULT_WAIT;
    error_set(&turn->fault, fault, reason_name(reason), "Secret %.*s/%.*s %s",
              TEXT_ARGS(dnsclass->secret_namespace), TEXT_ARGS(dnsclass->secret_name), what);
}

static void secret_read(struct turn *turn)
{
    const struct gathered *found = &turn->snapshot->gathers[0];
    if (found->unreadable) {
        refuse_secret(turn, REASON_FORBIDDEN,
                      arena_printf(turn->arena, "cannot be read: %s", found->unreadable));
        return;
    }
    if (found->count == 0 && !found->is_synced) {
        refuse_secret(turn, REASON_PENDING, "has not been read yet");
        return;
    }
    if (found->count == 0) {
        refuse_secret(turn, REASON_SECRET_NOT_FOUND, "does not exist: create it");
        return;
    }
    turn->secret = secret_kind_get(object_spec(found->objects[0]), turn->dnsclass.secret_key);
    if (!turn->secret)
        refuse_secret(turn, REASON_SECRET_NOT_FOUND,
                      arena_printf(turn->arena, "has no key %.*s: add it",
                                   TEXT_ARGS(turn->dnsclass.secret_key)));
    else if (secret_len(turn->secret) == 0)
        refuse_secret(turn, REASON_INVALID_CONFIGURATION,
                      arena_printf(turn->arena, "has an empty key %.*s: fill it",
                                   TEXT_ARGS(turn->dnsclass.secret_key)));
}

static const char *warning_of(const struct secret *secret)
{
    if (secret_ends_with_newline(secret))
        return "the shared secret ends in a line feed, which is part of it: "
               "use echo -n if it is not meant";
    return secret_is_short(secret) ? "the shared secret is short; 32 random octets are good" : NULL;
}

static void secret_find(struct turn *turn)
{
    if (turn->fault.fault != FAULT_NONE || !turn->dnsclass.has_hmac)
        return;
    if (turn->dnsclass.has_secret_ref)
        secret_read(turn);
    else
        turn->secret = secret_new(turn->dnsclass.secret.at, turn->dnsclass.secret.len);
    if (turn->secret)
        turn->warning = warning_of(turn->secret);
}

static void turn_open(struct turn *turn, const struct snapshot *snapshot)
{
    *turn = (struct turn){.snapshot = snapshot, .arena = snapshot->arena};
    struct findings findings = {.arena = snapshot->arena};
    const struct object *subject = snapshot->subject;
    turn->settings = snapshot->settings ? *(const struct dnsclass_settings *)snapshot->settings
                                        : dnsclass_defaults;
    dnsclass_unpack(turn->arena, object_spec(subject), object_ours(subject), &turn->dnsclass,
                    &turn->ours);
    turn->server = dnsclass_server(turn->arena, &turn->dnsclass);
    turn->lane = snapshot->lane_count ? snapshot->lanes[0] : NULL;
    dnsclass_check(turn->arena, &turn->dnsclass, &findings);
    const char *faults = findings_join(&findings, FINDING_ERROR);
    if (faults)
        error_set(&turn->fault, FAULT_SPEC, reason_name(REASON_INVALID_CONFIGURATION), "%s",
                  faults);
    secret_find(turn);
}

// ---- the lane -----------------------------------------------------------------------------------

static void config_set(struct turn *turn, struct value *config, const char *key, struct text text)
{
    if (text.len)
        value_set(config, text_of(key), value_make_text(turn->arena, text));
}

static struct value *config_make(struct turn *turn)
{
    const struct dnsclass *dnsclass = &turn->dnsclass;
    struct value *config = value_make(turn->arena, VALUE_MAP);
    config_set(turn, config, "server", turn->server);
    value_set(config, TEXT("timeoutSeconds"), value_make_int(turn->arena, dnsclass->timeout_s));
    config_set(turn, config, "algorithm", dnsclass->algorithm);
    config_set(turn, config, "signedPath", dnsclass->signed_path);
    config_set(turn, config, "metadataStyle", dnsclass->metadata_style);
    config_set(turn, config, "caBundle", dnsclass->ca_bundle);
    config_set(turn, config, "serverName", dnsclass->tls_server_name);
    return config;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// Without the content of a Secret: records keep it in their status.
static uint64_t basis_of(const struct turn *turn)
{
    const struct object *subject = turn->snapshot->subject;
    const struct gathered *secrets = &turn->snapshot->gathers[0];
    struct text spec = object_spec(subject);
    uint64_t parts[4] = {digest_word(spec.at, spec.len), subject->generation};
    for (size_t i = 0; i < secrets->count; i++) {
        struct text version = object_version(secrets->objects[i]);
        parts[2] ^= digest_word(secrets->objects[i]->uid, sizeof secrets->objects[i]->uid);
        parts[3] ^= digest_word(version.at, version.len);
    }
    return digest_word(parts, sizeof parts);
}

static bool was_well(const struct turn *turn)
{
    const struct condition *ready = conditions_find(&turn->ours.conditions, "Ready");
    return ready && ready->reason == REASON_SERVER_HEALTHY &&
           turn->ours.observed_generation == (int64_t)turn->snapshot->subject->generation;
}

// What was learned of the server: by the lane, or before this process.
static const struct value *known_of(const struct turn *turn)
{
    bool is_read = turn->lane && turn->lane->book && *turn->lane->book;
    if (is_read)
        return text_is(turn->server, turn->lane->book) ? turn->lane->known : NULL;
    const struct value *known =
        turn->ours.known.len
            ? value_read_json(turn->arena, turn->ours.known, &value_manifest_limits, NULL)
            : NULL;
    return text_equal(value_text_at(known, "server"), turn->server) ? known : NULL;
}

static const struct lane_want *lane_make(struct turn *turn)
{
    const struct dnsclass_settings *numbers = &turn->settings;
    struct lane_want *lane = arena_new_of(turn->arena, struct lane_want);
    *lane = (struct lane_want){
        .name = arena_printf(turn->arena, "class-%.*s", TEXT_ARGS(turn->snapshot->name)),
        .provider = "webhook",
        .book = terminated(turn->arena, turn->server),
        .config = config_make(turn),
        .secret = turn->secret,
        .max_in_flight = (unsigned)turn->dnsclass.max_in_flight,
        .retry_base_ms = numbers->retry_base_ms,
        .retry_max_ms = numbers->retry_max_ms,
        .retry_attempts = (unsigned)numbers->retry_attempts,
        .retry_slow_ms = larger(numbers->health_interval_ms, numbers->retry_max_ms),
        .linger_ms = numbers->orphan_after_ms,
        .learn_ms = LEARN_MS,
        .basis = basis_of(turn),
        .was_well = was_well(turn),
        .known = known_of(turn),
        .fault = turn->fault,
    };
    return lane;
}

static const struct question *question_make(struct turn *turn)
{
    uint8_t print[8] = {0};
    uint64_t parts[2] = {object_spec_hash(turn->snapshot->subject), 0};
    if (turn->secret)
        secret_fingerprint(turn->secret, print, sizeof print);
    memcpy(&parts[1], print, sizeof print);
    struct question *question = arena_new_of(turn->arena, struct question);
    *question = (struct question){.name = "health",
                                  .good_for_ms = turn->settings.health_interval_ms,
                                  .epoch = hash_octets(parts, sizeof parts)};
    return question;
}

// ---- the status ---------------------------------------------------------------------------------

// What a status says.
struct told {
    enum reason reason;
    enum condition_status ready;
    const char *message;
    const char *health;
    const char *health_message; // or NULL
    int64_t checked_s;
};

static bool is_answered(const struct turn *turn)
{
    return turn->lane && turn->lane->answered_s && text_is(turn->server, turn->lane->book);
}

static bool has_moved(const struct turn *turn)
{
    return turn->lane && turn->lane->book && *turn->lane->book && turn->server.len &&
           !text_is(turn->server, turn->lane->book);
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

static void tell_answer(const struct turn *turn, struct told *told)
{
    const struct lane_view *lane = turn->lane;
    struct text message = value_text_at(lane->answer, "message");
    told->checked_s = lane->answered_s;
    told->health_message = message.len ? terminated(turn->arena, message) : NULL;
    if (lane->is_answer_ok && says_healthy(lane->answer)) {
        told->reason = REASON_SERVER_HEALTHY;
        told->ready = CONDITION_TRUE;
        told->health = "Healthy";
        told->message = arena_printf(turn->arena, "%s is healthy", lane->book);
        return;
    }
    told->ready = CONDITION_FALSE;
    told->health = "Unhealthy";
    told->reason =
        lane->is_answer_ok ? REASON_SERVER_UNHEALTHY : reason_of_failure(&lane->answer_error);
    if (!lane->is_answer_ok)
        told->health_message = terminated(turn->arena, text_of(lane->answer_error.text));
    told->message = lane->is_answer_ok
                        ? arena_printf(turn->arena, "%s says that it is not healthy", lane->book)
                        : told->health_message;
}

static void tell_fault(const struct turn *turn, struct told *told)
{
    *told = (struct told){
        .reason = reason_find(text_of(turn->fault.reason)),
        .ready = CONDITION_FALSE,
        .message = terminated(turn->arena, text_of(turn->fault.text)),
        .health = "Unknown",
        .checked_s = turn->ours.last_health_check_s,
    };
}

// Seconds that change alone are not worth a write more often than each interval.
static int64_t steady_time(const struct turn *turn, const struct told *told)
{
    const struct condition *before = conditions_find(&turn->ours.conditions, "Ready");
    int64_t last_s = turn->ours.last_health_check_s;
    bool is_same = before && before->reason == told->reason &&
                   turn->ours.observed_generation == (int64_t)turn->snapshot->subject->generation;
    bool is_early = told->checked_s >= last_s &&
                    (told->checked_s - last_s) * 1000 < turn->settings.health_interval_ms;
    return is_same && last_s && is_early ? last_s : told->checked_s;
}

static const char *message_of(const struct turn *turn, const struct told *told)
{
    const char *note = is_answered(turn) ? turn->lane->note : NULL;
    return arena_printf(turn->arena, "%s%s%s%s%s", told->message, note ? "; " : "",
                        note ? note : "", turn->warning ? "; " : "",
                        turn->warning ? turn->warning : "");
}

static const struct value *status_make(struct turn *turn, const struct told *told)
{
    int64_t generation = turn->snapshot->subject->generation;
    const struct value *known = known_of(turn);
    struct text path = value_text_at(known, "signedPath");
    struct dnsclass_status status = {
        .last_health_check_s = steady_time(turn, told),
        .health = told->health,
        .health_message = told->health_message,
        .observed_generation = generation,
        .server = known ? terminated(turn->arena, turn->server) : NULL,
        .capabilities = value_find(known, "capabilities"),
        .signed_path = path.len ? terminated(turn->arena, path) : NULL,
    };
    conditions_set(&status.conditions, &turn->ours.conditions,
                   (struct condition){.type = "Ready",
                                      .status = told->ready,
                                      .reason = told->reason,
                                      .message = message_of(turn, told),
                                      .observed_generation = generation},
                   turn->snapshot->now_ms / 1000);
    return dnsclass_status_encode(turn->arena, &status);
}

static const struct log_attr *attrs_make(struct turn *turn, const struct told *told)
{
    struct log_attr *attrs = arena_new_array(turn->arena, struct log_attr, 5);
    attrs[0] = LOG_SLICE("class", turn->snapshot->name);
    attrs[1] = LOG_SLICE("server", turn->server);
    attrs[2] = LOG_TEXT("reason", reason_name(told->reason));
    attrs[3] = LOG_TEXT("message", message_of(turn, told));
    attrs[4] = LOG_END;
    return attrs;
}

static void note_change(struct turn *turn, const struct told *told, struct verdict *out)
{
    const struct condition *before = conditions_find(&turn->ours.conditions, "Ready");
    bool is_warning = told->ready == CONDITION_FALSE;
    enum reason old = before ? before->reason : REASON_HEALTH_CHECK_PENDING;
    if (has_moved(turn))
        verdict_note(out, false, EVENT_SERVER_CHANGED,
                     arena_printf(turn->arena,
                                  "records go to %.*s from now on; nothing is deleted at %s",
                                  TEXT_ARGS(turn->server), turn->lane->book));
    if (old == told->reason || told->reason == REASON_HEALTH_CHECK_PENDING)
        return;
    if (old != REASON_HEALTH_CHECK_PENDING || is_warning)
        verdict_note(out, is_warning, EVENT_HEALTH_CHANGED,
                     arena_printf(turn->arena, "%s: %s", reason_name(told->reason), told->message));
    out->lines[out->line_count++] =
        (struct verdict_line){.level = is_warning ? LOG_WARN : LOG_INFO,
                              .message = is_warning ? "class is not ready" : "class is ready",
                              .attrs = attrs_make(turn, told)};
}

// The lane still signs with the one before.
static void note_rotation(struct turn *turn, struct verdict *out)
{
    const struct dnsclass *dnsclass = &turn->dnsclass;
    const struct secret *before = turn->lane ? turn->lane->secret : NULL;
    if (!before || !turn->secret || secret_equal(before, turn->secret))
        return;
    verdict_note(
        out, false, EVENT_SECRET_ROTATED,
        dnsclass->has_secret_ref
            ? arena_printf(turn->arena, "Secret %.*s/%.*s has a new key %.*s: it signs from now on",
                           TEXT_ARGS(dnsclass->secret_namespace), TEXT_ARGS(dnsclass->secret_name),
                           TEXT_ARGS(dnsclass->secret_key))
            : "the class has a new secret: it signs from now on");
    struct log_attr *attrs = arena_new_array(turn->arena, struct log_attr, 2);
    attrs[0] = LOG_SLICE("class", turn->snapshot->name);
    attrs[1] = LOG_END;
    out->lines[out->line_count++] = (struct verdict_line){
        .level = LOG_INFO, .message = "class signs with a new secret", .attrs = attrs};
}

// After a restart the last word stands until the server has been asked again.
static bool is_pending_news(const struct turn *turn)
{
    const struct condition *before = conditions_find(&turn->ours.conditions, "Ready");
    if (!before || has_moved(turn) || before->reason == REASON_HEALTH_CHECK_PENDING)
        return true;
    return before->reason == REASON_SECRET_NOT_FOUND ||
           before->reason == REASON_INVALID_CONFIGURATION || before->reason == REASON_NONE;
}

static bool tell(struct turn *turn, struct told *told)
{
    if (turn->fault.fault != FAULT_NONE) {
        tell_fault(turn, told);
        return told->reason != REASON_PENDING;
    }
    // The provider itself may refuse the settings, certificates say.
    if (turn->lane && turn->lane->fault.fault == FAULT_SPEC && !has_moved(turn) &&
        text_is(turn->server, turn->lane->book)) {
        turn->fault = turn->lane->fault;
        tell_fault(turn, told);
        turn->fault = (struct error){0};
        return true;
    }
    if (is_answered(turn)) {
        tell_answer(turn, told);
        return true;
    }
    *told = (struct told){.reason = REASON_HEALTH_CHECK_PENDING,
                          .ready = CONDITION_UNKNOWN,
                          .message = "the server has not answered yet",
                          .health = "Unknown"};
    return is_pending_news(turn);
}

static enum reason old_reason(const struct turn *turn)
{
    const struct condition *ready = conditions_find(&turn->ours.conditions, "Ready");
    return ready && ready->reason ? ready->reason : REASON_HEALTH_CHECK_PENDING;
}

static void decide(const struct snapshot *snapshot, void *model, struct verdict *out)
{
    (void)model;
    struct turn turn;
    struct told told = {0};
    if (!snapshot->subject)
        return;
    turn_open(&turn, snapshot);
    if (turn.server.len)
        out->lane = lane_make(&turn);
    else
        secret_unref(turn.secret);
    if (turn.server.len && turn.fault.fault == FAULT_NONE)
        out->question = question_make(&turn);
    out->fault = turn.fault;
    out->class_label = terminated(turn.arena, snapshot->name);
    note_rotation(&turn, out);
    if (!tell(&turn, &told)) {
        out->reason_label = reason_name(old_reason(&turn));
        return;
    }
    out->reason_label = reason_name(told.reason);
    out->status = status_make(&turn, &told);
    note_change(&turn, &told, out);
}

// ---- gathers ------------------------------------------------------------------------------------

static void want_secret(const struct object *subject, struct strings *out)
{
    struct dnsclass dnsclass;
    dnsclass_unpack(out->arena, object_spec(subject), (struct text){0}, &dnsclass, NULL);
    if (dnsclass.has_secret_ref)
        strings_add(out, "%.*s/%.*s", TEXT_ARGS(dnsclass.secret_namespace),
                    TEXT_ARGS(dnsclass.secret_name));
}

static void want_lane(const struct object *subject, struct strings *out)
{
    strings_add(out, "class-%.*s", TEXT_ARGS(object_name(subject)));
}

static const struct gather gathers[] = {
    {.kind = &secret_kind, .wants = want_secret},
};
static const struct lane_gather lanes = {.wants = want_lane};

static const struct controller_metric metrics[] = {
    {.name = "signpost_dnsclass_healthy",
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

const struct controller dnsclass_controller = {
    .name = "dnsclass",
    .kind = &dnsclass_kind,
    .gathers = gathers,
    .gather_count = COUNT_OF(gathers),
    .lanes = &lanes,
    .is_default = true,
    .decide = decide,
    .outward_reasons = outward_reasons,
    .rights = rights,
    .settings = settings,
    .setting_count = COUNT_OF(settings),
    .settings_size = sizeof(struct dnsclass_settings),
    .metrics = metrics,
    .metric_count = COUNT_OF(metrics),
};
