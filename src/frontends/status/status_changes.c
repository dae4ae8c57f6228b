#include <string.h>

#include "base/when.h"
#include "frontends/status/html.h"
#include "frontends/status/status_tables.h"

static const struct {
    const char *name;
    enum object_readiness readiness;
} types[] = {
    [CHANGE_WAS_CREATED] = {"Created", OBJECT_READY},
    [CHANGE_WAS_UPDATED] = {"Updated", OBJECT_READY},
    [CHANGE_WAS_DELETED] = {"Deleted", OBJECT_READY},
    [CHANGE_HAS_FAILED] = {"Failed", OBJECT_NOT_READY},
    [CHANGE_HAS_ARRIVED] = {"At all servers", OBJECT_READY},
};

struct changes {
    struct buffer *out;
    size_t count;
    size_t failed;
};

static void add_result(struct buffer *out, const struct recent_change *change)
{
    buffer_printf(out, "<td role=\"cell\" data-label=\"Result\"><span class=\"state\">%s</span>",
                  types[change->type].name);
    if (change->times > 1)
        buffer_printf(out, " %u times", change->times);
    if (*change->error) {
        buffer_add_text(out, ": ");
        html_add(out, text_of(change->error));
    }
    buffer_add_text(out, "</td>");
}

static void add_took(struct buffer *out, int64_t took_ms)
{
    char span[WHEN_TEXT_MAX] = "-";
    if (took_ms >= 0)
        duration_write(took_ms, span);
    html_add_cell(out, "Took", text_of(span));
}

static void add_change(void *context, const struct recent_change *change)
{
    struct changes *changes = context;
    struct buffer *out = changes->out;
    const char *what = *change->what ? change->what : change->object;
    changes->count++;
    changes->failed += change->type == CHANGE_HAS_FAILED;
    buffer_printf(out, "<tr role=\"row\" class=\"%s\"><th role=\"rowheader\" scope=\"row\">",
                  status_states[types[change->type].readiness]);
    html_add(out, text_of(what));
    buffer_add_text(out, "</th>");
    add_result(out, change);
    add_took(out, change->took_ms);
    html_add_cell(out, "Backend", text_of(*change->backend ? change->backend : "-"));
    html_add_cell(out, "Object", text_of(*change->object ? change->object : "-"));
    html_open_cell(out, "At");
    html_add_time(out, change->at_ms / 1000);
    buffer_add_text(out, "</td></tr>\n");
}

void status_write_changes(struct engine *engine, struct status_contents *out)
{
    static const char *const columns[] = {"What",   "Result",   "Took", "Backend",
                                          "Object", "At (UTC)", NULL};
    AUTO_BUFFER rows = {0};
    struct changes changes = {.out = &rows};
    engine_each_recent_change(engine, add_change, &changes);
    buffer_printf(&out->summary, "The last %zu change%s, %zu of them failed.", changes.count,
                  changes.count == 1 ? "" : "s", changes.failed);
    buffer_add_text(&out->body, "<div id=\"rows\" data-live>\n");
    html_open_table(&out->body, "Last changes, the newest first", columns);
    buffer_add(&out->body, rows.at, rows.len);
    html_close_table(&out->body);
    buffer_add_text(&out->body, "</div>\n");
}
