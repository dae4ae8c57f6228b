#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "frontends/intent/call.h"

enum { HEADERS_MAX = 8 + WARNINGS_MAX, TAG_OCTETS = 8 };

#define INTERNAL "The server encountered an internal error and was unable to complete your request."

struct headers {
    struct http_header items[HEADERS_MAX];
    size_t count;
};

static void add_header(struct headers *headers, const char *name, const char *value)
{
    if (value)
        headers->items[headers->count++] = (struct http_header){name, value};
}

const char *call_header(const struct call *call, const char *name)
{
    return http_exchange_header(call->exchange, name, 0);
}

// The text of a header: quotes and line ends would end it.
static const char *warning_text(struct arena *arena, const char *warning)
{
    AUTO_BUFFER text = {0};
    buffer_add_text(&text, "299 signpost \"");
    for (const char *at = warning; *at; at++) {
        if (*at == '"' || *at == '\\')
            buffer_add_char(&text, '\\');
        buffer_add_char(&text, (unsigned char)*at < ' ' || *at == 0x7f ? ' ' : *at);
    }
    buffer_add_char(&text, '"');
    return arena_copy(arena, text.at, text.len);
}

static void send_answer(struct call *call, int status, const char *type, struct text body,
                        struct headers *headers)
{
    add_header(headers, "X-Content-Type-Options", "nosniff");
    for (size_t i = 0; i < call->faults.warning_count && status < 400; i++)
        add_header(headers, "Warning", warning_text(call->arena, call->faults.warnings[i]));
    if (call->exchange)
        http_answer(call->exchange, status, body.len ? type : NULL, body, headers->items,
                    headers->count);
    call_end(call, status);
}

// ---- errors -------------------------------------------------------------------------------------

static bool wants_problem(const struct call *call)
{
    const char *accept = call->exchange ? call_header(call, "Accept") : NULL;
    return accept && strstr(accept, "application/problem+json");
}

static void add_json_member(struct buffer *out, const char *key, const char *text)
{
    buffer_printf(out, "\"%s\":", key);
    value_write_json_text(out, text_of(text));
}

// RFC 9457. Without a first line, as of values of a wrong type, the title is the status's own.
static void write_problem(const struct call *call, int status, const char *first_line,
                          const struct text_lines *lines, struct buffer *out)
{
    buffer_printf(out, "{\"type\":\"about:blank\",\"status\":%d,", status);
    add_json_member(out, "title", *first_line ? first_line : "Unprocessable Content");
    buffer_add_text(out, ",\"errors\":[");
    for (size_t i = 0; i < call->faults.count; i++) {
        buffer_add_text(out, i ? ",{" : "{");
        add_json_member(out, "pointer", call->faults.items[i].pointer);
        buffer_add_char(out, ',');
        add_json_member(out, "reason", "Invalid");
        buffer_add_char(out, ',');
        add_json_member(out, "detail", call->faults.items[i].text);
        buffer_add_char(out, '}');
    }
    for (size_t i = 0; lines && i < lines->count; i++) {
        buffer_add_text(out, i || call->faults.count ? ",{" : "{");
        add_json_member(out, "detail", lines->items[i]);
        buffer_add_char(out, '}');
    }
    buffer_add_text(out, "]}\n");
}

static void add_reason(struct buffer *out, const char *part, size_t index)
{
    if (out->len)
        buffer_add_text(out, index ? ", " : ": ");
    buffer_add_text(out, part);
}

// For the log: what a fault quotes may be a secret in the wrong place, so it is told by its
// pointer.
static void write_reason(const struct call *call, const char *first_line,
                         const struct text_lines *lines, struct buffer *out)
{
    const struct body_faults *faults = &call->faults;
    buffer_add_text(out, first_line);
    if (text_ends(buffer_text(out), ":"))
        out->at[--out->len] = '\0';
    for (size_t i = 0; i < faults->count; i++)
        add_reason(out,
                   *faults->items[i].pointer ? faults->items[i].pointer : faults->items[i].text, i);
    for (size_t i = 0; lines && i < lines->count; i++)
        add_reason(out, lines->items[i], i + faults->count);
}

