#include "model/model_pihole.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/must.h"
#include "model/model_pihole_private.h"

enum { SECOND_MS = 1000 };

// ---- life ---------------------------------------------------------------------------------------

struct model_pihole *model_pihole_new(const char *password, int64_t epoch_ms)
{
    struct model_pihole *pihole = mem_new_of(struct model_pihole);
    pihole->epoch_ms = epoch_ms;
    pihole->switches = model_pihole_defaults;
    pihole->switches.password = mem_copy_text(password);
    pihole->switches.app_password = mem_copy_text("");
    pihole->switches.totp = mem_copy_text("");
    pihole->used_totp = mem_copy_text("");
    pihole->life = 1;
    return pihole;
}

static void flight_free(struct pihole_flight *flight)
{
    free(flight->agent);
    free(flight->what);
    model_pihole_lists_done(&flight->before);
    buffer_done(&flight->body);
    free(flight);
}

void model_pihole_free(struct model_pihole *pihole)
{
    if (!pihole)
        return;
    while (pihole->flights)
        model_pihole_end(pihole, pihole->flights->number);
    model_pihole_switches_done(&pihole->switches);
    model_pihole_sessions_done(pihole);
    model_pihole_lists_done(&pihole->stored);
    model_pihole_lists_done(&pihole->served);
    model_pihole_lists_done(&pihole->pending);
    model_pihole_lists_done(&pihole->kept);
    model_pihole_lists_done(&pihole->ghosts);
    free(pihole->used_totp);
    free(pihole->breach);
    free(pihole);
}

int64_t model_pihole_unix_s(const struct model_pihole *pihole, int64_t now_ms)
{
    return (pihole->epoch_ms + now_ms) / SECOND_MS;
}

// ---- the process --------------------------------------------------------------------------------

void model_pihole_settle(struct model_pihole *pihole, int64_t now_ms)
{
    struct pihole_restart *restart = &pihole->restart;
    if (!restart->is_on)
        return;
    if (!restart->has_begun && now_ms >= restart->closes_ms) {
        restart->has_begun = true;
        pihole->life++;
    }
    if (!restart->has_spoken && now_ms >= restart->speaks_ms) {
        restart->has_spoken = true;
        model_pihole_lists_copy(&pihole->served, &pihole->pending);
        pihole->served_number++;
    }
    restart->is_on = !restart->has_begun || !restart->has_spoken || now_ms < restart->opens_ms;
}

void model_pihole_restart(struct model_pihole *pihole, int64_t now_ms, int64_t reply_ms)
{
    struct pihole_restart *restart = &pihole->restart;
    const struct pihole_switches *switches = &pihole->switches;
    model_pihole_settle(pihole, now_ms);
    model_pihole_lists_copy(&pihole->pending, &pihole->stored);
    if (restart->is_on && !restart->has_begun)
        return;
    bool is_dumb = restart->is_on && !restart->has_spoken;
    int64_t closes_ms = reply_ms + switches->restart_grace_ms;
    int64_t speaks_ms = reply_ms + switches->restart_dns_ms;
    *restart = (struct pihole_restart){
        .is_on = true,
        .closes_ms = closes_ms,
        .opens_ms = closes_ms + switches->restart_api_ms,
        .dumb_ms = is_dumb ? restart->dumb_ms : reply_ms,
        .speaks_ms = speaks_ms < closes_ms ? closes_ms : speaks_ms,
    };
    pihole->counters.restarts++;
}

bool model_pihole_deadlocks(struct pihole_call *call)
{
    struct model_pihole *pihole = call->pihole;
    model_pihole_settle(pihole, call->now_ms);
    if (!pihole->switches.deadlocks || !pihole->restart.is_on || pihole->restart.has_begun)
        return false;
    pihole->restart.is_on = false;
    pihole->is_deadlocked = true;
    pihole->counters.deadlocks++;
    call->reply->fate = PIHOLE_SILENT;
    return true;
}

