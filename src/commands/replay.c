#include "engine/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/when.h"
#include "commands/commands.h"
#include "commands/print.h"
#include "commands/recording.h"
#include "io/disk.h"
#include "kinds/kinds.h"

enum { DIFFERENCES_MAX = 8, VALUE_OCTETS_MAX = 160 };

static const struct option rows[] = {
    {.name = "object",
     .type = OPTION_TEXT,
     .placeholder = "[NAMESPACE/]NAME",
     .doc = "Only the reconciliations of that object are told of."},
    {.name = "controller",
     .type = OPTION_TEXT,
     .placeholder = "NAME",
     .doc = "Only those of that controller."},
    {.name = "trace",
     .type = OPTION_TEXT,
     .placeholder = "TRACE",
     .doc = "Only the one that log lines name so."},
    {.name = "show",
     .type = OPTION_FLAG,
     .doc = "Print what each of them saw and decided, as YAML. Where an object is seen, its number "
            "stands."},
};

struct replaying {
    const struct invocation *invocation;
    struct buffer out;
    struct recorded_settings **settings; // as they were, one after another
    size_t setting_count;
    size_t setting_capacity;
    size_t count; // reconciliations that were asked for
    size_t differ;
};

// ---- what differs -------------------------------------------------------------------------------

struct comparison {
    struct buffer *out;
    size_t left; // differences that are still told
};

static void add_shown(struct buffer *out, const struct value *value)
{
    AUTO_BUFFER json = {0};
    if (!value) {
        buffer_add_text(out, "nothing");
        return;
    }
    value_write_json(&json, value);
    text_clean(out, buffer_text(&json), VALUE_OCTETS_MAX);
    if (json.len > VALUE_OCTETS_MAX)
        buffer_add_text(out, "...");
}

static void add_difference(struct comparison *comparison, const char *path, const struct value *was,
                           const struct value *is)
{
    if (!comparison->left || !--comparison->left)
        return;
    buffer_add_text(comparison->out, "  ");
    text_clean(comparison->out, text_of(path), SIZE_MAX);
    buffer_add_text(comparison->out, ": recorded ");
    add_shown(comparison->out, was);
    buffer_add_text(comparison->out, ", now ");
    add_shown(comparison->out, is);
    buffer_add_char(comparison->out, '\n');
}

static void compare(struct comparison *comparison, const char *path, const struct value *was,
                    const struct value *is);

static void compare_maps(struct comparison *comparison, const char *path, const struct value *was,
                         const struct value *is)
{
    value_each (item, was) {
        AUTO_BUFFER below = {0};
        buffer_printf(&below, "%s%s%.*s", path, *path ? "." : "", TEXT_ARGS(item->key));
        compare(comparison, below.at, item, value_find_text(is, item->key));
    }
    value_each (item, is) {
        AUTO_BUFFER below = {0};
        buffer_printf(&below, "%s%s%.*s", path, *path ? "." : "", TEXT_ARGS(item->key));
        if (!value_find_text(was, item->key))
            compare(comparison, below.at, NULL, item);
    }
}

static void compare_lists(struct comparison *comparison, const char *path, const struct value *was,
                          const struct value *is)
{
    const struct value *left = was->first, *right = is->first;
    for (size_t i = 0; left || right; i++) {
        AUTO_BUFFER below = {0};
        buffer_printf(&below, "%s[%zu]", path, i);
        compare(comparison, below.at, left, right);
        left = left ? left->next : NULL;
        right = right ? right->next : NULL;
    }
}

static void compare(struct comparison *comparison, const char *path, const struct value *was,
                    const struct value *is)
{
    if (was && is && was->type == VALUE_MAP && is->type == VALUE_MAP)
        compare_maps(comparison, path, was, is);
    else if (was && is && was->type == VALUE_LIST && is->type == VALUE_LIST)
        compare_lists(comparison, path, was, is);
    else if (!was || !is || !value_equal(was, is))
        add_difference(comparison, path, was, is);
}

// ---- one reconciliation -------------------------------------------------------------------------

static bool is_named(const char *wanted, const struct replayed *replayed)
{
    struct text namespace_ = {0};
    struct text name = text_of(wanted);
    if (strchr(wanted, '/'))
        text_cut(&name, '/', &namespace_);
    return text_equal(name, replayed->name) &&
           (!namespace_.at || text_equal(namespace_, replayed->namespace_));
}