void call_answer_text(struct call *call, int status, const char *first_line,
                      const struct text_lines *lines)
{
    AUTO_BUFFER body = {0};
    AUTO_BUFFER reason = {0};
    struct headers headers = {0};
    bool is_problem = wants_problem(call);
    if (is_problem) {
        write_problem(call, status, first_line, lines, &body);
    } else {
        if (*first_line)
            buffer_printf(&body, "%s\n", first_line);
        body_faults_write(&call->faults, &body);
        for (size_t i = 0; lines && i < lines->count; i++)
            buffer_printf(&body, "%s\n", lines->items[i]);
    }
    if (status == 405)
        add_header(&headers, "Allow", route_methods(call->route.action));
    if (status == 401)
        add_header(&headers, "WWW-Authenticate", "Bearer");
    if (status == 503)
        add_header(&headers, "Retry-After", "1");
    write_reason(call, first_line, lines, &reason);
    call_log_refusal(call, status, buffer_text(&reason).at);
    send_answer(call, status, is_problem ? "application/problem+json" : "text/plain; charset=utf-8",
                buffer_text(&body), &headers);
}

void call_answer_faults(struct call *call)
{
    bool is_type = call->faults.has_type_fault;
    call_answer_text(call, is_type ? 422 : 400, is_type ? "" : "Invalid Input:", NULL);
}

void call_answer_error(struct call *call, const struct error *error)
{
    call_answer_text(call, error->status, error->text, NULL);
}

// What the store refuses for good is the asker's to change; the rest may pass.
void call_answer_store(struct call *call, const struct error *error)
{
    struct text_lines lines = {.arena = call->arena};
    bool is_not_ours = !strcmp(error->reason, "NotOurs");
    text_lines_add(&lines, "%s", error->text);
    if (is_not_ours)
        text_lines_add(&lines,
                       "change the value where that stands, or remove it: then the value is "
                       "taken from here");
    if (error->fault == FAULT_RACE)
        call_answer_text(call, 503, "Others change it all the time: nothing was written, try again",
                         NULL);
    else if (error->fault == FAULT_SPEC && (error->status == 422 || is_not_ours))
        call_answer_text(call, 409, "The store does not take it", &lines);
    else
        call_answer_text(call, error->fault == FAULT_SPEC ? 500 : 503, INTERNAL, &lines);
}

// ---- good answers -------------------------------------------------------------------------------

void call_answer_nothing(struct call *call, int status)
{
    struct headers headers = {0};
    send_answer(call, status, NULL, TEXT(""), &headers);
}

static const char *etag_of(struct arena *arena, struct text served)
{
    uint8_t hash[DIGEST_MAX];
    char hex[2 * TAG_OCTETS + 1];
    digest_of(DIGEST_SHA256, served, hash);
    hex_encode(hash, TAG_OCTETS, hex);
    return arena_printf(arena, "\"%s\"", hex);
}

static void write_served(struct buffer *out, const struct value *tree)
{
    value_write_json(out, tree);
    buffer_add_char(out, '\n');
}

const char *call_etag(struct arena *arena, const struct value *tree)
{
    AUTO_BUFFER served = {0};
    write_served(&served, tree);
    return etag_of(arena, buffer_text(&served));
}

bool call_etag_matches(const char *header, const char *etag)
{
    struct text rest = text_of(header);
    struct text tag;
    while (text_cut(&rest, ',', &tag)) {
        tag = text_trim(tag);
        if (text_starts(tag, "W/"))
            tag = (struct text){tag.at + 2, tag.len - 2};
        if (text_is(tag, "*") || text_is(tag, etag))
            return true;
    }
    return false;
}

void call_answer_tree(struct call *call, int status, const struct value *tree, const char *location,
                      const char *link)
{
    AUTO_BUFFER served = {0};
    struct headers headers = {0};
    write_served(&served, tree);
    const char *etag = etag_of(call->arena, buffer_text(&served));
    const char *seen = call->exchange ? call_header(call, "If-None-Match") : NULL;
    add_header(&headers, "ETag", etag);
    add_header(&headers, "Location", location);
    add_header(&headers, "Link", link);
    if (status == 200 && seen && !strcmp(call->method, "GET") && call_etag_matches(seen, etag))
        send_answer(call, 304, NULL, TEXT(""), &headers);
    else
        send_answer(call, status, "application/json", buffer_text(&served), &headers);
}
