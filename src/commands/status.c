#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/when.h"
#include "commands/commands.h"
#include "commands/follow.h"
#include "commands/setup.h"
#include "commands/status_live.h"
#include "commands/status_text.h"
#include "commands/status_watch.h"
#include "commands/view_source.h"

enum {
    DEBOUNCE_MS = 50, // a burst of writes is read once
    LOOK_MS = 500,    // without inotify
    ASK_MS = 2000,    // between two rounds of questions
    DNS_PORT = 53,
};

#define SCREEN_ENTER "\033[?1049h"
#define SCREEN_LEAVE "\033[?1049l"
#define SCREEN_HOME "\033[H\033[J"

struct status {
    struct invocation *invocation;
    struct view_source source;
    struct status_look look;
    struct loop *loop;
    struct dnsnet *net;
    struct hostport server;
    bool is_json;
    bool is_watching;
    bool is_screen; // redrawn in place
    struct view views[2];
    struct view *view; // the newest
    struct view *shown;
    struct ask *ask;
    struct follow *follow; // --watch --ask
    struct status_watch *watch;
    struct loop_timer timer;
    struct loop_timer next_timer;
    bool is_busy;
    bool is_due; // something changed while busy
    bool is_folder_watched;
    bool is_folder_lost; // told so; what was shown last still counts
    struct buffer last;  // what stands on the screen
    int code;
};

static void refresh(struct status *status);

// ---- telling ------------------------------------------------------------------------------------

static void put(struct status *status, const struct buffer *text)
{
    struct error err;
    if (print_out(text, &err))
        return;
    status->code = err.status == EPIPE ? 1 : command_fail(1, "%s", err.text);
    status->is_watching = false;
    loop_stop(status->loop);
}

static void add_time(struct status *status, struct buffer *out)
{
    char now[WHEN_TEXT_MAX];
    when_write(loop_unix_ms(status->loop) / 1000, now);
    buffer_printf(out, "%.8s  ", now + strlen("2026-01-02T"));
}

static bool is_same(const struct view_row *a, const struct view_row *b)
{
    AUTO_BUFFER left = {0};
    AUTO_BUFFER right = {0};
    status_write_line(&left, a);
    status_write_line(&right, b);
    return text_equal(buffer_text(&left), buffer_text(&right));
}

static bool has_fault(const struct view *view, const char *fault)
{
    for (size_t i = 0; view && i < view->fault_count; i++)
        if (!strcmp(view->faults[i], fault))
            return true;
    return false;
}

static void add_changed_rows(struct status *status, struct buffer *out)
{
    for (size_t i = 0; i < status->view->count; i++) {
        const struct view_row *row = &status->view->rows[i];
        const struct view_row *before = view_find(status->shown, row->object);
        if (before && is_same(before, row))
            continue;
        add_time(status, out);
        status_write_line(out, row);
        buffer_add_char(out, '\n');
    }
}

static void add_gone_rows(struct status *status, struct buffer *out)
{
    for (size_t i = 0; status->shown && i < status->shown->count; i++) {
        if (view_find(status->view, status->shown->rows[i].object))
            continue;
        add_time(status, out);
        buffer_printf(out, "%s  gone\n", status->shown->rows[i].object);
    }
}

// The faults of `view` that `other` does not have.
static void add_faults(struct status *status, struct buffer *out, const struct view *view,
                       const struct view *other, const char *word)
{
    for (size_t i = 0; view && i < view->fault_count; i++) {
        if (has_fault(other, view->faults[i]))
            continue;
        add_time(status, out);
        buffer_printf(out, "%s  ", word);
        text_clean(out, text_of(view->faults[i]), SIZE_MAX);
        buffer_add_char(out, '\n');
    }
}

static void report_changes(struct status *status)
{
    AUTO_BUFFER text = {0};
    add_changed_rows(status, &text);
    add_gone_rows(status, &text);
    add_faults(status, &text, status->view, status->shown, "refused");
    add_faults(status, &text, status->shown, status->view, "no longer refused");
    put(status, &text);
}

static size_t count_lines(const struct buffer *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->len; i++)
        lines += text->at[i] == '\n';
    return lines;
}

// On a screen, fewer rows until all of it fits; what is wrong stays longest.
static void write_table(struct status *status, struct buffer *out)
{
    struct status_look *look = &status->look;
    size_t rows = look->terminal.rows;
    look->rows_max = status->is_screen && rows > 1 ? rows - 1 : 0;
    status_write_table(out, status->view, look);
    while (look->rows_max > 1 && count_lines(out) >= rows) {
        size_t over = count_lines(out) - rows + 1;
        size_t shown = look->rows_max < status->view->count ? look->rows_max : status->view->count;
        look->rows_max = shown > over + 1 ? shown - over : 1;
        buffer_clear(out);
        status_write_table(out, status->view, look);
    }
}

