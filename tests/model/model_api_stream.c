#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_api_private.h"

enum {
    BOOKMARK_MS = 60 * 1000,
    LAST_BOOKMARK_MS = 2000, // before the deadline
    DEATH_MS = 30 * 1000,
    TIMEOUT_S = 1800,
};

static char *copy_of(struct text text)
{
    struct buffer copy = {0};
    buffer_add(&copy, text.at, text.len);
    return buffer_steal(&copy);
}

static void chunk_free(struct model_chunk *chunk)
{
    if (chunk)
        model_json_unref(chunk->json);
    free(chunk);
}

static void drop_chunks(struct model_stream *stream)
{
    for (struct model_chunk *chunk = stream->first, *next; chunk; chunk = next) {
        next = chunk->next;
        chunk_free(chunk);
    }
    stream->first = stream->last = NULL;
}

void model_stream_free(struct model_stream *stream)
{
    if (!stream)
        return;
    drop_chunks(stream);
    chunk_free(stream->repeated);
    free(stream->namespace_);
    free(stream->name);
    free(stream->labels);
    free(stream);
}

// ---- what is under way --------------------------------------------------------------------------

static struct model_chunk *chunk_add(struct model_stream *stream, int64_t due_ms, const char *type,
                                     struct model_json *json)
{
    struct model_chunk *chunk = mem_new_of(struct model_chunk);
    *chunk = (struct model_chunk){
        .due_ms = due_ms, .type = type, .json = json ? model_json_ref(json) : NULL};
    if (stream->last && stream->last->due_ms > due_ms)
        chunk->due_ms = stream->last->due_ms;
    if (stream->last)
        stream->last->next = chunk;
    else
        stream->first = chunk;
    stream->last = chunk;
    return chunk;
}

static void arm(struct http_call *call)
{
    const struct model_stream *stream = call->stream;
    int64_t now_ms = loop_mono_ms(call->api->loop);
    int64_t at_ms = stream->deadline_ms;
    if (stream->has_bookmarks && stream->bookmark_ms < at_ms)
        at_ms = stream->bookmark_ms;
    if (stream->first && stream->first->due_ms < at_ms)
        at_ms = stream->first->due_ms;
    if (stream->is_met || (call->piece && !call->has_head))
        at_ms = now_ms;
    if (stream->is_frozen)
        return;
    loop_timer_set(call->api->loop, &call->timer, at_ms > now_ms ? at_ms - now_ms : 0);
}

static void chunk_write(struct buffer *out, const struct model_stream *stream,
                        const struct model_chunk *chunk)
{
    const struct kind *kind = stream->row->kind;
    buffer_printf(out, "{\"type\":\"%s\",\"object\":", chunk->type);
    if (chunk->json) {
        buffer_add(out, chunk->json->at, chunk->json->len);
        buffer_add_text(out, "}\n");
        return;
    }
    buffer_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"", kind->name);
    kind_api_version(out, kind);
    buffer_printf(
        out, "\",\"metadata\":{\"resourceVersion\":\"%llu\"%s}}}\n",
        (unsigned long long)chunk->version,
        chunk->is_initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
}

static void take_due(struct model_stream *stream, int64_t now_ms, struct buffer *out)
{
    while (stream->first && stream->first->due_ms <= now_ms) {
        struct model_chunk *chunk = stream->first;
        stream->first = chunk->next;
        if (!stream->first)
            stream->last = NULL;
        chunk_write(out, stream, chunk);
        if (chunk->version > stream->reported)
            stream->reported = chunk->version;
        chunk_free(stream->repeated);
        stream->repeated = chunk;
    }
}

static void add_bookmark(struct http_call *call, int64_t now_ms, struct buffer *out)
{
    struct model_stream *stream = call->stream;
    if (!stream->has_bookmarks || stream->is_met || stream->bookmark_ms > now_ms)
        return;
    uint64_t now = model_server_version(call->api->server);
    if (!stream->first && now > stream->reported)
        stream->reported = now;
    chunk_write(out, stream,
                &(struct model_chunk){.type = "BOOKMARK", .version = stream->reported});
    int64_t last_ms = stream->deadline_ms - LAST_BOOKMARK_MS;
    bool is_last = now_ms >= last_ms;
    int64_t next_ms = now_ms + BOOKMARK_MS;
    stream->bookmark_ms = is_last ? INT64_MAX : next_ms < last_ms ? next_ms : last_ms;
}

// ---- faults -------------------------------------------------------------------------------------

static void add_error(struct buffer *out, int code, const char *reason, const char *text)
{
    buffer_add_text(out, "{\"type\":\"ERROR\",\"object\":");
    model_status_write(out, &(struct model_status){.code = code, .reason = reason}, text);
    buffer_add_text(out, "}\n");
}

