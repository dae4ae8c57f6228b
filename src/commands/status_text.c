#include "commands/status_text.h"

#include <string.h>

#include "base/value.h"

enum { SHOWN_OCTETS_MAX = 4096, MESSAGE_COLUMNS_MIN = 40, GAP = 2, UNDER_INDENT = 4 };

enum column { OBJECT, WHAT, READY, REASON, ANSWER, MESSAGE, COLUMNS };
static const char *const headings[COLUMNS] = {
    [OBJECT] = "OBJECT", [WHAT] = "WHAT",     [READY] = "READY",
    [REASON] = "REASON", [ANSWER] = "ANSWER", [MESSAGE] = "MESSAGE",
};

static const struct {
    const char *name; // in JSON
    const char *text; // in front of what was answered
    const char *colour;
} answers[] = {
    [ANSWER_NOT_ASKED] = {"", "-", ""},
    [ANSWER_OK] = {"ok", "ok", "\033[32m"},
    [ANSWER_DIFFERS] = {"differs", "differs", "\033[31m"},
    [ANSWER_NONE] = {"none", "none", "\033[31m"},
    [ANSWER_FAILED] = {"failed", "failed", "\033[31m"},
};

// ---- cells --------------------------------------------------------------------------------------

static void write_answer(struct buffer *out, const struct view_row *row)
{
    buffer_add_text(out, answers[row->answer].text);
    if (*row->answer_text)
        buffer_printf(out, ": %s", row->answer_text);
}

static void write_cell(struct buffer *out, const struct view_row *row, enum column column)
{
    AUTO_BUFFER raw = {0};
    const char *texts[COLUMNS] = {[OBJECT] = row->object,
                                  [WHAT] = *row->what ? row->what : "-",
                                  [READY] = row->ready,
                                  [REASON] = row->reason,
                                  [MESSAGE] = row->message};
    if (column == ANSWER)
        write_answer(&raw, row);
    else
        buffer_add_text(&raw, texts[column]);
    text_clean(out, buffer_text(&raw), SHOWN_OCTETS_MAX);
}

static const char *colour_of(const struct view_row *row, enum column column)
{
    static const struct {
        const char *ready;
        const char *colour;
    } states[] = {{"True", "\033[32m"}, {"False", "\033[31m"}, {"Unknown", "\033[33m"}};
    if (column == ANSWER)
        return answers[row->answer].colour;
    for (size_t i = 0; column == READY && i < COUNT_OF(states); i++)
        if (!strcmp(states[i].ready, row->ready))
            return states[i].colour;
    return "";
}

// ---- layout -------------------------------------------------------------------------------------

struct layout {
    const struct view *view;
    const struct status_look *look;
    size_t widths[COLUMNS]; // 0: not shown
    bool is_under;          // messages of what is not right stand below their row
};

static size_t width_of(const struct view_row *row, enum column column)
{
    AUTO_BUFFER cell = {0};
    write_cell(&cell, row, column);
    return print_columns(buffer_text(&cell));
}

static void measure(struct layout *layout)
{
    size_t used = 0;
    for (enum column column = 0; column < COLUMNS; column++) {
        if (column == ANSWER && !layout->look->has_answers)
            continue;
        size_t width = strlen(headings[column]);
        for (size_t i = 0; i < layout->view->count; i++) {
            size_t wanted = width_of(&layout->view->rows[i], column);
            width = wanted > width ? wanted : width;
        }
        layout->widths[column] = width;
        used += column == MESSAGE ? 0 : width + GAP;
    }
    unsigned columns = layout->look->terminal.columns;
    bool fits = !columns || used + layout->widths[MESSAGE] <= columns ||
                used + MESSAGE_COLUMNS_MIN <= columns;
    layout->is_under = !fits;
    if (layout->is_under)
        layout->widths[MESSAGE] = 0;
}

static bool is_last(const struct layout *layout, enum column column)
{
    for (enum column next = column + 1; next < COLUMNS; next++)
        if (layout->widths[next])
            return false;
    return true;
}

static void add_cell(struct buffer *out, const struct layout *layout, enum column column,
                     struct text text, const char *colour, size_t *at)
{
    const struct terminal *terminal = &layout->look->terminal;
    size_t left = !terminal->columns        ? SIZE_MAX
                  : terminal->columns > *at ? terminal->columns - *at
                                            : 0;
    size_t used = print_columns(text) < left ? print_columns(text) : left;
    bool has_colour = terminal->has_colour && *colour;
    if (has_colour)
        buffer_add_text(out, colour);
    print_cut(out, text, left);
    if (has_colour)
        buffer_add_text(out, "\033[0m");
    *at += layout->widths[column] + GAP;
    if (is_last(layout, column) || left <= layout->widths[column] + GAP)
        return;
    buffer_printf(out, "%*s", (int)(layout->widths[column] + GAP - used), "");
}

static void add_headings(struct buffer *out, const struct layout *layout)
{
    size_t at = 0;
    for (enum column column = 0; column < COLUMNS; column++)
        if (layout->widths[column])
            add_cell(out, layout, column, text_of(headings[column]), "\033[1m", &at);
    buffer_add_char(out, '\n');
}

static void add_under(struct buffer *out, const struct layout *layout, const struct view_row *row)
{
    AUTO_BUFFER message = {0};
    unsigned columns = layout->look->terminal.columns;
    write_cell(&message, row, MESSAGE);
    if (row->is_right || !message.len || columns <= UNDER_INDENT)
        return;
    buffer_printf(out, "%*s", UNDER_INDENT, "");
    print_cut(out, buffer_text(&message), columns - UNDER_INDENT);
    buffer_add_char(out, '\n');
}

