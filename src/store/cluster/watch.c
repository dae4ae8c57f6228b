#include "store/cluster/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/must.h"
#include "store/cluster/watch_private.h"

enum {
    SECOND_MS = 1000,
    BACKOFF_MS = 800,
    BACKOFF_MAX_MS = 30 * SECOND_MS,
    RETRY_MAX_MS = 60 * SECOND_MS,
    HEALTHY_MS = 120 * SECOND_MS,
    PROBE_MS = 24 * SECOND_MS, // 30 s, 6 s more or less
    PROBE_JITTER_MS = 12 * SECOND_MS,
    ABSENT_AGAIN_MS = 250,
    ABSENCES_BELIEVED = 2, // a server that starts does not know its kinds for a moment
    NO_STREAMING_LIST_MS = 3600 * SECOND_MS,
    STREAMING_LIST_SILENCE_MS = 30 * SECOND_MS,
    LIST_SILENCE_MS = 60 * SECOND_MS,
    BEAT_SILENCE_MS = 150 * SECOND_MS,
    BEATS_NEEDED = 2,
    GRACE_MS = 10 * SECOND_MS,
    LASTING_MS = 60 * SECOND_MS, // longer than a server takes that starts and knows no roles yet
    EXPIRED_PAUSE_MS = 60 * SECOND_MS, // a position that expires again so soon waits
    BACK_PAUSE_MS = 60 * SECOND_MS,    // the same of versions that go back again
    HTTP_BAD_REQUEST = 400,
    HTTP_FORBIDDEN = 403,
    HTTP_NOT_FOUND = 404,
    HTTP_GONE = 410,
    HTTP_UNPROCESSABLE = 422,
};

int64_t watch_now(const struct watch *watch)
{
    return loop_mono_ms(watch->options.world->loop);
}

// From `ms` to twice as much.
static int64_t jittered(struct watch *watch, int64_t ms)
{
    return ms + (int64_t)random_below(watch->options.world->random, (uint64_t)ms);
}

// Lest all that were told to wait come back at once.
static int64_t retry_jitter(struct watch *watch, int64_t ms)
{
    uint64_t most = (uint64_t)ms / 4;
    return most ? (int64_t)random_below(watch->options.world->random, most) : 0;
}

static void clear_trouble(struct watch *watch)
{
    if (watch->failures && watch->is_synced)
        watch_log(watch, LOG_INFO, "watching again", NULL);
    watch->failures = 0;
    watch->refusals = 0;
    watch->down_ms = 0;
    buffer_clear(&watch->trouble);
}

void watch_mark_accepted(struct watch *watch)
{
    watch->is_missing = false;
    watch->absences = 0;
    watch->api_versions_tried = 0;
    if (!watch->healthy_ms)
        watch->healthy_ms = watch_now(watch);
    if (watch->phase != PHASE_LIVE && watch->phase != PHASE_FOLLOW)
        return;
    clear_trouble(watch);
}

static bool is_watch(enum watch_phase phase)
{
    return phase == PHASE_STREAMING_LIST || phase == PHASE_FOLLOW || phase == PHASE_LIVE;
}

// A call of which much is heard is dead once it is silent, and one that has to be accepted yet; any
// other once it outlasts its time.
static bool dies_of_silence(const struct watch *watch)
{
    return watch->phase == PHASE_STREAMING_LIST || watch->phase == PHASE_LIST ||
           watch->bookmarks >= BEATS_NEEDED || watch->down_ms;
}

static int64_t deadline(const struct watch *watch)
{
    if (watch->phase == PHASE_STREAMING_LIST)
        return watch->last_octet_ms + STREAMING_LIST_SILENCE_MS;
    if (watch->phase == PHASE_LIST)
        return watch->last_octet_ms + LIST_SILENCE_MS;
    if (dies_of_silence(watch))
        return watch->last_octet_ms + BEAT_SILENCE_MS;
    return watch->opened_ms + watch->timeout_ms + GRACE_MS;
}