static void write_fault(const struct http_call *call, struct buffer *out)
{
    char text[80];
    const struct model_stream *stream = call->stream;
    switch (stream->fault) {
    case STREAM_TORN:
        buffer_add_text(out, "{\"type\":\"MODIFIED\",\"object\":{\"apiVersion\":\"v");
        return;
    case STREAM_GARBLED:
        buffer_add_text(out, "{\"type\":\"MODIFIED\",\"object\":]}\n");
        return;
    case STREAM_REPEATS:
        if (stream->repeated)
            chunk_write(out, stream, stream->repeated);
        return;
    case STREAM_EXPIRES:
        snprintf(text, sizeof text, "too old resource version: %llu (%llu)",
                 (unsigned long long)stream->reported,
                 (unsigned long long)model_server_version(call->api->server));
        add_error(out, 410, "Expired", text);
        return;
    case STREAM_FAILS:
        add_error(out, 500, "InternalError", "etcdserver: no leader");
        return;
    case STREAM_ENDS:
    case STREAM_BREAKS:
    case STREAM_FREEZES:
    case STREAM_DIES:
        return;
    }
}

static void end(struct http_call *call)
{
    model_stream_free(steal(call->stream));
    if (!call->piece)
        call->reply.body = buffer_text(&call->body);
    model_call_finish(call);
}

static void break_off(struct http_call *call)
{
    model_call_break(call, HTTP_UNREACHABLE, "the connection was reset");
    model_call_finish(call);
}

static void die(void *context)
{
    break_off(context);
}

static void freeze(struct http_call *call, bool dies)
{
    call->stream->is_frozen = true;
    loop_timer_cancel(call->api->loop, &call->timer);
    if (!dies)
        return;
    call->timer.call = die;
    loop_timer_set(call->api->loop, &call->timer, DEATH_MS);
}

static void suffer(struct http_call *call)
{
    struct model_stream *stream = call->stream;
    stream->is_met = false;
    switch (stream->fault) {
    case STREAM_ENDS:
    case STREAM_EXPIRES:
    case STREAM_FAILS:
        end(call);
        return;
    case STREAM_BREAKS:
    case STREAM_TORN:
        break_off(call);
        return;
    case STREAM_FREEZES:
    case STREAM_DIES:
        freeze(call, stream->fault == STREAM_DIES);
        return;
    case STREAM_GARBLED:
    case STREAM_REPEATS:
        arm(call);
        return;
    }
}

void model_stream_meet(struct http_call *call, enum model_stream_fault fault)
{
    if (call->stream->is_frozen)
        return;
    call->stream->is_met = true;
    call->stream->fault = fault;
    arm(call);
}

void model_stream_expire(struct http_call *call)
{
    drop_chunks(call->stream);
    model_stream_meet(call, STREAM_EXPIRES);
}

// ---- telling ------------------------------------------------------------------------------------

static void flow(void *context)
{
    struct http_call *call = context;
    struct model_stream *stream = call->stream;
    int64_t now_ms = loop_mono_ms(call->api->loop);
    AUTO_BUFFER out = {0};
    take_due(stream, now_ms, &out);
    add_bookmark(call, now_ms, &out);
    if (stream->is_met)
        write_fault(call, &out);
    if (!call->piece)
        buffer_add(&call->body, buffer_text(&out).at, out.len);
    else if (!model_call_feed(call, buffer_text(&out)))
        return;
    if (stream->is_met)
        suffer(call);
    else if (now_ms >= stream->deadline_ms)
        end(call);
    else
        arm(call);
}

// Whoever selects by labels sees an object that begins to match come, and one that ceases to go.
static bool selected_type(const struct model_stream *stream, const struct model_event *event,
                          enum store_event_type *type)
{
    if (!stream->labels)
        return true;
    bool was_there = event->old && model_is_selected(stream->labels, event->old);
    bool is_there = event->type != STORE_DELETED && model_is_selected(stream->labels, event->json);
    *type = !is_there ? STORE_DELETED : was_there ? STORE_MODIFIED : STORE_ADDED;
    return was_there || is_there;
}

void model_stream_changed(struct http_call *call, const struct model_event *event)
{
    static const char *const types[] = {
        [STORE_ADDED] = "ADDED", [STORE_MODIFIED] = "MODIFIED", [STORE_DELETED] = "DELETED"};
    struct model_api *api = call->api;
    struct model_stream *stream = call->stream;
    bool is_asked = (!*stream->namespace_ || !strcmp(stream->namespace_, event->namespace_)) &&
                    (!*stream->name || !strcmp(stream->name, event->name));
    bool is_cut = stream->is_frozen || (stream->is_met && stream->fault != STREAM_REPEATS);
    if (!is_asked || is_cut || event->version <= stream->version)
        return;
    bool is_first = !stream->first;
    int64_t due_ms = loop_mono_ms(api->loop) + model_server_watch_ms(api->server);
    enum store_event_type type = event->type;
    if (!selected_type(stream, event, &type))
        return;
    chunk_add(stream, due_ms, types[type], event->json)->version = event->version;
    if (is_first)
        arm(call);
}

// ---- beginning ----------------------------------------------------------------------------------