static bool is_asked_for(const struct replaying *replaying, const struct replayed *replayed)
{
    const char *object = option_text(replaying->invocation, "object");
    const char *controller = option_text(replaying->invocation, "controller");
    const char *trace = option_text(replaying->invocation, "trace");
    return (!object || is_named(object, replayed)) &&
           (!controller || !strcmp(controller, replayed->controller->name)) &&
           (!trace || text_is(replayed->trace, trace));
}

static void add_head(struct buffer *out, const struct replayed *replayed)
{
    char when[WHEN_TEXT_MAX];
    AUTO_BUFFER line = {0};
    when_write_ms(replayed->now_ms, when);
    buffer_printf(&line, "%s %s ", when, replayed->controller->kind->name);
    if (replayed->namespace_.len)
        buffer_printf(&line, "%.*s/", TEXT_ARGS(replayed->namespace_));
    buffer_printf(&line, "%.*s trace %.*s: %s", TEXT_ARGS(replayed->name),
                  TEXT_ARGS(replayed->trace), replayed->is_same ? "the same" : "differs");
    text_clean(out, buffer_text(&line), SIZE_MAX);
    buffer_add_char(out, '\n');
}

struct showing {
    const struct replay *replay;
    struct arena *arena;
    struct value *objects; // map of those that were seen, by number
};

static void show_object(const struct showing *showing, const struct value *number)
{
    AUTO_BUFFER key = {0};
    struct value *tree =
        value_copy(showing->arena, replay_object(showing->replay, showing->arena, number->integer));
    buffer_printf(&key, "%lld", (long long)number->integer);
    struct text name = {arena_copy(showing->arena, key.at, key.len), key.len};
    if (!value_find_text(showing->objects, name))
        value_set(showing->objects, name, tree);
}

static void show_objects(const struct showing *showing, const struct value *snapshot)
{
    static const char *const alone[] = {"subject", "previous"};
    for (size_t i = 0; i < COUNT_OF(alone); i++)
        if (value_find(snapshot, alone[i]))
            show_object(showing, value_find(snapshot, alone[i]));
    value_each (input, value_find(snapshot, "inputs"))
        value_each (object, value_find(input, "objects"))
            show_object(showing, object);
}

static void add_part(struct buffer *out, const char *title, const struct value *part)
{
    if (!value_count(part))
        return;
    buffer_printf(out, "  %s:\n", title);
    value_write_yaml(out, part, 4);
}

static void add_whole(struct buffer *out, const struct replay *replay,
                      const struct replayed *replayed)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct showing showing = {replay, arena, value_make(arena, VALUE_MAP)};
    show_objects(&showing, replayed->snapshot);
    add_part(out, "objects", showing.objects);
    add_part(out, "snapshot", replayed->snapshot);
    add_part(out, "decision", replayed->decision);
}

static void reconciled(void *context, const struct replay *replay, const struct replayed *replayed)
{
    struct replaying *replaying = context;
    bool shows = option_flag(replaying->invocation, "show");
    if (!is_asked_for(replaying, replayed))
        return;
    replaying->count++;
    replaying->differ += !replayed->is_same;
    if (shows || !replayed->is_same)
        add_head(&replaying->out, replayed);
    if (!replayed->is_same)
        compare(&(struct comparison){&replaying->out, DIFFERENCES_MAX + 1}, "", replayed->recorded,
                replayed->decision);
    if (shows)
        add_whole(&replaying->out, replay, replayed);
}

// ---- the recording ------------------------------------------------------------------------------

// Models may still point into settings of before, so those stay.
static bool settle(void *context, const struct value *described,
                   const struct controller *const *items, size_t count, const void **out,
                   struct error *err)
{
    struct replaying *replaying = context;
    struct recorded_settings *settings = recorded_settings_new(described, err);
    if (!settings)
        return error_prefix(err, "settings: ");
    mem_reserve(&replaying->settings, &replaying->setting_capacity, replaying->setting_count + 1);
    replaying->settings[replaying->setting_count++] = settings;
    for (size_t i = 0; i < count; i++)
        if (!recorded_settings_find(settings, items, i, &out[i]))
            return error_set(err, FAULT_SPEC, "", "controller %s does not run with these settings",
                             items[i]->name);
    return true;
}

