#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "frontends/intent/request.h"

enum { FINDINGS_SHOWN = 50, WARNINGS_MAX = 8, HEADERS_MAX = 16, ETAG_OCTETS = 8 };

#define STORE_FAILED                                                                               \
    "The server encountered an internal error and was unable to complete your request."

struct headers {
    struct http_header items[HEADERS_MAX];
    size_t count;
};

static void add_header(struct headers *headers, const char *name, const char *value)
{
    if (headers->count < HEADERS_MAX)
        headers->items[headers->count++] = (struct http_header){name, value};
}

static void count_answer(struct request *request, int status)
{
    struct intent_api *api = request->api;
    AUTO_BUFFER route = {0};
    if (request->is_routed)
        route_write_pattern(&route, &request->route);
    else
        buffer_add_text(&route, "other");
    for (size_t i = 0; i < api->count_count; i++)
        if (api->counts[i].code == status && !strcmp(api->counts[i].route, route.at)) {
            api->counts[i].count++;
            return;
        }
    mem_reserve(&api->counts, &api->count_capacity, api->count_count + 1);
    api->counts[api->count_count++] = (struct code_count){buffer_steal(&route), status, 1};
}

void request_free(struct request *request)
{
    list_remove(&request->api->requests, request);
    loop_timer_cancel(request->api->options.world->loop, &request->timer);
    buffer_done(&request->warnings);
    arena_free(request->arena);
    free(request);
}

static void add_warnings(struct request *request, struct headers *headers)
{
    struct text rest = buffer_text(&request->warnings);
    struct text line;
    while (headers->count < WARNINGS_MAX && text_cut(&rest, '\n', &line))
        if (line.len)
            add_header(headers, "Warning", arena_copy(request->arena, line.at, line.len));
}

static void answer(struct request *request, int status, const char *type, struct text body,
                   struct headers *headers)
{
    count_answer(request, status);
    add_warnings(request, headers);
    add_header(headers, "X-Content-Type-Options", "nosniff");
    if (request->exchange) {
        http_exchange_set_data(request->exchange, NULL);
        http_answer(request->exchange, status, type, body, headers->items, headers->count);
    }
    request_free(request);
}

// ---- bodies -------------------------------------------------------------------------------------

void body_of(struct buffer *out, const struct value *value)
{
    value_write_json(out, value);
    buffer_add_char(out, '\n');
}

void etag_write(struct buffer *out, struct text body)
{
    uint8_t digest[DIGEST_MAX];
    char hex[2 * ETAG_OCTETS + 1];
    digest_of(DIGEST_SHA256, body, digest);
    hex_encode(digest, ETAG_OCTETS, hex);
    buffer_printf(out, "\"%s\"", hex);
}

void answer_json(struct request *request, int status, const struct value *shown, bool has_location)
{
    AUTO_BUFFER body = {0};
    AUTO_BUFFER etag = {0};
    AUTO_BUFFER location = {0};
    struct headers headers = {0};
    body_of(&body, shown);
    etag_write(&etag, buffer_text(&body));
    add_header(&headers, "ETag", etag.at);
    if (has_location) {
        route_write_path(&location, &request->route, request->name);
        add_header(&headers, "Location", location.at);
    }
    answer(request, status, "application/json", buffer_text(&body), &headers);
}

void answer_list(struct request *request, const struct value *list, const char *next)
{
    AUTO_BUFFER body = {0};
    struct headers headers = {0};
    body_of(&body, list);
    if (next)
        add_header(&headers, "Link", next);
    answer(request, 200, "application/json", buffer_text(&body), &headers);
}

void answer_empty(struct request *request, int status)
{
    struct headers headers = {0};
    answer(request, status, "text/plain; charset=utf-8", TEXT(""), &headers);
}

// ---- faults -------------------------------------------------------------------------------------

static bool wants_problem(const struct request *request)
{
    const char *accept =
        request->exchange ? http_exchange_header(request->exchange, "Accept", 0) : NULL;
    return accept && strstr(accept, "application/problem+json");
}

// RFC 9457: lines "<pointer>: <reason>" of the plain form are its errors.
static void write_problem(struct arena *arena, struct buffer *out, int status, const char *first,
                          const char *rest)
{
    struct value *problem = value_make(arena, VALUE_MAP);
    struct value *errors = value_make(arena, VALUE_LIST);
    struct text lines = text_of(rest);
    struct text line;
    value_put_text(arena, problem, "type", "about:blank");
    value_put_text(arena, problem, "title", first);
    value_put_int(arena, problem, "status", status);
    while (text_cut(&lines, '\n', &line)) {
        struct value *item = value_make(arena, VALUE_MAP);
        const char *colon = line.len ? memchr(line.at, ':', line.len) : NULL;
        bool has_pointer = line.len && line.at[0] == '/' && colon;
        size_t skip = has_pointer ? (size_t)(colon - line.at) : 0;
        if (!line.len)
            continue;
        if (has_pointer)
            value_set(item, TEXT("pointer"), value_make_text(arena, (struct text){line.at, skip}));
        value_set(item, TEXT("detail"),
                  value_make_text(
                      arena, text_trim((struct text){line.at + (has_pointer ? skip + 1 : 0),
                                                     line.len - (has_pointer ? skip + 1 : 0)})));
        value_append(errors, item);
    }
    value_set(problem, TEXT("errors"), errors);
    body_of(out, problem);
}