void model_pihole_kill(struct model_pihole *pihole)
{
    pihole->switches.is_up = false;
    pihole->is_deadlocked = false;
    pihole->restart.is_on = false;
}

void model_pihole_start(struct model_pihole *pihole)
{
    if (pihole->switches.is_up)
        return;
    pihole->switches.is_up = true;
    pihole->life++;
    for (int i = 0; i < PIHOLE_LISTS; i++)
        model_pihole_publish(pihole, (enum pihole_list)i);
}

bool model_pihole_is_open(const struct model_pihole *pihole, int64_t now_ms)
{
    const struct pihole_restart *restart = &pihole->restart;
    bool is_closed = restart->is_on && now_ms >= restart->closes_ms && now_ms < restart->opens_ms;
    return pihole->switches.is_up && !is_closed;
}

bool model_pihole_is_dumb(const struct model_pihole *pihole, int64_t now_ms)
{
    const struct pihole_restart *restart = &pihole->restart;
    bool is_silent = restart->is_on && now_ms >= restart->dumb_ms && now_ms < restart->speaks_ms;
    return !pihole->switches.is_up || pihole->is_deadlocked || is_silent;
}

uint64_t model_pihole_life(const struct model_pihole *pihole, int64_t now_ms)
{
    const struct pihole_restart *restart = &pihole->restart;
    return pihole->life + (restart->is_on && !restart->has_begun && now_ms >= restart->closes_ms);
}

int64_t model_pihole_next_ms(const struct model_pihole *pihole, int64_t now_ms)
{
    const struct pihole_restart *restart = &pihole->restart;
    const int64_t times[] = {restart->closes_ms, restart->opens_ms, restart->dumb_ms,
                             restart->speaks_ms};
    int64_t next_ms = -1;
    for (size_t i = 0; restart->is_on && i < COUNT_OF(times); i++)
        if (times[i] > now_ms && (next_ms < 0 || times[i] < next_ms))
            next_ms = times[i];
    return next_ms;
}

// ---- flights ------------------------------------------------------------------------------------

static const struct pihole_flight *find_flight(const struct model_pihole *pihole, uint64_t number)
{
    const struct pihole_flight *flight = pihole->flights;
    while (flight && flight->number != number)
        flight = flight->next;
    return flight;
}

static bool is_flying(const struct model_pihole *pihole, const struct pihole_flight *flight,
                      int64_t now_ms)
{
    return pihole->switches.is_up && flight->life == model_pihole_life(pihole, now_ms);
}

bool model_pihole_is_alive(const struct model_pihole *pihole, uint64_t number, int64_t now_ms)
{
    const struct pihole_flight *flight = find_flight(pihole, number);
    return flight && is_flying(pihole, flight, now_ms);
}

void model_pihole_end(struct model_pihole *pihole, uint64_t number)
{
    struct pihole_flight **link = &pihole->flights;
    while (*link && (*link)->number != number)
        link = &(*link)->next;
    if (!*link)
        return;
    struct pihole_flight *flight = *link;
    *link = flight->next;
    flight_free(flight);
}

void model_pihole_accuse(struct model_pihole *pihole, const char *format, ...)
{
    va_list args;
    struct buffer text = {0};
    if (pihole->breach)
        return;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    pihole->breach = buffer_steal(&text);
}

const char *model_pihole_breach(const struct model_pihole *pihole)
{
    return pihole->breach;
}

static const char *header_of(const struct pihole_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (!strcasecmp(request->headers[i].name, name))
            return request->headers[i].value;
    return NULL;
}

static struct pihole_flight *flight_new(struct model_pihole *pihole,
                                        const struct pihole_request *request, int64_t now_ms)
{
    struct buffer what = {0};
    struct pihole_flight *flight = mem_new_of(struct pihole_flight);
    const char *agent = header_of(request, "User-Agent");
    buffer_printf(&what, "%s %.*s", request->method, TEXT_ARGS(request->target));
    flight->number = ++pihole->last_flight;
    flight->life = model_pihole_life(pihole, now_ms);
    flight->agent = mem_copy_text(agent ? agent : "");
    flight->what = buffer_steal(&what);
    flight->is_write =
        strcmp(request->method, "GET") != 0 && text_starts(request->target, "/api/config");
    return flight;
}