static bool replay_lines(struct replaying *replaying, struct text rest, struct error *err)
{
    struct text line;
    size_t number = 0;
    CLEANUP(replay)
    struct replay *replay = replay_new(&(struct replay_options){
        kinds, kind_count, controllers, controller_count, settle, reconciled, replaying});
    while (text_cut(&rest, '\n', &line)) {
        number++;
        // A process that was killed leaves part of a line at the end.
        if (!line.len || (!rest.at && number > 1))
            continue;
        if (!replay_line(replay, line, err))
            return number > 1 ? error_prefix(err, "line %zu: ", number) : false;
    }
    return true;
}

static int report(struct replaying *replaying)
{
    struct error err;
    struct buffer *out = &replaying->out;
    if (!replaying->count)
        buffer_add_text(out, "no reconciliation of those that are asked for is in it\n");
    else if (replaying->differ)
        buffer_printf(out,
                      "%zu of %zu reconciliations came out otherwise than they were recorded\n",
                      replaying->differ, replaying->count);
    else
        buffer_printf(out, "%zu reconciliation%s came out as recorded\n", replaying->count,
                      replaying->count == 1 ? "" : "s");
    if (!print_out(out, &err))
        return command_fail(1, "%s", err.text);
    return replaying->differ || !replaying->count;
}

// Options come out of the recording alone.
static void forget_environment(void)
{
    const char *folder = getenv("TMPDIR");
    autofree char *kept = folder ? mem_copy_text(folder) : NULL;
    clearenv();
    if (kept)
        setenv("TMPDIR", kept, 1);
}

static bool check_controller(const struct invocation *invocation, struct error *err)
{
    AUTO_BUFFER names = {0};
    const char *wanted = option_text(invocation, "controller");
    for (size_t i = 0; wanted && i < controller_count; i++) {
        if (!strcmp(wanted, controllers[i]->name))
            return true;
        buffer_printf(&names, "%s%s", i ? ", " : "", controllers[i]->name);
    }
    return !wanted || error_set(err, FAULT_SPEC, "", "--controller %s: there are %s", wanted,
                                buffer_text(&names).at);
}

static int replay_run(struct invocation *invocation)
{
    struct error err;
    AUTO_BUFFER content = {0};
    struct replaying replaying = {.invocation = invocation};
    int code;
    if (invocation->argument_count != 1)
        return command_fail(2, "give one FILE, as `signpost run --record FOLDER` writes them");
    const char *path = invocation->arguments[0];
    if (!check_controller(invocation, &err))
        return command_fail(2, "%s", err.text);
    if (!disk_read(&content, path, RECORDER_OCTETS_MAX, &err))
        return command_fail(2, "%s", err.text);
    if (!content.len)
        return command_fail(2, "%s: it is empty: that process ended before it began to work", path);
    forget_environment();
    if (replay_lines(&replaying, buffer_text(&content), &err))
        code = report(&replaying);
    else
        code = command_fail(2, "%s: %s", path, err.text);
    for (size_t i = 0; i < replaying.setting_count; i++)
        recorded_settings_free(replaying.settings[i]);
    free(replaying.settings);
    buffer_done(&replaying.out);
    return code;
}

extern const struct command replay_command;
const struct command replay_command = {
    .name = "replay",
    .summary = "make the reconciliations of a recording again",
    .positional = "FILE",
    .doc = "Reads a file that `signpost run --record FOLDER` has written, makes each "
           "reconciliation in it again from what it saw then, and holds what comes of it against "
           "what came of it then. It needs nothing but the file, talks to nobody and leaves "
           "nothing behind: a recording that somebody sends shows on any machine why a record is "
           "as it is, and a changed program shows what it would have done otherwise. Secrets are "
           "not in it: digits stand in place of each.",
    .exit_docs =
        {
            "all came out as recorded",
            "some did not, or none is there",
            "the file is no recording of this format",
        },
    .examples = "signpost replay recordings/signpost-20260102T030405Z-1f2e.jsonl\n"
                "signpost replay --object shop/www --show FILE\n",
    .groups = {{rows, COUNT_OF(rows), false}},
    .run = replay_run,
};
