#include "base/when.h"
#include "frontends/status/html.h"
#include "frontends/status/status_tables.h"

struct backends {
    const struct status_query *query;
    struct buffer *out;
    size_t count;
    size_t not_ready;
};

static bool is_learning(const struct backend_view *view)
{
    return view->is_learning || !view->answered_s;
}

// Finds what keeps us from doing all that is wanted there; NULL: nothing does.
static const struct error *find_fault(const struct backend_view *view)
{
    const struct error *faults[] = {&view->fault, &view->unavailable,
                                    view->answered_s && !view->is_answer_ok ? &view->answer_error
                                                                            : NULL};
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        if (faults[i] && faults[i]->fault != FAULT_NONE)
            return faults[i];
    return NULL;
}

static enum object_readiness readiness_of(const struct backend_view *view)
{
    if (find_fault(view))
        return OBJECT_NOT_READY;
    return is_learning(view) ? OBJECT_UNKNOWN : OBJECT_READY;
}

static const char *const health_names[OBJECT_READINESSES] = {
    [OBJECT_NOT_READY] = "Not well",
    [OBJECT_UNKNOWN] = "Not heard of yet",
    [OBJECT_READY] = "Well",
};

static void add_health(struct buffer *out, const struct backend_view *view)
{
    const struct error *fault = find_fault(view);
    buffer_printf(out, "<td role=\"cell\" data-label=\"Health\"><span class=\"state\">%s</span>",
                  health_names[readiness_of(view)]);
    if (fault) {
        buffer_add_text(out, " ");
        html_add(out, text_of(fault->text));
    }
    if (view->note) {
        buffer_add_text(out, " ");
        html_add(out, text_of(view->note));
    }
    buffer_add_text(out, "</td>");
}

static void add_span(struct buffer *out, const char *text, int64_t ms)
{
    char span[WHEN_TEXT_MAX];
    duration_write((ms + 999) / 1000 * 1000, span);
    buffer_printf(out, "<li>%s %s</li>", text, span);
}

static void add_back_off(struct buffer *out, const struct backend_state *state)
{
    html_open_cell(out, "Back-off");
    buffer_add_text(out, "<ul>");
    if (state->wait_ms)
        add_span(out, "left alone for", state->wait_ms);
    if (state->failures)
        buffer_printf(out, "<li>not reached %u times in a row</li>", state->failures);
    if (state->backing_off) {
        buffer_printf(out, "<li>%zu failed, the next is tried at ", state->backing_off);
        html_add_time(out, state->next_ms / 1000);
        buffer_add_text(out, "</li>");
    }
    if (!state->wait_ms && !state->failures && !state->backing_off)
        buffer_add_text(out, "<li>none</li>");
    buffer_add_text(out, "</ul></td>");
}

static void add_backend(struct buffer *out, const struct backend_state *state)
{
    const struct backend_view *view = state->view;
    buffer_printf(out, "<tr role=\"row\" class=\"%s\"><th role=\"rowheader\" scope=\"row\">",
                  status_states[readiness_of(view)]);
    html_add(out, text_of(view->name));
    buffer_add_text(out, "</th>");
    html_add_cell(out, "Server", text_of(view->registry ? view->registry : "-"));
    html_add_cell(out, "Provider", text_of(state->provider ? state->provider : "-"));
    add_health(out, view);
    add_back_off(out, state);
    html_open_cell(out, "Work");
    buffer_printf(out, "%zu claims, %zu due, %zu in flight</td>", state->claims, state->due,
                  state->in_flight);
    html_open_cell(out, "Last answer");
    html_add_time(out, view->answered_s);
    buffer_add_text(out, "</td></tr>\n");
}

static void take_backend(void *context, const struct backend_state *state)
{
    struct backends *backends = context;
    size_t first = html_first_row(backends->query);
    size_t place = backends->count++;
    backends->not_ready += readiness_of(state->view) == OBJECT_NOT_READY;
    if (place >= first && place < first + HTML_PAGE_ROWS)
        add_backend(backends->out, state);
}

void status_write_backends(struct engine *engine, const struct status_query *query,
                           struct status_contents *out)
{
    static const char *const columns[] = {"Backend",  "Server", "Provider",          "Health",
                                          "Back-off", "Work",   "Last answer (UTC)", NULL};
    AUTO_BUFFER rows = {0};
    AUTO_BUFFER caption = {0};
    struct backends backends = {.query = query, .out = &rows};
    engine_each_backend(engine, take_backend, &backends);
    buffer_printf(&out->summary, "%zu backend%s, %zu of them not well.", backends.count,
                  backends.count == 1 ? "" : "s", backends.not_ready);
    html_write_range(&caption, "Backends", query, backends.count);
    buffer_add_text(&out->body, "<div id=\"rows\" data-live>\n");
    html_open_table(&out->body, caption.at, columns);
    buffer_add(&out->body, rows.at, rows.len);
    html_close_table(&out->body);
    html_add_pager(&out->body, query, backends.count);
    buffer_add_text(&out->body, "</div>\n");
}