// Of which process it is ("#...") does not count.
static bool is_same_client(const char *a, const char *b)
{
    size_t head = strcspn(a, "#");
    if (head != strcspn(b, "#") || strncmp(a, b, head) != 0)
        return false;
    return !strcmp(a + head + strcspn(a + head, " "), b + head + strcspn(b + head, " "));
}

// Who else is under way: the same client must not be; two who change something do harm.
static void look_around(struct model_pihole *pihole, const struct pihole_flight *flight,
                        int64_t now_ms)
{
    bool is_harmed = false;
    for (const struct pihole_flight *at = pihole->flights; at; at = at->next) {
        if (!is_flying(pihole, at, now_ms))
            continue;
        is_harmed |= at->is_write && flight->is_write;
        if (!is_same_client(at->agent, flight->agent))
            continue;
        pihole->counters.overlaps++;
        model_pihole_accuse(pihole, "two requests of \"%s\" are in flight at once: %s, and %s",
                            flight->agent, at->what, flight->what);
    }
    if (is_harmed && pihole->switches.overlap == OVERLAP_DIES)
        model_pihole_kill(pihole);
}

// ---- what a request says ------------------------------------------------------------------------

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *decode(struct arena *arena, struct text encoded)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < encoded.len; i++) {
        char c = encoded.at[i];
        bool is_escape = c == '%' && i + 2 < encoded.len && hex_digit(encoded.at[i + 1]) >= 0 &&
                         hex_digit(encoded.at[i + 2]) >= 0;
        if (is_escape) {
            c = (char)(16 * hex_digit(encoded.at[i + 1]) + hex_digit(encoded.at[i + 2]));
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        buffer_add_char(&out, c);
    }
    return arena_copy(arena, out.at ? out.at : "", out.len);
}

const char *model_pihole_variable(struct arena *arena, struct text source, const char *name)
{
    struct text pair;
    struct text rest = source;
    while (text_cut(&rest, '&', &pair)) {
        struct text key;
        if (text_cut(&pair, '=', &key) && pair.at && text_is(key, name))
            return decode(arena, pair);
    }
    return NULL;
}

bool model_pihole_flag(const struct pihole_call *call, const char *name, bool fallback)
{
    const char *value = model_pihole_variable(call->arena, call->query, name);
    if (value && !strcasecmp(value, "true"))
        return true;
    return value && !strcasecmp(value, "false") ? false : fallback;
}

const char *model_pihole_header(const struct pihole_call *call, const char *name)
{
    return header_of(call->request, name);
}

static void read_target(struct pihole_call *call)
{
    struct text path;
    struct text segment;
    struct text rest = call->request->target;
    text_cut(&rest, '?', &path);
    call->query = rest;
    call->path = text_of(decode(call->arena, path));
    if (!text_starts(call->path, "/api/"))
        return;
    rest = (struct text){call->path.at + 5, call->path.len - 5};
    while (text_cut(&rest, '/', &segment) && call->segment_count < PIHOLE_PATH_MAX)
        if (segment.len)
            call->segments[call->segment_count++] =
                arena_copy(call->arena, segment.at, segment.len);
}

static void read_body(struct pihole_call *call)
{
    struct text body = call->request->body;
    call->has_body = body.len > 0 && body.len <= PIHOLE_BODY_MAX;
    if (call->has_body)
        call->body = value_read_json(call->arena, body, &value_reply_limits, NULL);
}

// ---- what a reply says --------------------------------------------------------------------------

void model_pihole_add_header(struct pihole_call *call, const char *name, const char *value)
{
    struct pihole_flight *flight = call->flight;
    must(flight->header_count < PIHOLE_HEADERS_MAX);
    flight->headers[flight->header_count++] = (struct http_header){name, value};
}