static void add_row(struct buffer *out, const struct layout *layout, const struct view_row *row)
{
    size_t at = 0;
    for (enum column column = 0; column < COLUMNS; column++) {
        AUTO_BUFFER cell = {0};
        if (!layout->widths[column])
            continue;
        write_cell(&cell, row, column);
        add_cell(out, layout, column, buffer_text(&cell), colour_of(row, column), &at);
    }
    while (out->len && out->at[out->len - 1] == ' ')
        out->at[--out->len] = '\0';
    buffer_add_char(out, '\n');
    if (layout->is_under)
        add_under(out, layout, row);
}

// ---- table --------------------------------------------------------------------------------------

static bool is_wrong(const struct view_row *row)
{
    return !row->is_right || (row->answer != ANSWER_NOT_ASKED && row->answer != ANSWER_OK);
}

static void add_rows(struct buffer *out, const struct layout *layout)
{
    const struct view *view = layout->view;
    size_t max = layout->look->rows_max;
    size_t shown = 0;
    bool is_bounded = max && view->count > max;
    for (int wrong = 1; wrong >= 0; wrong--) {
        for (size_t i = 0; i < view->count; i++) {
            bool is_turn = !is_bounded ? wrong : is_wrong(&view->rows[i]) == wrong;
            if (is_turn && (!is_bounded || shown++ < max))
                add_row(out, layout, &view->rows[i]);
        }
    }
    if (is_bounded)
        buffer_printf(out, "and %zu more\n", view->count - max);
}

static void add_faults(struct buffer *out, const struct layout *layout)
{
    const struct view *view = layout->view;
    unsigned columns = layout->look->terminal.columns;
    if (view->fault_count)
        buffer_add_text(out, "\nRefused; the last good objects stay:\n");
    for (size_t i = 0; i < view->fault_count; i++) {
        AUTO_BUFFER clean = {0};
        text_clean(&clean, text_of(view->faults[i]), SHOWN_OCTETS_MAX);
        buffer_add_text(out, "  ");
        print_cut(out, buffer_text(&clean), columns > 2 ? columns - 2 : SIZE_MAX);
        buffer_add_char(out, '\n');
    }
}

static size_t count_answers(const struct view *view, bool is_ok)
{
    size_t count = 0;
    for (size_t i = 0; i < view->count; i++)
        count += view->rows[i].answer != ANSWER_NOT_ASKED &&
                 (view->rows[i].answer == ANSWER_OK) == is_ok;
    return count;
}

static void add_summary(struct buffer *out, const struct layout *layout)
{
    const struct view *view = layout->view;
    print_count(out, view->count, "object");
    buffer_printf(out, ": %zu ready, %zu not", view_ready(view), view->count - view_ready(view));
    if (view->fault_count) {
        buffer_add_text(out, "; ");
        print_count(out, view->fault_count, "fault");
        buffer_add_text(out, " in manifests");
    }
    if (layout->look->has_answers)
        buffer_printf(out, "; %s answers %zu as declared, %zu not", layout->look->server,
                      count_answers(view, true), count_answers(view, false));
    buffer_add_char(out, '\n');
}

void status_write_table(struct buffer *out, const struct view *view, const struct status_look *look)
{
    struct layout layout = {.view = view, .look = look};
    if (!view->count && !view->fault_count) {
        buffer_printf(out, "no objects in %s\n", look->dir);
        return;
    }
    measure(&layout);
    if (view->count) {
        add_headings(out, &layout);
        add_rows(out, &layout);
    }
    add_faults(out, &layout);
    buffer_add_char(out, '\n');
    add_summary(out, &layout);
}

void status_write_line(struct buffer *out, const struct view_row *row)
{
    for (enum column column = 0; column < COLUMNS; column++) {
        if (column == ANSWER && row->answer == ANSWER_NOT_ASKED)
            continue;
        if (column == MESSAGE && row->is_right)
            continue;
        if (column)
            buffer_add_text(out, "  ");
        write_cell(out, row, column);
    }
}

// ---- JSON ---------------------------------------------------------------------------------------

static void set_text(struct view *view, struct value *map, const char *key, const char *text)
{
    value_set(map, text_of(key), value_make_text(view->arena, text_of(text)));
}

static struct value *make_row(struct view *view, const struct view_row *row, bool has_answers)
{
    struct value *map = value_make(view->arena, VALUE_MAP);
    set_text(view, map, "kind", row->kind->name);
    set_text(view, map, "namespace", row->namespace_);
    set_text(view, map, "name", row->name);
    set_text(view, map, "file", row->path);
    set_text(view, map, "what", row->what);
    set_text(view, map, "ready", row->ready);
    set_text(view, map, "reason", row->reason);
    set_text(view, map, "message", row->message);
    value_set(map, TEXT("right"), value_make_bool(view->arena, !is_wrong(row)));
    if (has_answers && row->answer != ANSWER_NOT_ASKED) {
        set_text(view, map, "answer", answers[row->answer].name);
        set_text(view, map, "answered", row->answer_text);
    }
    return map;
}

void status_write_json(struct buffer *out, struct view *view, bool has_answers)
{
    struct value *root = value_make(view->arena, VALUE_MAP);
    struct value *objects = value_make(view->arena, VALUE_LIST);
    struct value *refused = value_make(view->arena, VALUE_LIST);
    for (size_t i = 0; i < view->count; i++)
        value_append(objects, make_row(view, &view->rows[i], has_answers));
    for (size_t i = 0; i < view->fault_count; i++)
        value_append(refused, value_make_text(view->arena, text_of(view->faults[i])));
    value_set(root, TEXT("objects"), objects);
    value_set(root, TEXT("refused"), refused);
    value_set(root, TEXT("ready"), value_make_int(view->arena, (int64_t)view_ready(view)));
    value_write_json(out, root);
    buffer_add_char(out, '\n');
}
