#include "commands/status_text.h"

#include <limits.h>
#include <string.h>

#include "base/value.h"

enum {
    SHOWN_OCTETS_MAX = 4096,
    SHRUNK_COLUMNS_MIN = 12,
    GAP = 2,
    BELOW_INDENT = 4,
    SCREEN_FAULTS_MAX = 3
};

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
    if (!*row->answer_text)
        return;
    buffer_add_text(out, ": ");
    print_cut(out, text_of(row->answer_text), PRINT_ANSWER_COLUMNS);
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

// What stands in columns, and what stands below the rows that need it.
enum fit {
    FIT_ALL,
    FIT_MOST,   // messages below
    FIT_NARROW, // reasons and answers below, too
};

struct layout {
    const struct view *view;
    const struct status_look *look;
    size_t widths[COLUMNS]; // 0: not shown
    enum fit fit;
};

static bool is_wrong(const struct view_row *row)
{
    return !row->is_right || (row->answer != ANSWER_NOT_ASKED && row->answer != ANSWER_OK);
}

static void write_shown(struct buffer *out, const struct layout *layout, const struct view_row *row,
                        enum column column)
{
    if (layout->fit == FIT_NARROW && column == ANSWER)
        buffer_add_text(out, answers[row->answer].text);
    else
        write_cell(out, row, column);
}

// Messages of what is right say nothing new: they may be cut.
static size_t widest(const struct layout *layout, enum column column)
{
    size_t width = strlen(headings[column]);
    for (size_t i = 0; i < layout->view->count; i++) {
        AUTO_BUFFER cell = {0};
        if (column == MESSAGE && !is_wrong(&layout->view->rows[i]))
            continue;
        write_shown(&cell, layout, &layout->view->rows[i], column);
        size_t wanted = print_columns(buffer_text(&cell));
        width = wanted > width ? wanted : width;
    }
    return width;
}

static bool is_shown(const struct layout *layout, enum column column)
{
    static const bool is_below[][COLUMNS] = {
        [FIT_MOST] = {[MESSAGE] = true},
        [FIT_NARROW] = {[MESSAGE] = true, [REASON] = true},
    };
    if (column == ANSWER)
        return layout->look->has_answers;
    return layout->fit == FIT_ALL || !is_below[layout->fit][column];
}

static size_t measure(struct layout *layout)
{
    size_t used = 0;
    for (enum column column = 0; column < COLUMNS; column++) {
        layout->widths[column] = is_shown(layout, column) ? widest(layout, column) : 0;
        used += layout->widths[column] ? layout->widths[column] + (used ? GAP : 0) : 0;
    }
    return used;
}

static void shrink(struct layout *layout, enum column column, size_t *used)
{
    size_t over = *used - layout->look->terminal.columns;
    size_t spare = layout->widths[column] > SHRUNK_COLUMNS_MIN
                       ? layout->widths[column] - SHRUNK_COLUMNS_MIN
                       : 0;
    size_t less = over < spare ? over : spare;
    layout->widths[column] -= less;
    *used -= less;
}

static void choose_layout(struct layout *layout)
{
    size_t columns = layout->look->terminal.columns;
    size_t used = measure(layout);
    for (; columns && used > columns && layout->fit < FIT_NARROW; used = measure(layout))
        layout->fit++;
    static const enum column soft[] = {WHAT, OBJECT};
    for (size_t i = 0; columns && i < COUNT_OF(soft) && used > columns; i++)
        shrink(layout, soft[i], &used);
}

static bool is_last(const struct layout *layout, enum column column)
{
    for (enum column next = column + 1; next < COLUMNS; next++)
        if (layout->widths[next])
            return false;
    return true;
}

// The last one takes what is left of the line.
static void add_cell(struct buffer *out, const struct layout *layout, enum column column,
                     struct text text, const char *colour, size_t *at)
{
    const struct terminal *terminal = &layout->look->terminal;
    bool has_colour = terminal->has_colour && *colour;
    bool is_end = is_last(layout, column);
    size_t width = layout->widths[column];
    if (is_end)
        width = !terminal->columns        ? SIZE_MAX
                : terminal->columns > *at ? terminal->columns - *at
                                          : 0;
    AUTO_BUFFER cell = {0};
    print_cut(&cell, text, width);
    if (has_colour)
        buffer_add_text(out, colour);
    buffer_add(out, cell.at, cell.len);
    if (has_colour)
        buffer_add_text(out, "\033[0m");
    *at += layout->widths[column] + GAP;
    if (!is_end)
        buffer_printf(out, "%*s", (int)(width + GAP - print_columns(buffer_text(&cell))), "");
}

static void add_headings(struct buffer *out, const struct layout *layout)
{
    size_t at = 0;
    for (enum column column = 0; column < COLUMNS; column++)
        if (layout->widths[column])
            add_cell(out, layout, column, text_of(headings[column]), "\033[1m", &at);
    buffer_add_char(out, '\n');
}

static void add_below(struct buffer *out, const struct layout *layout, const struct view_row *row)
{
    AUTO_BUFFER message = {0};
    AUTO_BUFFER answer = {0};
    unsigned columns = layout->look->terminal.columns;
    bool is_narrow = layout->fit == FIT_NARROW;
    if (is_narrow)
        write_cell(&message, row, REASON);
    buffer_add_text(&message, is_narrow ? ": " : "");
    write_cell(&message, row, MESSAGE);
    write_cell(&answer, row, ANSWER);
    if (!row->is_right)
        print_wrapped(out, message.at, BELOW_INDENT, columns);
    if (is_narrow && row->answer != ANSWER_NOT_ASKED && row->answer != ANSWER_OK)
        print_wrapped(out, answer.at, BELOW_INDENT, columns);
}