static void write_view(struct status *status, struct buffer *out)
{
    status->look.terminal = terminal_of(STDOUT_FILENO);
    if (status->is_json)
        status_write_json(out, status->view, status->look.has_answers);
    else
        write_table(status, out);
}

static void redraw(struct status *status)
{
    AUTO_BUFFER text = {0};
    AUTO_BUFFER all = {0};
    write_view(status, &text);
    if (text_equal(buffer_text(&text), buffer_text(&status->last)))
        return;
    if (status->is_screen)
        buffer_add_text(&all, SCREEN_HOME);
    buffer_add(&all, text.at, text.len);
    put(status, &all);
    buffer_done(&status->last);
    status->last = (struct buffer){0};
    buffer_add(&status->last, text.at, text.len);
}

// A line for a screen that is narrower: what follows the time stands below itself.
static void wrap_line(struct buffer *line, size_t indent, unsigned columns)
{
    AUTO_BUFFER wrapped = {0};
    print_wrapped(&wrapped, line->at + indent, (unsigned)indent, columns);
    memcpy(wrapped.at, line->at, indent);
    buffer_done(line);
    *line = wrapped;
    wrapped = (struct buffer){0};
}

static void report_line(void *context, struct text line)
{
    struct status *status = context;
    AUTO_BUFFER text = {0};
    unsigned columns = terminal_of(STDOUT_FILENO).columns;
    add_time(status, &text);
    size_t indent = text.len;
    buffer_add(&text, line.at, line.len);
    buffer_add_char(&text, '\n');
    if (columns && indent + print_columns(line) > columns)
        wrap_line(&text, indent, columns);
    put(status, &text);
}

static void follow_changes(struct status *status)
{
    if (!status->shown) {
        redraw(status);
        report_line(status, TEXT("watching, times are UTC; Ctrl-C ends it"));
    }
    follow_look(status->follow, status->shown, status->view);
}

static void show(struct status *status)
{
    status->code = view_is_right(status->view) ? 0 : 1;
    if (status->follow)
        follow_changes(status);
    else if (status->is_watching && !status->is_json && !status->is_screen)
        report_changes(status);
    else
        redraw(status);
    status->shown = status->view;
}

// ---- rounds -------------------------------------------------------------------------------------

static void end_round(struct status *status)
{
    show(status);
    status->is_busy = false;
    if (!status->is_watching) {
        loop_stop(status->loop);
        return;
    }
    if (status->is_due)
        loop_timer_set(status->loop, &status->timer, DEBOUNCE_MS);
    if (!status->is_folder_watched)
        loop_timer_set(status->loop, &status->next_timer, LOOK_MS);
    else if (status->look.has_answers)
        loop_timer_set(status->loop, &status->next_timer, ASK_MS);
}

static void answered(void *context)
{
    struct status *status = context;
    ask_free(status->ask);
    status->ask = NULL;
    end_round(status);
}

static void fail(struct status *status, const struct error *err)
{
    status->code = command_fail(2, "%s", err->text);
    loop_stop(status->loop);
}

// On a screen the line stands below what was shown, until that is drawn anew.
static void report_folder(struct status *status, const struct buffer *line)
{
    if (status->is_json)
        (void)command_fail(2, "%s", line->at);
    else
        report_line(status, buffer_text(line));
}

// Whoever replaces the folder moves it away first: it may be back in a moment.
static void lose_folder(struct status *status, const struct error *err)
{
    if (!status->is_watching || !status->shown) {
        fail(status, err);
        return;
    }
    AUTO_BUFFER line = {0};
    buffer_printf(&line, "the folder cannot be read, waiting for it: %s", err->text);
    if (!status->is_folder_lost)
        report_folder(status, &line);
    status->is_folder_lost = true;
    status->is_folder_watched = false;
    status->is_busy = false;
    status->code = 2;
    loop_timer_set(status->loop, &status->next_timer, LOOK_MS);
}

static void find_folder(struct status *status)
{
    AUTO_BUFFER line = {0};
    if (!status->is_folder_lost)
        return;
    status->is_folder_lost = false;
    buffer_clear(&status->last);
    buffer_printf(&line, "%s is back", status->source.folder.dir);
    report_folder(status, &line);
}

// Before the folder is read: what changes from here on is heard of.
static void watch_folders(struct status *status)
{
    if (status->is_watching)
        status->is_folder_watched = status_watch_folders(status->watch, &status->source.folder);
}

