#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "frontends/status/html.h"
#include "frontends/status/status_tables.h"

enum { SYSTEMS_MAX = 64, NAME_OCTETS_MAX = 512 };

const char *const status_states[OBJECT_READINESSES] = {
    [OBJECT_NOT_READY] = "not-ready",
    [OBJECT_UNKNOWN] = "unknown",
    [OBJECT_READY] = "ready",
    [OBJECT_OVER] = "over",
};
static const char *const state_names[OBJECT_READINESSES] = {
    [OBJECT_NOT_READY] = "Not ready",
    [OBJECT_UNKNOWN] = "Not known yet",
    [OBJECT_READY] = "Ready",
    [OBJECT_OVER] = "Over",
};

struct system {
    const char *name; // of its controller
    const struct kind *kind;
    size_t counts[OBJECT_READINESSES];
};

// Two rounds over all objects: the first counts, the second takes the rows of the page, those that
// are not ready first.
struct objects {
    const struct status_query *query;
    struct system systems[SYSTEMS_MAX];
    size_t system_count;
    size_t counts[OBJECT_READINESSES];
    size_t matches[OBJECT_READINESSES]; // of the query
    size_t starts[OBJECT_READINESSES];  // the place of the first match, and then of the next
    struct object_state rows[HTML_PAGE_ROWS];
    size_t row_count;
};

// ---- counting and picking -----------------------------------------------------------------------

static struct system *find_system(struct objects *objects, const struct object_state *state)
{
    for (size_t i = 0; i < objects->system_count; i++)
        if (objects->systems[i].name == state->controller)
            return &objects->systems[i];
    if (objects->system_count == SYSTEMS_MAX)
        return &objects->systems[SYSTEMS_MAX - 1];
    struct system *system = &objects->systems[objects->system_count++];
    *system = (struct system){.name = state->controller, .kind = state->object->kind};
    return system;
}

static bool has_search(const struct object_state *state, const char *search)
{
    char name[NAME_OCTETS_MAX + 2];
    struct text namespace_ = object_namespace(state->object);
    struct text own = object_name(state->object);
    size_t len = 0;
    memcpy(name, namespace_.at, namespace_.len);
    len += namespace_.len;
    name[len++] = '/';
    memcpy(name + len, own.at, own.len);
    len += own.len;
    return memmem(name, len, search, strlen(search)) != NULL;
}

static bool is_match(const struct status_query *query, const struct object_state *state)
{
    return (!*query->state || !strcmp(query->state, status_states[state->readiness])) &&
           (!*query->system || !strcmp(query->system, state->controller)) &&
           (!*query->search || has_search(state, query->search));
}

static void count_state(void *context, const struct object_state *state)
{
    struct objects *objects = context;
    find_system(objects, state)->counts[state->readiness]++;
    objects->counts[state->readiness]++;
    objects->matches[state->readiness] += is_match(objects->query, state);
}

static void pick_state(void *context, const struct object_state *state)
{
    struct objects *objects = context;
    if (!is_match(objects->query, state))
        return;
    size_t first = html_first_row(objects->query);
    size_t place = objects->starts[state->readiness]++;
    if (place < first || place >= first + HTML_PAGE_ROWS)
        return;
    objects->rows[place - first] = *state;
    objects->row_count++;
}

static size_t sum(const size_t counts[OBJECT_READINESSES])
{
    size_t all = 0;
    for (size_t i = 0; i < OBJECT_READINESSES; i++)
        all += counts[i];
    return all;
}

static void find_starts(struct objects *objects)
{
    size_t place = 0;
    for (size_t i = 0; i < OBJECT_READINESSES; i++) {
        objects->starts[i] = place;
        place += objects->matches[i];
    }
}

// ---- counts -------------------------------------------------------------------------------------

static void add_count(struct buffer *out, const char *system, enum object_readiness readiness,
                      size_t count)
{
    buffer_printf(out, "<td role=\"cell\" data-label=\"%s\" class=\"count\">",
                  state_names[readiness]);
    if (count)
        buffer_printf(out, "<a class=\"%s\" href=\"?%s%s%sstate=%s\">%zu</a></td>",
                      status_states[readiness], system ? "system=" : "", system ? system : "",
                      system ? "&amp;" : "", status_states[readiness], count);
    else
        buffer_add_text(out, "0</td>");
}

static void add_system(struct buffer *out, const struct system *system)
{
    buffer_printf(out,
                  "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">"
                  "<a href=\"?system=%s\">%s</a> <span class=\"kind\">%s</span></th>",
                  system->name, system->name, system->kind->name);
    for (size_t i = 0; i < OBJECT_READINESSES; i++)
        add_count(out, system->name, i, system->counts[i]);
    buffer_add_text(out, "</tr>\n");
}

