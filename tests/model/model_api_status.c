#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "model/model_api_private.h"

enum { TOO_LARGE_MS = 3000 };

const char *model_resource_name(struct arena *arena, const struct kind *kind)
{
    return *kind->group ? arena_printf(arena, "%s.%s", kind->plural, kind->group) : kind->plural;
}

// ---- Status -------------------------------------------------------------------------------------

static void write_details(struct buffer *out, const struct model_status *status)
{
    const char *comma = "";
    buffer_add_text(out, ",\"details\":{");
    if (status->about && status->about->row) {
        const struct kind *kind = status->about->row->kind;
        buffer_add_text(out, "\"name\":");
        value_write_json_text(out, status->about->key.name);
        buffer_printf(out, ",\"group\":\"%s\",\"kind\":\"%s\"", kind->group, kind->plural);
        comma = ",";
    }
    if (status->cause) {
        buffer_printf(out, "%s\"causes\":[{\"reason\":\"%s\",\"message\":", comma, status->cause);
        value_write_json_text(out, text_of(status->cause_text));
        if (status->cause_field)
            buffer_printf(out, ",\"field\":\"%s\"", status->cause_field);
        buffer_add_text(out, "}]");
        comma = ",";
    }
    if (status->retry_s)
        buffer_printf(out, "%s\"retryAfterSeconds\":%d", comma, status->retry_s);
    buffer_add_char(out, '}');
}

void model_status_write(struct buffer *out, const struct model_status *status, const char *message)
{
    buffer_add_text(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                         "\"status\":\"Failure\",\"message\":");
    value_write_json_text(out, text_of(message));
    buffer_printf(out, ",\"reason\":\"%s\"", status->reason);
    if (status->about || status->cause || status->retry_s)
        write_details(out, status);
    buffer_printf(out, ",\"code\":%d}", status->code);
}

static void clear(struct http_call *call, int status, const char *content_type)
{
    call->reply.failure = HTTP_OK;
    call->reply.status = status;
    call->content_type = content_type;
    call->retry_after[0] = '\0';
    buffer_clear(&call->body);
    model_json_unref(call->json);
    call->json = NULL;
}

static void set_retry_after(struct http_call *call, int seconds)
{
    if (seconds)
        snprintf(call->retry_after, sizeof call->retry_after, "%d", seconds);
}

void model_refuse(struct http_call *call, const struct model_status *status, const char *format,
                  ...)
{
    va_list args;
    AUTO_BUFFER message = {0};
    va_start(args, format);
    buffer_vprintf(&message, format, args);
    va_end(args);
    clear(call, status->code, "application/json");
    set_retry_after(call, status->retry_s);
    model_status_write(&call->body, status, buffer_text(&message).at);
    buffer_add_char(&call->body, '\n');
}

// ---- other bodies -------------------------------------------------------------------------------

void model_answer_text(struct http_call *call, int status, const char *text)
{
    clear(call, status, "text/plain; charset=utf-8");
    buffer_add_text(&call->body, text);
}

void model_answer_json(struct http_call *call, int status, struct model_json *json)
{
    clear(call, status, "application/json");
    call->json = model_json_ref(json);
}

void model_answer_tree(struct http_call *call, int status, const struct value *tree)
{
    clear(call, status, "application/json");
    value_write_json(&call->body, tree);
}

// ---- refusals -----------------------------------------------------------------------------------

void model_refuse_missing(struct http_call *call, const struct model_target *target)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    model_refuse(call, &(struct model_status){.code = 404, .reason = "NotFound", .about = target},
                 "%s \"%.*s\" not found", model_resource_name(arena, target->row->kind),
                 TEXT_ARGS(target->key.name));
}

void model_refuse_stale(struct http_call *call, const struct model_target *target)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    model_refuse(call, &(struct model_status){.code = 409, .reason = "Conflict", .about = target},
                 "Operation cannot be fulfilled on %s \"%.*s\": the object has been modified; "
                 "please apply your changes to the latest version and try again",
                 model_resource_name(arena, target->row->kind), TEXT_ARGS(target->key.name));
}

void model_refuse_invalid(struct http_call *call, const struct model_target *target,
                          const char *text)
{
    const struct kind *kind = target->row->kind;
    model_refuse(call, &(struct model_status){.code = 422, .reason = "Invalid", .about = target},
                 "%s%s%s \"%.*s\" is invalid: %s", kind->name, *kind->group ? "." : "", kind->group,
                 TEXT_ARGS(target->key.name), text);
}

void model_refuse_too_large(struct http_call *call, uint64_t wanted, uint64_t current)
{
    call->more_ms = TOO_LARGE_MS; // it hopes to get there
    model_refuse(call,
                 &(struct model_status){.code = 504,
                                        .reason = "Timeout",
                                        .cause = "ResourceVersionTooLarge",
                                        .cause_text = "Too large resource version",
                                        .retry_s = 1},
                 "Timeout: Too large resource version: %llu, current: %llu",
                 (unsigned long long)wanted, (unsigned long long)current);
}

// ---- faults -------------------------------------------------------------------------------------

static void refuse_busy(struct http_call *call)
{
    model_answer_text(call, 429, "Too many requests, please try again later.\n");
    set_retry_after(call, 2);
}

static void refuse_forbidden(struct http_call *call, const struct model_target *target)
{
    model_refuse(call, &(struct model_status){.code = 403, .reason = "Forbidden", .about = target},
                 "%s \"%.*s\" is forbidden: User \"system:serviceaccount:signpost:signpost\" "
                 "cannot %s resource \"%s%s%.*s\" in API group \"%s\" at the cluster scope",
                 target->row->kind->plural, TEXT_ARGS(target->key.name), model_verbs[target->verb],
                 target->row->kind->plural, target->sub.len ? "/" : "", TEXT_ARGS(target->sub),
                 target->row->kind->group);
}

void model_refuse_fault(struct http_call *call, const struct model_target *target,
                        enum model_fault fault)
{
    static const struct {
        struct model_status status;
        const char *text;
    } rows[] = {
        [MODEL_FAILS] = {{.code = 500, .reason = "InternalError"},
                         "Internal error occurred: etcdserver: request timed out"},
        [MODEL_UNAVAILABLE] = {{.code = 503, .reason = "ServiceUnavailable", .retry_s = 1},
                               "apiserver is shutting down."},
        [MODEL_STARTING] = {{.code = 429, .reason = "TooManyRequests", .retry_s = 1},
                            "storage is (re)initializing"},
        [MODEL_UNAUTHORIZED] = {{.code = 401, .reason = "Unauthorized"}, "Unauthorized"},
        [MODEL_EXPIRED] = {{.code = 410, .reason = "Expired"},
                           "The resourceVersion for the provided list is too old."},
    };
    if (fault == MODEL_CONFLICT)
        model_refuse_stale(call, target);
    else if (fault == MODEL_LIMIT)
        refuse_busy(call);
    else if (fault == MODEL_FORBIDDEN)
        refuse_forbidden(call, target);
    else if ((size_t)fault < COUNT_OF(rows) && rows[fault].text)
        model_refuse(call, &rows[fault].status, "%s", rows[fault].text);
    else
        must(false);
}