static struct ask_options ask_options(struct status *status)
{
    return (struct ask_options){.loop = status->loop,
                                .net = status->net,
                                .random = random_system(),
                                .server = status->server};
}

static void ask_all(struct status *status)
{
    const struct ask_options options = ask_options(status);
    status->ask = ask_new(&options, status->view, answered, status);
}

static bool add_backends(struct status *status, struct view *view)
{
    struct error err;
    if (!option_flag(status->invocation, "live"))
        return true;
    if (!status_add_backends(view, status->invocation, &err)) {
        fail(status, &err);
        return false;
    }
    view_close(view);
    return true;
}

static void viewed(struct status *status, struct view *view)
{
    status->view = view;
    if (!add_backends(status, view))
        return;
    if (!status->look.has_answers || (status->follow && status->shown))
        end_round(status);
    else
        ask_all(status);
}

static void refresh(struct status *status)
{
    struct error err;
    struct view *view = status->view == &status->views[0] ? &status->views[1] : &status->views[0];
    status->is_busy = true;
    status->is_due = false;
    ask_free(status->ask);
    status->ask = NULL;
    watch_folders(status);
    view_done(view);
    if (!view_read(view, &status->source.folder, &err)) {
        lose_folder(status, &err);
        return;
    }
    find_folder(status);
    viewed(status, view);
}

static void begin(struct status *status)
{
    struct error err;
    if (!status->source.place.is_cluster)
        refresh(status);
    else if (view_source_read(&status->source, status->loop, &status->views[0], &err))
        viewed(status, &status->views[0]);
    else
        fail(status, &err);
}

static void due(void *context)
{
    struct status *status = context;
    if (status->is_busy)
        status->is_due = true;
    else
        refresh(status);
}

static void due_again(void *context)
{
    struct status *status = context;
    bool is_asking = status->follow && status->is_folder_watched && !status->is_busy;
    if (!is_asking)
        due(status);
    else if (follow_is_busy(status->follow))
        loop_timer_set(status->loop, &status->next_timer, ASK_MS);
    else if (!status->ask)
        ask_all(status);
}

static bool is_folder_of_rows(void *context, const char *path)
{
    const struct status *status = context;
    const struct save save = {.path = path};
    for (size_t i = 0; status->shown && i < status->shown->count; i++)
        if (strcmp(path, status->shown->rows[i].path) != 0 &&
            follow_save_covers(&save, status->shown->rows[i].path))
            return true;
    return false;
}

static void note_save(void *context, const struct save *save)
{
    const struct status *status = context;
    follow_saved(status->follow, save);
}

static void changed(void *context)
{
    struct status *status = context;
    loop_timer_set(status->loop, &status->timer, DEBOUNCE_MS);
}

static void leave(void *context)
{
    struct status *status = context;
    loop_stop(status->loop);
}

// ---- opening ------------------------------------------------------------------------------------

static bool read_options(struct status *status, struct error *err)
{
    struct invocation *invocation = status->invocation;
    const char *ask = option_text(invocation, "ask");
    status->is_json = !strcmp(option_text(invocation, "output"), "json");
    status->is_watching = option_flag(invocation, "watch");
    status->is_screen = status->is_watching && !status->is_json && !ask && isatty(STDOUT_FILENO);
    status->look.dir = status->source.place.is_cluster ? "the cluster" : status->source.folder.dir;
    status->look.server = ask;
    status->look.has_answers = ask != NULL;
    if (status->source.place.is_cluster && status->is_watching)
        return error_set(err, FAULT_SPEC, "",
                         "--watch follows a folder; in a cluster `kubectl get -w` does");
    if (option_flag(invocation, "live") && status->is_watching)
        return error_set(err, FAULT_SPEC, "", "--live looks once: it goes without --watch");
    if (ask && !hostport_parse(&status->server, text_of(ask), DNS_PORT, false, err))
        return error_prefix(err, "%s: \"%s\": ", option_source(invocation, "ask"), ask);
    return true;
}

static void open_watch(struct status *status)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    const struct status_watch_calls calls = {.changed = changed,
                                             .saved = note_save,
                                             .has_rows_below = is_folder_of_rows,
                                             .context = status};
    if (!status->is_watching)
        return;
    status->watch = status_watch_new(status->loop, &calls);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        loop_watch_signal(status->loop, numbers[i], leave, status);
}

static void open_follow(struct status *status)
{
    const struct ask_options options = ask_options(status);
    if (!status->is_watching || status->is_json || !status->look.has_answers)
        return;
    if (status_watch_saves(status->watch, status->source.folder.dir))
        status->follow = follow_new(&options, report_line, status);
}