static void add_note(struct buffer *out, const struct layout *layout, const char *before,
                     const char *text)
{
    unsigned columns = layout->look->terminal.columns;
    AUTO_BUFFER line = {0};
    buffer_add_text(&line, before);
    text_clean(&line, text_of(text), SHOWN_OCTETS_MAX);
    print_wrapped(out, line.at, BELOW_INDENT, columns ? columns : UINT_MAX);
}

static void add_notes(struct buffer *out, const struct layout *layout, const struct view_row *row)
{
    for (size_t i = 0; row->servers && row->servers[i]; i++)
        add_note(out, layout, "", row->servers[i]);
    if (row->warning)
        add_note(out, layout, "warning: ", row->warning);
}

static void add_row(struct buffer *out, const struct layout *layout, const struct view_row *row)
{
    size_t at = 0;
    for (enum column column = 0; column < COLUMNS; column++) {
        AUTO_BUFFER cell = {0};
        if (!layout->widths[column])
            continue;
        write_shown(&cell, layout, row, column);
        add_cell(out, layout, column, buffer_text(&cell), colour_of(row, column), &at);
    }
    buffer_add_char(out, '\n');
    if (layout->fit != FIT_ALL)
        add_below(out, layout, row);
    add_notes(out, layout, row);
}

// ---- table --------------------------------------------------------------------------------------

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

static const char *what_stays(const struct view *view)
{
    size_t good = 0;
    bool is_all = true;
    for (size_t i = 0; i < view->count; i++)
        is_all = is_all && (!view->rows[i].is_refused || view->rows[i].has_good);
    for (size_t i = 0; i < view->fault_count; i++)
        good += view_has_good(view, view->faults[i]);
    if (!good)
        return "nothing of what is refused is published";
    return is_all && good == view->fault_count ? "their last good objects stay"
                                               : "last good objects stay where there are any";
}

static void add_faults(struct buffer *out, const struct layout *layout)
{
    const struct view *view = layout->view;
    unsigned columns = layout->look->terminal.columns;
    size_t shown = view->fault_count;
    if (layout->look->rows_max && shown > SCREEN_FAULTS_MAX)
        shown = SCREEN_FAULTS_MAX;
    if (shown)
        buffer_printf(out, "\nRefused manifests; %s:\n", what_stays(view));
    for (size_t i = 0; i < shown; i++) {
        AUTO_BUFFER clean = {0};
        text_clean(&clean, text_of(view->faults[i]), SHOWN_OCTETS_MAX);
        print_wrapped(out, buffer_text(&clean).at, GAP, columns ? columns : UINT_MAX);
    }
    if (shown < view->fault_count)
        buffer_printf(out, "  and %zu more\n", view->fault_count - shown);
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
    unsigned columns = layout->look->terminal.columns;
    AUTO_BUFFER text = {0};
    print_count(&text, view->count, "object");
    buffer_printf(&text, ": %zu ready, %zu not", view_ready(view), view->count - view_ready(view));
    if (view->fault_count) {
        buffer_add_text(&text, "; ");
        print_count(&text, view->fault_count, "fault");
        buffer_add_text(&text, " in manifests");
    }
    if (layout->look->has_answers)
        buffer_printf(&text, "; %s answers %zu as declared, %zu not", layout->look->server,
                      count_answers(view, true), count_answers(view, false));
    print_wrapped(out, text.at, 0, columns ? columns : UINT_MAX);
}

void status_write_table(struct buffer *out, const struct view *view, const struct status_look *look)
{
    struct layout layout = {.view = view, .look = look};
    if (!view->count && !view->fault_count) {
        buffer_printf(out, "no objects in %s\n", look->dir);
        return;
    }
    choose_layout(&layout);
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
    for (size_t i = 0; row->servers && row->servers[i]; i++) {
        buffer_add_text(out, i ? ", " : "  ");
        text_clean(out, text_of(row->servers[i]), SHOWN_OCTETS_MAX);
    }
}

// ---- JSON ---------------------------------------------------------------------------------------

static void set_text(struct view *view, struct value *map, const char *key, const char *text)
{
    value_set(map, text_of(key), value_make_text(view->arena, text_of(text)));
}

// null where nothing is known.
static void set_known(struct view *view, struct value *map, const char *key, const char *text)
{
    bool is_known = *text && strcmp(text, "-") != 0;
    value_set(map, text_of(key),
              is_known ? value_make_text(view->arena, text_of(text))
                       : value_make(view->arena, VALUE_NULL));
}

// As they stand in its status.
static void add_zone(struct view *view, struct value *map, const struct view_row *row)
{
    static const char *const keys[] = {"serial", "servers"};
    const struct value *status = value_find(row->tree, "status");
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct value *value = value_find(status, keys[i]);
        if (value)
            value_set(map, text_of(keys[i]), value_copy(view->arena, value));
    }
}

static struct value *make_row(struct view *view, const struct view_row *row, bool has_answers)
{
    struct value *map = value_make(view->arena, VALUE_MAP);
    set_text(view, map, "kind", row->kind->name);
    set_text(view, map, "namespace", row->namespace_);
    set_text(view, map, "name", row->name);
    set_known(view, map, "file", row->path);
    set_known(view, map, "what", row->what);
    set_known(view, map, "ready", row->ready);
    set_known(view, map, "reason", row->reason);
    set_known(view, map, "message", row->message);
    value_set(map, TEXT("right"), value_make_bool(view->arena, !is_wrong(row)));
    if (row->warning)
        set_text(view, map, "warning", row->warning);
    if (row->servers)
        add_zone(view, map, row);
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