static void add_counts(struct buffer *out, const struct objects *objects)
{
    static const char *const columns[] = {"System", "Not ready", "Not known yet",
                                          "Ready",  "Over",      NULL};
    if (!objects->system_count)
        return;
    html_open_table(out, "Objects by system and state", columns);
    for (size_t i = 0; i < objects->system_count; i++)
        add_system(out, &objects->systems[i]);
    buffer_add_text(out, "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">All</th>");
    for (size_t i = 0; i < OBJECT_READINESSES; i++)
        add_count(out, NULL, i, objects->counts[i]);
    buffer_add_text(out, "</tr>\n");
    html_close_table(out);
}

static void add_summary(struct buffer *out, const struct objects *objects)
{
    size_t all = sum(objects->counts);
    buffer_printf(out, "%zu object%s: %zu not ready, %zu not known yet, %zu ready", all,
                  all == 1 ? "" : "s", objects->counts[OBJECT_NOT_READY],
                  objects->counts[OBJECT_UNKNOWN], objects->counts[OBJECT_READY]);
    if (objects->counts[OBJECT_OVER])
        buffer_printf(out, ", %zu over", objects->counts[OBJECT_OVER]);
    buffer_add_char(out, '.');
}

// ---- the form -----------------------------------------------------------------------------------

static void add_choice(struct buffer *out, const char *value, const char *text, const char *chosen)
{
    buffer_printf(out, "<option value=\"%s\"%s>%s</option>", value,
                  !strcmp(value, chosen) ? " selected" : "", text);
}

// Offers the systems that have objects, and the chosen one.
static void add_systems(struct buffer *out, const struct objects *objects)
{
    const char *chosen = objects->query->system;
    bool is_there = !*chosen;
    add_choice(out, "", "all", chosen);
    for (size_t i = 0; i < objects->system_count; i++) {
        add_choice(out, objects->systems[i].name, objects->systems[i].name, chosen);
        is_there |= !strcmp(objects->systems[i].name, chosen);
    }
    if (!is_there)
        add_choice(out, chosen, chosen, chosen);
}

static void add_form(struct buffer *out, const struct objects *objects)
{
    const struct status_query *query = objects->query;
    buffer_add_text(out, "<form method=\"get\" action=\"./\" role=\"search\">\n"
                         "<label>System <select name=\"system\" id=\"system\">");
    add_systems(out, objects);
    buffer_add_text(out, "</select></label>\n<label>State <select name=\"state\" id=\"state\">");
    add_choice(out, "", "all", query->state);
    for (size_t i = 0; i < OBJECT_READINESSES; i++)
        add_choice(out, status_states[i], state_names[i], query->state);
    buffer_printf(out,
                  "</select></label>\n<label>Namespace or name <input type=\"search\" name=\"q\" "
                  "id=\"q\" maxlength=\"%d\" autocomplete=\"off\" spellcheck=\"false\" value=\"",
                  STATUS_FIELD_OCTETS_MAX);
    html_add(out, text_of(query->search));
    buffer_add_text(out, "\"></label>\n<button type=\"submit\">Show</button>\n</form>\n");
}

// ---- the objects --------------------------------------------------------------------------------

static void add_reason(struct buffer *out, const struct object_state *state)
{
    html_open_cell(out, "Reason");
    if (state->is_going)
        buffer_add_text(out, "Being deleted. ");
    if (*state->reason) {
        buffer_add_text(out, "<span class=\"reason\">");
        html_add(out, text_of(state->reason));
        buffer_add_text(out, *state->message ? ":</span> " : "</span>");
    }
    html_add(out, text_of(state->message));
    if (!*state->reason && !*state->message && state->readiness == OBJECT_UNKNOWN)
        buffer_add_text(out, "Signpost has not decided on it yet.");
    buffer_add_text(out, "</td>");
}

static void add_object(struct buffer *out, const struct object_state *state)
{
    struct text namespace_ = object_namespace(state->object);
    buffer_printf(out,
                  "<tr role=\"row\" class=\"%s\"><th role=\"rowheader\" scope=\"row\">"
                  "<span class=\"kind\">%s</span> ",
                  status_states[state->readiness], state->object->kind->name);
    if (namespace_.len) {
        html_add(out, namespace_);
        buffer_add_char(out, '/');
    }
    html_add(out, object_name(state->object));
    buffer_printf(out,
                  "</th><td role=\"cell\" data-label=\"State\"><span class=\"state\">%s"
                  "</span></td>",
                  state_names[state->readiness]);
    add_reason(out, state);
    html_open_cell(out, "Since");
    html_add_time(out, state->since_s);
    buffer_add_text(out, "</td></tr>\n");
}

static void add_objects(struct buffer *out, const struct objects *objects)
{
    static const char *const columns[] = {"Object", "State", "Reason", "Since (UTC)", NULL};
    size_t count = sum(objects->matches);
    AUTO_BUFFER caption = {0};
    html_write_range(&caption, "Objects", objects->query, count);
    html_open_table(out, caption.at, columns);
    for (size_t i = 0; i < objects->row_count; i++)
        add_object(out, &objects->rows[i]);
    html_close_table(out);
    html_add_pager(out, objects->query, count);
}

static bool check_query(const struct engine *engine, const struct status_query *query,
                        struct error *err)
{
    bool is_state = !*query->state;
    for (size_t i = 0; i < OBJECT_READINESSES; i++)
        is_state |= !strcmp(query->state, status_states[i]);
    if (!is_state)
        return error_set(err, FAULT_SPEC, "",
                         "there is no such state; it is not-ready, unknown, ready or over");
    return !*query->system || engine_runs(engine, query->system) ||
           error_set(err, FAULT_SPEC, "", "no system of that name runs here");
}

bool status_write_objects(struct engine *engine, const struct status_query *query,
                          struct status_contents *out, struct error *err)
{
    if (!check_query(engine, query, err))
        return false;
    autofree struct objects *objects = mem_new_of(struct objects);
    objects->query = query;
    engine_each_state(engine, count_state, objects);
    find_starts(objects);
    engine_each_state(engine, pick_state, objects);
    add_summary(&out->summary, objects);
    buffer_add_text(&out->body, "<div id=\"counts\" data-live>\n");
    add_counts(&out->body, objects);
    buffer_add_text(&out->body, "</div>\n");
    add_form(&out->body, objects);
    buffer_add_text(&out->body, "<div id=\"rows\" data-live>\n");
    add_objects(&out->body, objects);
    buffer_add_text(&out->body, "</div>\n");
    return true;
}