static void look_alive(void *context)
{
    struct watch *watch = context;
    int64_t now = watch_now(watch);
    if (now < deadline(watch)) {
        watch_arm_deadline(watch);
        return;
    }
    struct error err = {0};
    if (dies_of_silence(watch))
        error_set(&err, FAULT_AGAIN, "Silent", "the server said nothing for %lld s",
                  (long long)((now - watch->last_octet_ms) / SECOND_MS));
    else
        error_set(&err, FAULT_AGAIN, "Silent", "the server did not end the watch within %lld s",
                  (long long)((now - watch->opened_ms) / SECOND_MS));
    if (watch->phase == PHASE_STREAMING_LIST) {
        watch_log(watch, LOG_WARN, "a streaming list has no end mark; objects are listed by pages",
                  err.text);
        watch->no_streaming_list_until_ms = now + NO_STREAMING_LIST_MS;
        watch_end(watch, HOW_NO_STREAMING_LIST, &err);
        return;
    }
    watch->counts.deaths[DEATH_SILENT]++;
    watch_end(watch, HOW_AGAIN, &err);
}

void watch_arm_deadline(struct watch *watch)
{
    int64_t at = deadline(watch);
    int64_t now = watch_now(watch);
    watch->alive.call = look_alive;
    watch->alive.context = watch;
    loop_timer_set(watch->options.world->loop, &watch->alive, at > now ? at - now : 0);
}

static void report_batch_end(struct watch *watch)
{
    if (watch->has_reported)
        watch->sink.batch_end(watch->sink.context);
    watch->has_reported = false;
}

static void handle_piece(void *context, struct text piece)
{
    struct watch *watch = context;
    struct error err = {0};
    watch->last_octet_ms = watch_now(watch);
    watch_mark_accepted(watch);
    bool ok = splitter_feed(watch->splitter, piece, &err);
    report_batch_end(watch);
    if (!ok)
        watch_end(watch, HOW_UNREADABLE, &err);
    else if (watch->how != HOW_NONE)
        watch_end(watch, watch->how, &watch->error);
}

bool watch_end_soon(struct watch *watch, enum watch_how how)
{
    if (watch->how == HOW_NONE)
        watch->how = how;
    return false;
}

enum watch_how watch_how_too_large(const struct watch *watch)
{
    bool is_pass = watch->phase == PHASE_STREAMING_LIST || watch->phase == PHASE_LIST;
    return is_pass && watch->from == FROM_NEWEST ? HOW_AGAIN : HOW_WENT_BACK;
}

// A reply that is no 2xx, or a body that broke off.
static enum watch_how judge_reply(const struct watch *watch, const struct api_reply *reply)
{
    if (text_is(text_of(reply->cause), "ResourceVersionTooLarge"))
        return watch_how_too_large(watch);
    bool is_unknown = reply->status == HTTP_UNPROCESSABLE || reply->status == HTTP_BAD_REQUEST;
    if (watch->phase == PHASE_STREAMING_LIST && is_unknown)
        return HOW_NO_STREAMING_LIST;
    if (reply->status == HTTP_GONE)
        return HOW_EXPIRED;
    if (reply->status == HTTP_FORBIDDEN)
        return HOW_FORBIDDEN;
    if (reply->status == HTTP_NOT_FOUND)
        return watch->phase == PHASE_GET ? HOW_AGAIN : HOW_MISSING;
    return HOW_AGAIN;
}

static void handle_failure(struct watch *watch, const struct api_reply *reply)
{
    enum watch_how how = judge_reply(watch, reply);
    bool is_cut = !watch->down_ms && (reply->status == 0 || reply->status / 100 == 2);
    if (how == HOW_NO_STREAMING_LIST)
        watch->options.memory->no_streaming_list_until_ms = watch_now(watch) + NO_STREAMING_LIST_MS;
    if (is_cut && is_watch(watch->phase))
        watch->counts.deaths[DEATH_RESET]++;
    watch_end(watch, how, &reply->error);
}