static void enter_screen(struct status *status)
{
    AUTO_BUFFER text = {0};
    buffer_add_text(&text, SCREEN_ENTER);
    if (status->is_screen)
        put(status, &text);
}

// What was seen last stays on the terminal.
static void leave_screen(struct status *status)
{
    AUTO_BUFFER text = {0};
    if (!status->is_screen)
        return;
    buffer_add_text(&text, SCREEN_LEAVE);
    buffer_add(&text, buffer_text(&status->last).at, status->last.len);
    put(status, &text);
}

static void status_open(struct status *status)
{
    status->loop = loop_new();
    status->net = dnsnet_new(status->loop);
    status->timer = (struct loop_timer){.call = due, .context = status};
    status->next_timer = (struct loop_timer){.call = due_again, .context = status};
    for (size_t i = 0; i < COUNT_OF(status->views); i++)
        status->views[i].arena = arena_new();
    open_watch(status);
    open_follow(status);
}

static void status_close(struct status *status)
{
    ask_free(status->ask);
    follow_free(status->follow);
    loop_timer_cancel(status->loop, &status->timer);
    loop_timer_cancel(status->loop, &status->next_timer);
    status_watch_free(status->watch);
    for (size_t i = 0; i < COUNT_OF(status->views); i++) {
        view_done(&status->views[i]);
        arena_free(status->views[i].arena);
    }
    buffer_done(&status->last);
    dnsnet_free(status->net);
    loop_free(status->loop);
}

static int status_run(struct invocation *invocation)
{
    struct status status = {.invocation = invocation};
    struct error err;
    if (!view_source_init(&status.source, invocation, &err) || !read_options(&status, &err))
        return command_fail(2, "%s", err.text);
    status_open(&status);
    enter_screen(&status);
    begin(&status);
    loop_run(status.loop);
    leave_screen(&status);
    status_close(&status);
    return status.code;
}

static const char *const outputs[] = {"text", "json", NULL};

static const struct option status_rows[] = {
    TIMEOUT_OPTION("30s", "How long a cluster may take to list its objects."),
    FILENAME_OPTION,
    {.name = "watch",
     .letter = 'w',
     .type = OPTION_FLAG,
     .doc = "On a folder: go on until Ctrl-C: redraw on a terminal, else print what changes. With "
            "--ask: a line "
            "for each change, with the time from the save of its manifest to the answer."},
    {.name = "live",
     .type = OPTION_FLAG,
     .doc = "Besides, log in to each Pi-hole as a visitor and show whether it can be worked with. "
            "Nothing is written."},
    {.name = "ask",
     .type = OPTION_TEXT,
     .placeholder = "ADDR:PORT",
     .doc = "Ask this name server for every record, without recursion, and compare. Port 53 when "
            "none is given."},
    OUTPUT_OPTION(outputs,
                  "A table, or one JSON document (with --watch: one a line for each change)."),
};

extern const struct command status_command;
const struct command status_command = {
    .name = "status",
    .summary = "show objects, whether they are published, and why not",
    .positional = "[PATH]",
    .path_option = "dir",
    .doc = "Reads the manifests and the status files beside them, or the objects of a cluster; "
           "`signpost run` need not be running, and is not asked. Below a Zone stands what each "
           "of its servers answers. Of an Ingress whose names go to Pi-holes its annotations say "
           "which names it wants, in which of them, and what keeps one out; --live looks at the "
           "Pi-holes themselves.\n\n"
           "Of a cluster it reads what you may list, in the namespaces that --namespaces (-n) "
           "names or in all; where you may not list all, in that of the kubeconfig's context; "
           "with --controllers only what these look at. What is left out for want of a right of "
           "yours is named on stderr.\n\n"
           "--output json prints one document: \"objects\", a list of maps with \"kind\", "
           "\"namespace\", \"name\", \"file\", \"what\", \"ready\", \"reason\", \"message\" (null "
           "where nothing is known) and \"right\"; \"refused\", manifests that are; and how many "
           "are \"ready\".",
    .exit_docs =
        {
            "all objects are Ready, nothing is refused, and with --ask every answer is as declared "
            "and each zone is served: by a group of servers, through a ZoneFile, or by the server "
            "that is asked",
            "something is not so",
            "an argument is wrong, or the objects cannot be read",
        },
    .examples = "signpost status ./manifests\n"
                "signpost status --watch --ask 127.0.0.1:5353\n"
                "signpost status --kubeconfig ~/.kube/config --namespaces web\n"
                "signpost status --output json | jq '.objects[] | select(.right | not)'\n",
    .groups = {{status_rows, COUNT_OF(status_rows), false},
               SETUP_OPTION_GROUPS,
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .has_settings = true,
    .run = status_run,
};
