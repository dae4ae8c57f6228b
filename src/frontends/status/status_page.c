#include "frontends/status/status_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/url.h"
#include "engine/engine.h"
#include "frontends/status/html.h"
#include "frontends/status/status_tables.h"
#include "io/address.h"
#include "io/http_server.h"

enum { CHECKS_MAX = 256, CHECKS_SHOWN = 20, TAG_OCTETS = 40, HTTP_PORT = 80 };

struct status_page {
    struct status_page_options options;
};

// Made of the files of their names (scripts/embed).
extern const char status_style_css[];
extern const char status_script_js[];

struct status_page *status_page_new(const struct status_page_options *options)
{
    struct status_page *page = mem_new_of(struct status_page);
    page->options = *options;
    return page;
}

void status_page_free(struct status_page *page)
{
    free(page);
}

// ---- the pages ----------------------------------------------------------------------------------

static bool write_objects(const struct status_page *page, const struct status_query *query,
                          struct status_contents *out, struct error *err)
{
    return status_write_objects(page->options.engine, query, out, err);
}

static bool write_zones(const struct status_page *page, const struct status_query *query,
                        struct status_contents *out, struct error *err)
{
    (void)err;
    status_write_zones(page->options.engine, query, out);
    return true;
}

static bool write_backends(const struct status_page *page, const struct status_query *query,
                           struct status_contents *out, struct error *err)
{
    (void)err;
    status_write_backends(page->options.engine, query, out);
    return true;
}

static bool write_changes(const struct status_page *page, const struct status_query *query,
                          struct status_contents *out, struct error *err)
{
    (void)query;
    (void)err;
    status_write_changes(page->options.engine, out);
    return true;
}

static const struct view {
    const char *path;
    const char *link; // from any of the pages
    const char *name;
    unsigned filters;
    bool (*write)(const struct status_page *page, const struct status_query *query,
                  struct status_contents *out, struct error *err);
} views[] = {
    {"/status/", "./", "Objects",
     STATUS_FILTER_SYSTEM | STATUS_FILTER_STATE | STATUS_FILTER_SEARCH | STATUS_FILTER_PAGE,
     write_objects},
    {"/status/zones", "zones", "Zones", STATUS_FILTER_PAGE, write_zones},
    {"/status/backends", "backends", "Backends", STATUS_FILTER_PAGE, write_backends},
    {"/status/changes", "changes", "Changes", 0, write_changes},
};

static const struct {
    const char *path;
    const char *type;
    const char *text;
} files[] = {
    {"/status/style.css", "text/css; charset=utf-8", status_style_css},
    {"/status/script.js", "text/javascript; charset=utf-8", status_script_js},
};

static const struct {
    const char *path;
    const char *location; // relative, for those who come through a proxy
} redirections[] = {{"/", "status/"}, {"/status", "status/"}};

// ---- the frame around them ----------------------------------------------------------------------

static void add_head(struct buffer *out, const char *title)
{
    buffer_printf(out,
                  "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n"
                  "<meta name=\"robots\" content=\"noindex\">\n"
                  "<title>%s - Signpost</title>\n"
                  "<link rel=\"stylesheet\" href=\"style.css\">\n"
                  "<script src=\"script.js\" defer></script>\n</head>\n<body>\n"
                  "<a class=\"skip\" href=\"#main\">Skip to the content</a>\n",
                  title);
}

static void add_header(struct buffer *out, const struct view *shown)
{
    buffer_add_text(out, "<header>\n<p class=\"name\">Signpost</p>\n"
                         "<nav aria-label=\"Pages of status\"><ul>\n");
    for (size_t i = 0; i < COUNT_OF(views); i++)
        buffer_printf(out, "<li><a href=\"%s\"%s>%s</a></li>\n", views[i].link,
                      &views[i] == shown ? " aria-current=\"page\"" : "", views[i].name);
    buffer_add_text(out, "</ul></nav>\n<div id=\"live\"></div>\n</header>\n"
                         "<p id=\"notice\" role=\"alert\"></p>\n");
}

static void add_footer(struct buffer *out, const struct status_page *page)
{
    buffer_printf(
        out,
        "</main>\n<footer><p>Signpost %s. Times are UTC."
        " <span id=\"reload\">Reload the page to see what has changed.</span></p></footer>\n"
        "</body>\n</html>\n",
        page->options.version);
}

static void add_process(struct buffer *out, const struct status_page *page)
{
    const struct engine *engine = page->options.engine;
    const char *text = !engine_is_synced(engine)
                           ? "This process is still reading what there is, so not all is shown."
                       : engine_is_leading(engine)
                           ? "This process writes what is missing."
                           : "This process stands by: another one writes, so its backends and "
                             "changes are shown there.";
    buffer_printf(out, "<p class=\"process\">%s</p>\n", text);
}

static void add_check(struct buffer *out, const struct store_check *check)
{
    buffer_add_text(out, "<li><strong>");
    html_add(out, text_of(check->name));
    buffer_add_text(out, "</strong>: ");
    html_add(out, text_of(check->text));
    buffer_add_text(out, "</li>\n");
}

// Shows the first checks that are not ok, and how many more there are.
static void add_checks(struct buffer *out, const struct status_page *page)
{
    const struct status_page_options *options = &page->options;
    struct store_check checks[CHECKS_MAX];
    size_t count = options->checks ? options->checks(options->context, checks, CHECKS_MAX) : 0;
    size_t failed = 0;
    AUTO_BUFFER lines = {0};
    for (size_t i = 0; i < count; i++) {
        failed += !checks[i].is_ok;
        if (!checks[i].is_ok && failed <= CHECKS_SHOWN)
            add_check(&lines, &checks[i]);
    }
    if (!failed)
        return;
    buffer_printf(out, "<section class=\"attention\"><h2>Needs attention</h2><ul>\n%s", lines.at);
    if (failed > CHECKS_SHOWN)
        buffer_printf(out, "<li>and %zu more</li>\n", failed - CHECKS_SHOWN);
    buffer_add_text(out, "</ul></section>\n");
}