static void write_took(struct buffer *out, int64_t took_ms)
{
    buffer_printf(out, "\"took\":%lld.%03lld}", (long long)(took_ms / SECOND_MS),
                  (long long)(took_ms % SECOND_MS));
}

void model_pihole_answer(struct pihole_call *call, int status, const struct value *map)
{
    struct buffer *body = &call->flight->body;
    buffer_clear(body);
    if (value_count(map)) {
        value_write_json(body, map);
        body->at[body->len - 1] = ',';
    } else {
        buffer_add_char(body, '{');
    }
    write_took(body, call->reply->delay_ms);
    model_pihole_add_header(call, "Content-Type", "application/json; charset=utf-8");
    call->reply->status = status;
    call->reply->body = buffer_text(body);
}

void model_pihole_answer_empty(struct pihole_call *call, int status)
{
    call->reply->status = status;
    call->reply->body = (struct text){0};
}

void model_pihole_refuse(struct pihole_call *call, int status, const char *key, const char *message,
                         const char *hint)
{
    struct value *map = value_make(call->arena, VALUE_MAP);
    value_put_text(call->arena, map, "error.key", key);
    value_put_text(call->arena, map, "error.message", message);
    if (hint)
        value_put_text(call->arena, map, "error.hint", hint);
    else
        value_put(call->arena, map, "error.hint", value_make(call->arena, VALUE_NULL));
    model_pihole_answer(call, status, map);
}

bool model_pihole_has_json(struct pihole_call *call)
{
    if (call->body)
        return true;
    if (!call->has_body) {
        model_pihole_refuse(call, 400, "bad_request", "No request body data", NULL);
        return false;
    }
    AUTO_BUFFER hint = {0};
    text_clean(&hint, call->request->body, PIHOLE_BODY_MAX);
    model_pihole_refuse(call, 400, "bad_request",
                        "Invalid request body data (no valid JSON), error at hint",
                        buffer_text(&hint).at);
    return false;
}

// ---- one request --------------------------------------------------------------------------------

static void restart_dns(struct pihole_call *call)
{
    struct value *map = value_make(call->arena, VALUE_MAP);
    if (!model_pihole_is_let_in(call))
        return;
    if (!call->pihole->switches.restart_allowed) {
        model_pihole_refuse(call, 403, "forbidden", "Restarting DNS is not allowed",
                            "Check setting webserver.api.allow_destructive");
        return;
    }
    model_pihole_restart(call->pihole, call->now_ms, call->now_ms + call->reply->delay_ms);
    value_put_text(call->arena, map, "status", "ok");
    model_pihole_answer(call, 200, map);
}

static const struct route {
    const char *first;
    const char *second; // NULL: any, or none
    const char *methods;
    void (*serve)(struct pihole_call *call);
} routes[] = {
    {"auth", "sessions", "GET", model_pihole_sessions},
    {"auth", "session", "DELETE", model_pihole_sessions},
    {"auth", NULL, "GET POST DELETE", model_pihole_auth},
    {"config", NULL, "GET PUT PATCH DELETE", model_pihole_config},
    {"action", "restartdns", "POST", restart_dns},
};

static const struct route *route_of(const struct pihole_call *call)
{
    const char *first = call->segment_count ? call->segments[0] : "";
    const char *second = call->segment_count > 1 ? call->segments[1] : "";
    for (size_t i = 0; i < COUNT_OF(routes); i++)
        if (!strcmp(routes[i].first, first) &&
            (!routes[i].second || !strcmp(routes[i].second, second)))
            return &routes[i];
    return NULL;
}

static bool is_one_of(const char *methods, const char *method)
{
    struct text one;
    struct text rest = text_of(methods);
    while (text_cut(&rest, ' ', &one))
        if (text_is(one, method))
            return true;
    return false;
}