// Initial events do not count as told: they are not in the order of their versions.
static void add_all(struct http_call *call, const struct model_target *target, struct text name,
                    int64_t due_ms)
{
    struct model_listing listing = {0};
    struct model_server *server = call->api->server;
    model_list(server, target, name, call->stream->version, &listing);
    model_select(&listing, call->stream->labels);
    for (size_t i = 0; i < listing.count; i++) {
        struct model_json *json =
            model_json_ref((struct model_json *)(uintptr_t)listing.items[i].json);
        chunk_add(call->stream, due_ms, "ADDED", json);
        model_json_unref(json);
    }
    free(listing.items);
}

static void add_since(struct http_call *call, int64_t due_ms)
{
    struct model_stream *stream = call->stream;
    const struct model_history *history =
        model_server_history(call->api->server, stream->row->kind);
    for (size_t i = 0; i < history->count; i++)
        if (history->events[i].version > stream->version)
            model_stream_changed(call, &history->events[i]);
    for (struct model_chunk *chunk = stream->first; chunk; chunk = chunk->next)
        chunk->due_ms = due_ms;
}

static bool accept(struct http_call *call, const struct model_query *query)
{
    static const char head[] = "ListOptions.meta.k8s.io \"\" is invalid: ";
    const char *field = query->has_initial_events && !call->api->has_streaming
                            ? "sendInitialEvents"
                            : "resourceVersionMatch";
    const struct model_status status = {.code = 422,
                                        .reason = "Invalid",
                                        .cause = "FieldValueForbidden",
                                        .cause_text = "Forbidden",
                                        .cause_field = field};
    if (query->has_initial_events && !call->api->has_streaming) {
        model_refuse(call, &status,
                     "%ssendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch "
                     "unless the WatchList feature gate is enabled",
                     head);
        return false;
    }
    if (query->has_initial_events && !text_is(query->match, "NotOlderThan")) {
        model_refuse(call, &status,
                     "%sresourceVersionMatch: Forbidden: sendInitialEvents requires setting "
                     "resourceVersionMatch to NotOlderThan",
                     head);
        return false;
    }
    if (!query->has_initial_events && query->match.at) {
        model_refuse(call, &status,
                     "%sresourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for "
                     "watch unless sendInitialEvents is provided",
                     head);
        return false;
    }
    return true;
}

static struct model_stream *stream_new(struct http_call *call, const struct model_target *target,
                                       struct text name)
{
    const struct model_query *query = &target->query;
    int64_t now_ms = loop_mono_ms(call->api->loop);
    int64_t timeout_s = query->timeout_s > 0 ? query->timeout_s : TIMEOUT_S;
    struct model_stream *stream = mem_new_of(struct model_stream);
    *stream = (struct model_stream){.row = target->row,
                                    .namespace_ = copy_of(target->key.namespace_),
                                    .name = copy_of(name),
                                    .labels = query->labels.at ? copy_of(query->labels) : NULL,
                                    .has_bookmarks = query->has_bookmarks,
                                    .version = model_server_version(call->api->server),
                                    .bookmark_ms = now_ms + BOOKMARK_MS,
                                    .deadline_ms = now_ms + 1000 * timeout_s};
    return stream;
}

static void begin(struct http_call *call, const struct model_target *target, struct text name,
                  uint64_t version)
{
    const struct model_query *query = &target->query;
    struct model_stream *stream = call->stream;
    int64_t due_ms = loop_mono_ms(call->api->loop) + model_server_reply_ms(call->api->server);
    bool is_anew = version == 0;
    if (query->has_initial_events ? query->wants_initial_events : is_anew) {
        add_all(call, target, name, due_ms);
        if (stream->has_bookmarks) {
            struct model_chunk *mark = chunk_add(stream, due_ms, "BOOKMARK", NULL);
            mark->version = stream->version;
            mark->is_initial_end = true;
        }
        return;
    }
    if (is_anew)
        return;
    // As with the real one, a version that is yet to come silences all before it.
    stream->version = stream->reported = version;
    if (version < model_server_history(call->api->server, target->row->kind)->expired) {
        stream->is_met = true;
        stream->fault = STREAM_EXPIRES;
    } else {
        add_since(call, due_ms);
    }
}

void model_handle_watch(struct http_call *call, const struct model_target *target,
                        const struct http_request *request, struct arena *arena)
{
    struct text name;
    uint64_t version = 0;
    struct model_api *api = call->api;
    const struct model_query *query = &target->query;
    (void)request;
    (void)arena;
    if (!accept(call, query) || !model_selected_name(call, target, &name))
        return;
    if (query->version.at && !model_version_read(query->version, &version)) {
        model_refuse(call, &(struct model_status){.code = 400, .reason = "BadRequest"},
                     "invalid resource version");
        return;
    }
    if (query->wants_initial_events && version > model_server_version(api->server)) {
        model_refuse_too_large(call, version, model_server_version(api->server));
        return;
    }
    call->stream = stream_new(call, target, name);
    call->timer = (struct loop_timer){.call = flow, .context = call};
    call->reply.status = 200;
    call->content_type = "application/json";
    begin(call, target, name, version);
    arm(call);
}