static void write_page(struct buffer *out, const struct status_page *page, const struct view *view,
                       const struct status_contents *contents)
{
    add_head(out, view->name);
    add_header(out, view);
    buffer_printf(out,
                  "<main id=\"main\" tabindex=\"-1\">\n<h1>%s</h1>\n"
                  "<p id=\"summary\" role=\"status\">%s</p>\n<div id=\"process\" data-live>\n",
                  view->name, buffer_text(&contents->summary).at);
    add_process(out, page);
    add_checks(out, page);
    buffer_add_text(out, "</div>\n");
    buffer_add(out, contents->body.at, contents->body.len);
    add_footer(out, page);
}

static void write_fault(struct buffer *out, const struct status_page *page, const char *title,
                        const char *text, const struct view *view)
{
    add_head(out, title);
    add_header(out, view);
    buffer_printf(out, "<main id=\"main\" tabindex=\"-1\">\n<h1>%s</h1>\n<p>", title);
    html_add(out, text_of(text));
    buffer_printf(out, ".</p>\n<p><a href=\"%s\">Show all %s</a></p>\n", view->link,
                  view == views ? "objects" : "of it");
    add_footer(out, page);
}

// ---- answering ----------------------------------------------------------------------------------

static void answer(struct http_exchange *exchange, int status, const char *type, struct text body,
                   const struct http_header *extra)
{
    static const struct http_header always[] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
         "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cache-Control", "no-store"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
    };
    struct http_header headers[COUNT_OF(always) + 1];
    memcpy(headers, always, sizeof always);
    if (extra)
        headers[COUNT_OF(always)] = *extra;
    http_answer(exchange, status, type, body, headers, COUNT_OF(always) + (extra != NULL));
}

static void answer_html(struct http_exchange *exchange, int status, const struct buffer *body)
{
    char tag[TAG_OCTETS];
    struct content_id id = content_id_of(body->at, body->len);
    snprintf(tag, sizeof tag, "\"%016llx%016llx\"", (unsigned long long)id.words[0],
             (unsigned long long)id.words[1]);
    const struct http_header header = {"ETag", tag};
    const char *known = http_exchange_header(exchange, "If-None-Match", 0);
    if (status == 200 && known && !strcmp(known, tag))
        answer(exchange, 304, "text/html; charset=utf-8", TEXT(""), &header);
    else
        answer(exchange, status, "text/html; charset=utf-8", buffer_text(body), &header);
}

static void answer_fault(const struct status_page *page, struct http_exchange *exchange, int status,
                         const char *title, const char *text, const struct view *view)
{
    AUTO_BUFFER body = {0};
    write_fault(&body, page, title, text, view);
    answer_html(exchange, status, &body);
}

static void answer_view(const struct status_page *page, struct http_exchange *exchange,
                        const struct view *view, struct text query_text)
{
    struct status_query query;
    struct error err;
    struct status_contents contents = {0};
    AUTO_BUFFER body = {0};
    if (!status_query_parse(&query, query_text, view->filters, &err) ||
        !view->write(page, &query, &contents, &err)) {
        answer_fault(page, exchange, 400, "That cannot be shown", err.text, view);
    } else {
        write_page(&body, page, view, &contents);
        answer_html(exchange, 200, &body);
    }
    buffer_done(&contents.summary);
    buffer_done(&contents.body);
}

// "localhost:8080", "127.0.0.1", "[::1]:8080".
static bool is_local_host(const char *host)
{
    struct hostport at;
    return host && hostport_parse(&at, text_of(host), HTTP_PORT, false, NULL) &&
           address_is_loopback(at.host);
}

static bool is_foreign(const struct status_page *page, const struct http_exchange *exchange)
{
    return page->options.is_local && !is_local_host(http_exchange_header(exchange, "Host", 0));
}

static bool answer_file(struct http_exchange *exchange, struct text path)
{
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        if (!text_is(path, files[i].path))
            continue;
        answer(exchange, 200, files[i].type, text_of(files[i].text), NULL);
        return true;
    }
    return false;
}

static bool answer_redirection(struct http_exchange *exchange, struct text path)
{
    for (size_t i = 0; i < COUNT_OF(redirections); i++) {
        const struct http_header location = {"Location", redirections[i].location};
        if (!text_is(path, redirections[i].path))
            continue;
        answer(exchange, 302, "text/plain; charset=utf-8", TEXT("see status/\n"), &location);
        return true;
    }
    return false;
}

bool status_page_has(struct text path)
{
    return text_is(path, "/") || text_is(path, "/status") || text_starts(path, "/status/");
}

void status_page_answer(const struct status_page *page, struct http_exchange *exchange)
{
    struct text query = text_of(http_exchange_target(exchange));
    struct text path;
    text_cut(&query, '?', &path);
    if (is_foreign(page, exchange)) {
        answer_fault(page, exchange, 403, "Only for this machine",
                     "this page is served to the machine that it runs on: open it by the name "
                     "localhost or by its address",
                     views);
        return;
    }
    if (answer_redirection(exchange, path) || answer_file(exchange, path))
        return;
    for (size_t i = 0; i < COUNT_OF(views); i++) {
        if (!text_is(path, views[i].path))
            continue;
        answer_view(page, exchange, &views[i], query);
        return;
    }
    answer_fault(page, exchange, 404, "There is no such page", "the pages are those named above",
                 views);
}