static void handle_reply(void *context, const struct api_reply *reply)
{
    struct watch *watch = context;
    watch->call = NULL;
    bool is_absent = watch->phase == PHASE_GET && api_reply_is_absent(reply);
    struct text body = reply->body;
    if (is_absent)
        body = (struct text){0};
    if (!reply->is_ok && !is_absent)
        handle_failure(watch, reply);
    else if (watch->phase == PHASE_GET)
        watch_handle_get_end(watch, body);
    else if (watch->phase == PHASE_LIST)
        watch_handle_list_end(watch);
    else
        watch_handle_stream_end(watch);
    report_batch_end(watch);
}

static void close_call(struct watch *watch)
{
    if (watch->call)
        api_cancel(watch->options.api, watch->call);
    watch->call = NULL;
    splitter_free(watch->splitter);
    watch->splitter = NULL;
    loop_timer_cancel(watch->options.world->loop, &watch->alive);
    watch->phase = PHASE_DOWN;
    watch->how = HOW_NONE;
}

void watch_send(struct watch *watch, enum watch_phase phase, const char *path)
{
    static const struct splitter_sink heard[] = {
        {watch_handle_event, watch_handle_skipped, NULL},
        {watch_handle_item, watch_handle_skipped, NULL},
    };
    bool is_get = phase == PHASE_GET;
    struct splitter_sink sink = heard[phase == PHASE_LIST];
    sink.context = watch;
    watch->phase = phase;
    if (!is_get)
        watch->splitter = splitter_new(phase == PHASE_LIST ? SPLIT_LIST : SPLIT_EVENTS, &sink);
    struct api_request request = {
        .method = "GET",
        .path = path,
        .timeout_ms = is_get ? API_TIMEOUT_MS : API_FOREVER,
        .is_watch = is_watch(phase),
        .piece = is_get ? NULL : handle_piece,
    };
    watch->opened_ms = watch->last_octet_ms = watch_now(watch);
    watch->bookmarks = 0;
    watch->has_event = false;
    watch->call = api_send(watch->options.api, &request, handle_reply, watch);
    if (!is_get)
        watch_arm_deadline(watch);
}

static bool may_use_streaming_list(const struct watch *watch)
{
    int64_t now = watch_now(watch);
    return !watch->options.is_once && now >= watch->no_streaming_list_until_ms &&
           now >= watch->options.memory->no_streaming_list_until_ms;
}

static void open_next(void *context)
{
    struct watch *watch = context;
    watch->api_version =
        api_versions_find(&watch->options.memory->api_versions, watch->options.kind);
    if (!watch->needs_pass && watch->options.is_once)
        return;
    if (!watch->needs_pass)
        watch_open_live(watch);
    else if (may_use_streaming_list(watch))
        watch_open_streaming_list(watch);
    else if (watch->options.name)
        watch_open_get(watch);
    else
        watch_open_list(watch);
}

static void try_in(struct watch *watch, int64_t delay_ms)
{
    watch->next.call = open_next;
    watch->next.context = watch;
    loop_timer_set(watch->options.world->loop, &watch->next, delay_ms);
}

static int64_t next_backoff(struct watch *watch, const struct error *err)
{
    int64_t now = watch_now(watch);
    if (watch->healthy_ms && now - watch->healthy_ms >= HEALTHY_MS)
        watch->backoffs = 0;
    watch->healthy_ms = 0;
    int64_t reported = err->retry_ms < RETRY_MAX_MS ? err->retry_ms : RETRY_MAX_MS;
    watch->not_before_ms = now + reported;
    int64_t drawn = jittered(watch, backoff_ms(BACKOFF_MS, BACKOFF_MAX_MS, ++watch->backoffs));
    return drawn > reported ? drawn : reported + retry_jitter(watch, reported);
}