static void answer_page(struct pihole_call *call)
{
    buffer_add_text(&call->flight->body, "<html><body>Error 404: Not Found</body></html>");
    model_pihole_add_header(call, "Content-Type", "text/html; charset=utf-8");
    call->reply->status = 404;
    call->reply->body = buffer_text(&call->flight->body);
}

static void serve_v6(struct pihole_call *call)
{
    const struct route *route = route_of(call);
    const char *path = arena_copy(call->arena, call->path.at, call->path.len);
    if (text_starts(call->path, "/admin/api"))
        model_pihole_refuse(call, 400, "bad_request", "Bad request",
                            "The API is hosted at pi.hole/api, not pi.hole/admin/api");
    else if (!text_starts(call->path, "/api/"))
        answer_page(call);
    else if (!route)
        model_pihole_refuse(call, 404, "not_found", "Not found", path);
    else if (!is_one_of(route->methods, call->request->method))
        model_pihole_refuse(call, 405, "method_not_allowed", "Method not allowed", path);
    else
        route->serve(call);
}

static void serve(struct pihole_call *call)
{
    struct pihole_switches *switches = &call->pihole->switches;
    read_target(call);
    read_body(call);
    if (switches->fails) {
        switches->fails--;
        model_pihole_refuse(call, 500, "internal_error", "Internal server error", NULL);
    } else if (switches->is_legacy) {
        model_pihole_legacy(call);
    } else {
        serve_v6(call);
    }
}

// What a switch wants of this reply.
static void spoil(struct pihole_switches *switches, struct pihole_flight *flight,
                  struct pihole_reply *reply)
{
    if (switches->body && reply->status == 200) {
        buffer_clear(&flight->body);
        buffer_add_text(&flight->body, switches->body);
        reply->body = buffer_text(&flight->body);
        free(steal(switches->body));
    }
    if (switches->cut_octets >= 0) {
        reply->is_cut = true;
        reply->cut_octets = (size_t)switches->cut_octets;
        switches->cut_octets = -1;
    }
    if (switches->loses_replies && flight->has_changed) {
        switches->loses_replies--;
        reply->is_cut = true;
        reply->cut_octets = 0;
    }
}

static void count_request(struct pihole_counters *counters, const struct pihole_request *request)
{
    struct {
        const char *method;
        uint64_t *count;
    } rows[] = {{"GET", &counters->gets},
                {"POST", &counters->posts},
                {"PUT", &counters->puts},
                {"PATCH", &counters->patches},
                {"DELETE", &counters->deletes}};
    counters->requests++;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        *rows[i].count += !strcmp(request->method, rows[i].method);
    if (counters->largest_body < request->body.len)
        counters->largest_body = request->body.len;
}

uint64_t model_pihole_begin(struct model_pihole *pihole, int64_t now_ms,
                            const struct pihole_request *request, struct pihole_reply *reply)
{
    model_pihole_settle(pihole, now_ms);
    *reply = (struct pihole_reply){.fate = PIHOLE_REFUSES};
    if (!model_pihole_is_open(pihole, now_ms))
        return 0;
    count_request(&pihole->counters, request);
    struct pihole_flight *flight = flight_new(pihole, request, now_ms);
    look_around(pihole, flight, now_ms);
    flight->next = pihole->flights;
    pihole->flights = flight;
    bool is_silent = pihole->switches.hangs || pihole->is_deadlocked;
    reply->fate = is_silent ? PIHOLE_SILENT : PIHOLE_ANSWERS;
    reply->delay_ms = pihole->switches.read_ms;
    if (is_silent || !pihole->switches.is_up)
        return flight->number;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct pihole_call call = {.pihole = pihole,
                               .now_ms = now_ms,
                               .request = request,
                               .reply = reply,
                               .flight = flight,
                               .arena = arena};
    serve(&call);
    spoil(&pihole->switches, flight, reply);
    reply->headers = flight->headers;
    reply->header_count = flight->header_count;
    return flight->number;
}
