#include "store/cluster/watch_private.h"

enum { TIMEOUT_MIN_S = 300, TIMEOUT_SPREAD_S = 301, SHORT_MS = 1000 };

static void add_timeout(struct watch *watch, struct buffer *path)
{
    struct random *random = watch->options.world->random;
    int64_t timeout_s = TIMEOUT_MIN_S + (int64_t)random_below(random, TIMEOUT_SPREAD_S);
    watch->timeout_ms = timeout_s * 1000;
    buffer_printf(path, "&timeoutSeconds=%lld", (long long)timeout_s);
}

void watch_open_streaming_list(struct watch *watch)
{
    AUTO_BUFFER path = {0};
    watch_add_path(watch, &path);
    buffer_add_text(&path, "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                           "&allowWatchBookmarks=true&resourceVersion=");
    if (watch->from == FROM_POSITION)
        api_query_escape(&path, buffer_text(&watch->position));
    add_timeout(watch, &path);
    watch_begin_pass(watch);
    watch_send(watch, PHASE_STREAMING_LIST, path.at);
}

void watch_open_live(struct watch *watch)
{
    AUTO_BUFFER path = {0};
    bool is_known = watch->position.len;
    watch_add_path(watch, &path);
    buffer_add_text(&path, "watch=1&allowWatchBookmarks=true&resourceVersion=");
    api_query_escape(&path, is_known ? buffer_text(&watch->position) : TEXT("0"));
    add_timeout(watch, &path);
    if (!is_known)
        watch_begin_pass(watch);
    watch_send(watch, is_known ? PHASE_LIVE : PHASE_FOLLOW, path.at);
}

static bool is_end_mark(const struct value *object)
{
    return text_is(value_text_at(object, "metadata.annotations[k8s.io/initial-events-end]"),
                   "true");
}

// Advances our resourceVersion. Stops the watch and returns false if the server's versions went
// back.
static bool follow_position(struct watch *watch, struct text position)
{
    if (position.len == 0)
        return true;
    if (watch_is_older(position, buffer_text(&watch->position))) {
        error_set(&watch->error, FAULT_AGAIN, "WentBack", "resourceVersion %.*s came after %s",
                  TEXT_ARGS(position), watch->position.at);
        return watch_end_soon(watch, HOW_WENT_BACK);
    }
    buffer_clear(&watch->position);
    buffer_add(&watch->position, position.at, position.len);
    return true;
}

static bool go_live(struct watch *watch)
{
    watch->phase = PHASE_LIVE;
    watch_mark_accepted(watch);
    watch_arm_deadline(watch);
    return true;
}

static bool handle_object(struct watch *watch, const struct value *object, bool is_deleted,
                          bool is_added)
{
    struct text position = value_text_at(object, "metadata.resourceVersion");
    if (watch->phase == PHASE_LIVE && !follow_position(watch, position))
        return false;
    watch->has_reported = true;
    watch->sink.object(watch->sink.context, is_deleted, object);
    if (watch->phase != PHASE_FOLLOW || is_added)
        return true;
    return follow_position(watch, position) && go_live(watch);
}

static bool handle_added(struct watch *watch, const struct value *object)
{
    return handle_object(watch, object, false, true);
}

static bool handle_modified(struct watch *watch, const struct value *object)
{
    return handle_object(watch, object, false, false);
}

static bool handle_deleted(struct watch *watch, const struct value *object)
{
    return handle_object(watch, object, true, false);
}

static bool handle_bookmark(struct watch *watch, const struct value *object)
{
    struct text position = value_text_at(object, "metadata.resourceVersion");
    bool is_end = is_end_mark(object);
    if (watch->phase != PHASE_LIVE && is_end)
        return watch_end_pass(watch, position) && go_live(watch);
    if (watch->phase == PHASE_STREAMING_LIST)
        return true;
    if (!follow_position(watch, position))
        return false;
    watch->bookmarks += !is_end;
    return go_live(watch);
}

static bool has_cause(const struct value *status, const char *reason)
{
    const struct value *causes = value_at(status, "details.causes", NULL);
    value_each (cause, causes)
        if (text_is(value_text_at(cause, "reason"), reason))
            return true;
    return false;
}

static enum watch_how judge_status(int64_t code, struct text reason)
{
    if (code == 410 || text_is(reason, "Expired") || text_is(reason, "Gone"))
        return HOW_EXPIRED;
    return code == 429 || code == 500 ? HOW_AGAIN : HOW_RELIST;
}

static bool handle_error(struct watch *watch, const struct value *status)
{
    int64_t code = value_int_at(status, "code", 0);
    struct text reason = value_text_at(status, "reason");
    struct text message = value_text_at(status, "message");
    error_set(&watch->error, FAULT_AGAIN, "WatchError", "%.*s", TEXT_ARGS(message));
    int64_t retry_s = value_int_at(status, "details.retryAfterSeconds", 0);
    watch->error.retry_ms = retry_s > 0 && retry_s < 3600 ? retry_s * 1000 : 0;
    if (has_cause(status, "ResourceVersionTooLarge"))
        return watch_end_soon(watch, watch_how_too_large(watch));
    return watch_end_soon(watch, judge_status(code, reason));
}

static bool handle_unknown(struct watch *watch, struct text type)
{
    AUTO_BUFFER shown = {0};
    if (watch->has_unknown_type)
        return true;
    watch->has_unknown_type = true;
    text_clean(&shown, type, 64);
    watch_log(watch, LOG_WARN, "an event of unknown type is skipped", buffer_text(&shown).at);
    return true;
}

static bool handle_typed(struct watch *watch, struct text type, const struct value *object)
{
    static const struct {
        const char *type;
        bool (*handle)(struct watch *watch, const struct value *object);
    } types[] = {
        {"ADDED", handle_added},       {"MODIFIED", handle_modified}, {"DELETED", handle_deleted},
        {"BOOKMARK", handle_bookmark}, {"ERROR", handle_error},
    };
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (text_is(type, types[i].type))
            return types[i].handle(watch, object);
    return handle_unknown(watch, type);
}

bool watch_handle_event(void *context, struct text document)
{
    struct watch *watch = context;
    const struct value *event = watch_read_document(watch, document, &watch->error);
    if (!event)
        return watch_end_soon(watch, HOW_UNREADABLE);
    struct text type = value_text_at(event, "type");
    const struct value *object = value_find(event, "object");
    if (!type.at || !object || object->type != VALUE_MAP) {
        error_set(&watch->error, FAULT_AGAIN, "InvalidEvent", "an event without type or object");
        return watch_end_soon(watch, HOW_UNREADABLE);
    }
    if (!text_is(type, "ERROR")) {
        watch->has_event = true;
        watch->counts.last_event_ms = watch_now(watch);
    }
    return handle_typed(watch, type, object);
}

void watch_handle_stream_end(struct watch *watch)
{
    struct error err = {0};
    bool has_ended_at_once = watch_now(watch) - watch->opened_ms < SHORT_MS && !watch->has_event;
    if (!splitter_is_done(watch->splitter)) {
        error_set(&err, FAULT_AGAIN, "CutEvent", "the stream ended within an event");
        watch_end(watch, HOW_UNREADABLE, &err);
        return;
    }
    if (watch->phase != PHASE_STREAMING_LIST && !has_ended_at_once) {
        watch_end(watch, HOW_RENEW, &err);
        return;
    }
    watch->counts.deaths[DEATH_ENDED]++;
    error_set(&err, FAULT_AGAIN, "Ended", "the server ended the watch %s",
              watch->phase == PHASE_STREAMING_LIST ? "before its list was complete" : "at once");
    watch_end(watch, HOW_AGAIN, &err);
}