static bool is_not_installed(const struct watch *watch)
{
    return !watch->options.is_required && watch->absences >= ABSENCES_BELIEVED;
}

static int64_t next_delay(struct watch *watch, enum watch_how how, const struct error *err)
{
    struct random *random = watch->options.world->random;
    bool waits_briefly = watch->options.is_dispensable || watch->options.is_once;
    if (how == HOW_MISSING && waits_briefly && !is_not_installed(watch))
        return jittered(watch, ABSENT_AGAIN_MS);
    if (how == HOW_FORBIDDEN && watch->is_lasting)
        return jittered(watch, BACKOFF_MAX_MS);
    if (is_not_installed(watch))
        return PROBE_MS + (int64_t)random_below(random, PROBE_JITTER_MS + 1);
    return next_backoff(watch, err);
}

static void need_pass(struct watch *watch, enum watch_relist why, enum watch_from from)
{
    watch->counts.relists[why]++;
    watch->needs_pass = true;
    watch->from = from;
}

static void retry_later(struct watch *watch, enum watch_how how, const struct error *err)
{
    bool is_silent = how == HOW_MISSING && !watch->options.is_required && !watch->is_synced;
    if (!watch->down_ms)
        watch->down_ms = watch_now(watch);
    watch->failures++;
    watch->refusals = how == HOW_FORBIDDEN ? watch->refusals + 1 : 0;
    watch->absences = how == HOW_MISSING ? watch->absences + 1 : 0;
    watch_set_trouble(watch, how, err);
    if (!is_silent)
        watch_log_failure(watch, err);
    if (is_not_installed(watch) && !watch->needs_pass)
        need_pass(watch, RELIST_REFUSED, FROM_NEWEST); // its objects went with it, perhaps
    try_in(watch, next_delay(watch, how, err));
    if (is_not_installed(watch) && watch->sink.missing)
        watch->sink.missing(watch->sink.context);
    if (watch_refusal(watch) && watch->sink.forbidden)
        watch->sink.forbidden(watch->sink.context);
}

// The server may have the kind in another API version.
static void try_next_version(struct watch *watch, enum watch_how how, const struct error *err)
{
    const struct kind *kind = watch->options.kind;
    api_versions_try_next(&watch->options.memory->api_versions, kind, watch->api_version);
    if (kind_version_at(kind, ++watch->api_versions_tried)) {
        try_in(watch, 0);
        return;
    }
    watch->api_versions_tried = 0;
    retry_later(watch, how, err);
}

// What a pass asks for after the server did not know a position any more.
static enum watch_from from_after_expiry(const struct watch *watch)
{
    if (watch->ended == PHASE_LIST && watch->page_token.len)
        return FROM_FIRST_PAGE;
    if (watch->needs_pass)
        return FROM_NEWEST;
    return watch->options.name && !may_use_streaming_list(watch) ? FROM_CACHED : FROM_POSITION;
}

static void relist_expired(struct watch *watch, enum watch_how how, const struct error *err)
{
    // Of a pass that asked for the newest, a 410 makes no sense.
    bool is_newest = watch->from == FROM_NEWEST && !watch->page_token.len;
    bool has_nothing_newer = watch->needs_pass && (is_newest || watch->from == FROM_FIRST_PAGE);
    bool is_soon = !watch->needs_pass && watch->expired_ms &&
                   watch_now(watch) - watch->expired_ms < EXPIRED_PAUSE_MS;
    if (!watch->needs_pass)
        watch->expired_ms = watch_now(watch);
    need_pass(watch, RELIST_EXPIRED, from_after_expiry(watch));
    if (has_nothing_newer || is_soon)
        retry_later(watch, how, err);
    else
        try_in(watch, 0);
}