static void answer_fault(struct request *request, int status, const char *first, const char *rest,
                         struct headers *headers)
{
    AUTO_BUFFER body = {0};
    bool is_problem = wants_problem(request);
    if (is_problem)
        write_problem(request->arena, &body, status, first, rest);
    else
        buffer_printf(&body, "%s\n%s", first, rest ? rest : "");
    answer(request, status, is_problem ? "application/problem+json" : "text/plain; charset=utf-8",
           buffer_text(&body), headers);
}

void answer_text(struct request *request, int status, const char *first, const char *rest)
{
    struct headers headers = {0};
    if (status == 401)
        add_header(&headers, "WWW-Authenticate", "Bearer");
    if (status == 503)
        add_header(&headers, "Retry-After", "1");
    answer_fault(request, status, first, rest, &headers);
}

void answer_error(struct request *request, const struct error *error)
{
    bool is_ours = error->fault == FAULT_SPEC && error->status == 422;
    int status = error->fault == FAULT_SPEC || error->fault == FAULT_AUTH ? 500 : 503;
    const char *rest = arena_printf(request->arena, "%s\n", error->text);
    if (is_ours)
        answer_text(request, 409, "The object cannot be changed here", rest);
    else
        answer_text(request, status, STORE_FAILED, rest);
}

// "path: reason" and "path is required" lose their path, which the pointer says.
static const char *reason_of(const struct finding *finding)
{
    size_t len = strlen(finding->path);
    const char *text = finding->text;
    if (!len || strncmp(text, finding->path, len) != 0)
        return text;
    if (text[len] == ':' && text[len + 1] == ' ')
        return text + len + 2;
    return text[len] == ' ' ? text + len + 1 : text;
}

static void write_finding(struct buffer *out, const struct request *request, size_t index,
                          const struct finding *finding)
{
    document_write_pointer(out, request->route.resource, index, finding->path);
    buffer_printf(out, ": %s", reason_of(finding));
}

void request_warn(struct request *request, const struct findings *findings, size_t index)
{
    for (size_t i = 0; i < findings->count; i++) {
        AUTO_BUFFER text = {0};
        const struct finding *finding = &findings->items[i];
        if (finding->level != FINDING_WARNING ||
            !document_is_about(request->route.resource, index, finding->path))
            continue;
        write_finding(&text, request, index, finding);
        buffer_add_text(&request->warnings, "299 signpost \"");
        for (const char *at = text.at; *at; at++)
            if (*at >= ' ' && *at < 0x7f)
                buffer_printf(&request->warnings, "%s%c", *at == '"' || *at == '\\' ? "\\" : "",
                              *at);
        buffer_add_text(&request->warnings, "\"\n");
    }
}

void answer_findings(struct request *request, const struct findings *findings, size_t index)
{
    AUTO_BUFFER lines = {0};
    size_t shown = 0;
    bool are_types = true;
    for (size_t i = 0; i < findings->count && shown < FINDINGS_SHOWN; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->level != FINDING_ERROR)
            continue;
        are_types = are_types && !strncmp(reason_of(finding), "expected ", 9);
        write_finding(&lines, request, index, finding);
        buffer_add_char(&lines, '\n');
        shown++;
    }
    answer_text(request, are_types ? 422 : 400, "Invalid Input:", lines.at);
}

// ---- methods ------------------------------------------------------------------------------------

static const char *allowed_methods(const struct request *request)
{
    const struct route *route = &request->route;
    if (!route->resource || (route->action && !strcmp(route->action, "status")))
        return "GET, OPTIONS";
    if (route->action)
        return "POST, OPTIONS";
    return route->is_item ? "GET, PUT, DELETE, OPTIONS" : "GET, POST, OPTIONS";
}

void answer_method(struct request *request)
{
    struct headers headers = {0};
    add_header(&headers, "Allow", allowed_methods(request));
    if (!strcmp(request->method, "OPTIONS"))
        answer(request, 204, "text/plain; charset=utf-8", TEXT(""), &headers);
    else
        answer_fault(request, 405, "Method not allowed", NULL, &headers);
}