static void relist_gone_back(struct watch *watch, enum watch_how how, const struct error *err)
{
    int64_t now = watch_now(watch);
    bool is_soon = watch->went_back_ms && now - watch->went_back_ms < BACK_PAUSE_MS;
    bool is_again = watch->has_gone_back || is_soon;
    watch->went_back_ms = now;
    watch_log(watch, LOG_WARN,
              "the server's resourceVersions went back; all objects are listed again", err->text);
    need_pass(watch, RELIST_TOO_LARGE, FROM_NEWEST);
    watch->has_gone_back = true;
    if (is_again)
        retry_later(watch, how, err);
    else
        try_in(watch, 0);
}

// A pass that failed asks for the same again.
static enum watch_from from_again(const struct watch *watch)
{
    return watch->needs_pass ? watch->from : FROM_POSITION;
}

static void relist_unreadable(struct watch *watch, enum watch_how how, const struct error *err)
{
    watch->counts.deaths[DEATH_GARBAGE]++;
    watch_log(watch, LOG_WARN, "the server's answer cannot be read; all objects are listed again",
              err->text);
    // In a list what cannot be read is skipped by itself.
    if (watch->ended == PHASE_STREAMING_LIST)
        watch->no_streaming_list_until_ms = watch_now(watch) + NO_STREAMING_LIST_MS;
    need_pass(watch, RELIST_UNREADABLE, from_again(watch));
    retry_later(watch, how, err);
}

static void relist(struct watch *watch, enum watch_how how, const struct error *err)
{
    need_pass(watch, RELIST_REFUSED, from_again(watch));
    retry_later(watch, how, err);
}

static void relist_by_pages(struct watch *watch, enum watch_how how, const struct error *err)
{
    (void)how;
    (void)err;
    need_pass(watch, RELIST_FALLBACK, watch->from);
    try_in(watch, 0);
}

static void renew(struct watch *watch, enum watch_how how, const struct error *err)
{
    (void)how;
    (void)err;
    try_in(watch, 0);
}

void watch_end(struct watch *watch, enum watch_how how, const struct error *err)
{
    static void (*const next[])(struct watch *, enum watch_how, const struct error *) = {
        [HOW_RENEW] = renew,
        [HOW_AGAIN] = retry_later,
        [HOW_EXPIRED] = relist_expired,
        [HOW_WENT_BACK] = relist_gone_back,
        [HOW_UNREADABLE] = relist_unreadable,
        [HOW_RELIST] = relist,
        [HOW_NO_STREAMING_LIST] = relist_by_pages,
        [HOW_FORBIDDEN] = retry_later,
        [HOW_MISSING] = try_next_version,
    };
    must(how != HOW_NONE);
    watch->ended = watch->phase;
    close_call(watch);
    if (watch->ended == PHASE_FOLLOW)
        watch->needs_pass = true;
    next[how](watch, how, err);
    buffer_clear(&watch->page_token);
}

void watch_begin_pass(struct watch *watch)
{
    watch->has_unreadable = false;
    watch->sink.pass_begin(watch->sink.context, watch->has_gone_back);
}

bool watch_end_pass(struct watch *watch, struct text position)
{
    if (!watch->has_gone_back && watch_is_older(position, buffer_text(&watch->position))) {
        error_set(&watch->error, FAULT_AGAIN, "WentBack", "resourceVersion %.*s came after %s",
                  TEXT_ARGS(position), watch->position.at);
        return watch_end_soon(watch, HOW_WENT_BACK);
    }
    buffer_clear(&watch->position);
    buffer_add(&watch->position, position.at, position.len);
    watch->needs_pass = false;
    watch->has_gone_back = false;
    watch->is_synced = true;
    clear_trouble(watch);
    watch->sink.pass_end(watch->sink.context, !watch->has_unreadable);
    watch->has_reported = true;
    return true;
}

bool watch_is_older(struct text a, struct text b)
{
    int64_t x, y;
    return text_to_int64(a, &x) && text_to_int64(b, &y) && x < y;
}

struct value *watch_read_document(struct watch *watch, struct text document, struct error *err)
{
    // An event stands around its object. Who manages which field is half of most objects, and
    // nobody reads it of an object that is watched.
    static const struct value_limits limits = {
        .octets = SPLIT_OCTETS_MAX + 1024,
        .depth = SPLIT_DEPTH_MAX + 1,
        .passed_key = "managedFields",
    };
    arena_reset(watch->arena);
    return value_read_json(watch->arena, document, &limits, err);
}

void watch_add_path(const struct watch *watch, struct buffer *out)
{
    const struct watch_options *options = &watch->options;
    api_version_path(out, options->kind, watch->api_version, text_of(options->namespace_), TEXT(""),
                     NULL);
    buffer_add_char(out, '?');
    if (options->labels) {
        buffer_add_text(out, "labelSelector=");
        api_query_escape(out, text_of(options->labels));
        buffer_add_char(out, '&');
    }
    if (!options->name)
        return;
    buffer_add_text(out, "fieldSelector=metadata.name%3D");
    api_query_escape(out, text_of(options->name));
    buffer_add_char(out, '&');
}

static char *copy_or_null(const char *text)
{
    return text ? mem_copy_text(text) : NULL;
}

struct watch *watch_new(const struct watch_options *options, const struct watch_sink *sink)
{
    struct watch *watch = mem_new_of(struct watch);
    watch->options = *options;
    watch->options.namespace_ = watch->namespace_copy = copy_or_null(options->namespace_);
    watch->options.name = watch->name_copy = copy_or_null(options->name);
    watch->sink = *sink;
    watch->arena = arena_new();
    watch->needs_pass = true;
    buffer_add_text(&watch->check_name, "watch-");
    watch_write_kind(watch, &watch->check_name);
    return watch;
}

void watch_start(struct watch *watch)
{
    must(watch->phase == PHASE_DOWN);
    watch->started_ms = watch->down_ms = watch_now(watch);
    try_in(watch, 0);
}

void watch_free(struct watch *watch)
{
    if (!watch)
        return;
    close_call(watch);
    loop_timer_cancel(watch->options.world->loop, &watch->next);
    arena_free(watch->arena);
    struct buffer *buffers[] = {
        &watch->position, &watch->page_token, &watch->page_position,
        &watch->trouble,  &watch->check_name, &watch->check_text,
    };
    for (size_t i = 0; i < COUNT_OF(buffers); i++)
        buffer_done(buffers[i]);
    free(watch->namespace_copy);
    free(watch->name_copy);
    free(watch);
}

bool watch_is_behind(const struct watch *watch)
{
    bool is_refused = watch->down_ms && watch->is_lasting;
    bool is_long = watch->options.is_dispensable || watch_now(watch) - watch->down_ms >= LASTING_MS;
    bool is_left_unread = is_refused && is_long;
    return watch->is_synced && (watch->down_ms || watch->needs_pass) && !is_left_unread &&
           !is_not_installed(watch);
}

void watch_prove(struct watch *watch, int64_t since_ms)
{
    const struct error none = {0};
    if (watch->phase != PHASE_LIVE || watch->last_octet_ms >= since_ms)
        return;
    if (!watch->down_ms) {
        watch->down_ms = watch_now(watch);
        watch->is_lasting = false;
    }
    watch_end(watch, HOW_RENEW, &none);
}

void watch_hurry(struct watch *watch)
{
    int64_t wait_ms = watch->not_before_ms - watch_now(watch);
    if (watch->phase == PHASE_DOWN)
        try_in(watch, wait_ms > 0 ? wait_ms : 0);
}

struct text watch_position(const struct watch *watch)
{
    return buffer_text(&watch->position);
}

const struct watch_counts *watch_counts(const struct watch *watch)
{
    return &watch->counts;
}
