#include "commands/recording.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/preview.h"
#include "commands/settings.h"
#include "commands/subject.h"
#include "io/disk.h"

enum { FILE_OCTETS_MAX = 16 << 20 }; // more than any reader of such a file takes

// ---- describing ---------------------------------------------------------------------------------

// An option that settings come of.
struct recorded_option {
    const char *name;
    bool is_file; // it names one, whose content counts
    bool follows; // also while the process runs
};

struct recorded_options {
    struct arena *arena;
    struct recorded_option *items;
    size_t count;
    size_t capacity;
};

static struct recorded_option *find_recorded(const struct recorded_options *options,
                                             struct text name)
{
    for (size_t i = 0; i < options->count; i++)
        if (text_is(name, options->items[i].name))
            return &options->items[i];
    return NULL;
}

static struct recorded_option *add_recorded(struct recorded_options *options, const char *name)
{
    struct recorded_option *known = find_recorded(options, text_of(name));
    if (known)
        return known;
    arena_reserve(options->arena, &options->items, &options->capacity, options->count + 1);
    options->items[options->count] = (struct recorded_option){.name = name};
    return &options->items[options->count++];
}

static void add_of_controller(struct recorded_options *options, const struct controller *controller)
{
    for (size_t i = 0; i < controller->setting_count; i++)
        add_recorded(options, controller->settings[i].name)->is_file =
            controller->settings[i].type == SETTING_FILE;
}

static void add_of_subject(struct recorded_options *options, const struct subject *subject)
{
    const struct option_group *group = &subject->options[SUBJECT_SETUP];
    for (size_t i = 0; i < group->count; i++)
        add_recorded(options, group->items[i].name);
    if (!subject->settings_file)
        return;
    struct recorded_option *file = add_recorded(options, subject->settings_file);
    file->is_file = true;
    file->follows = subject->follows_settings_file;
}

static void list_recorded(struct recorded_options *out, struct arena *arena)
{
    *out = (struct recorded_options){.arena = arena};
    add_recorded(out, "controllers");
    for (size_t i = 0; i < controller_count; i++)
        add_of_controller(out, controllers[i]);
    for (size_t i = 0; i < subject_count; i++)
        add_of_subject(out, subjects[i]);
}

struct describing {
    const struct invocation *invocation;
    struct recorded_options options;
    struct value *files; // what they said at the start
};

static const char *text_at(const struct describing *describing, size_t i)
{
    const char *name = describing->options.items[i].name;
    return option_is_declared(describing->invocation, name)
               ? option_text(describing->invocation, name)
               : NULL;
}

// Leaves out a file that can't be read any more: what it said when it was read is not known.
static void add_file(struct value *files, struct arena *arena, const char *name, const char *path)
{
    AUTO_BUFFER content = {0};
    if (disk_read(&content, path, FILE_OCTETS_MAX, NULL))
        value_set(files, text_of(name),
                  value_make_text(arena, (struct text){arena_copy(arena, content.at, content.len),
                                                       content.len}));
}

static struct describing *begin_describing(const struct invocation *invocation)
{
    struct arena *arena = invocation->arena;
    struct describing *describing = arena_new_array(arena, struct describing, 1);
    describing->invocation = invocation;
    describing->files = value_make(arena, VALUE_MAP);
    list_recorded(&describing->options, arena);
    for (size_t i = 0; i < describing->options.count; i++) {
        const struct recorded_option *option = &describing->options.items[i];
        if (option->is_file && !option->follows && text_at(describing, i))
            add_file(describing->files, arena, option->name, text_at(describing, i));
    }
    return describing;
}

static struct value *describe(void *context, struct arena *arena)
{
    const struct describing *describing = context;
    struct value *settings = value_make(arena, VALUE_MAP);
    struct value *options = value_put(arena, settings, "options", value_make(arena, VALUE_MAP));
    struct value *files = value_copy(arena, describing->files);
    value_set(settings, TEXT("files"), files);
    for (size_t i = 0; i < describing->options.count; i++) {
        const struct recorded_option *option = &describing->options.items[i];
        const char *text = text_at(describing, i);
        if (text)
            value_set(options, text_of(option->name), value_make_text(arena, text_of(text)));
        if (text && option->follows)
            add_file(files, arena, option->name, text);
    }
    return settings;
}

bool recording_open(struct setup *setup, const struct world *world, struct log *log,
                    const struct store *store, struct recorder **out, struct error *err)
{
    const char *folder = option_text(setup->invocation, "record");
    *out = NULL;
    if (!folder)
        return true;
    const struct recorder_options options = {.disk = world->disk,
                                             .random = world->random,
                                             .log = log,
                                             .folder = folder,
                                             .version = SIGNPOST_VERSION,
                                             .now_ms = loop_unix_ms(world->loop),
                                             .cache = store->cache,
                                             .describe = describe,
                                             .context = begin_describing(setup->invocation)};
    *out = recorder_new(&options, err);
    if (!*out)
        return option_blame(setup->invocation, "record", folder, err);
    log_line(log, LOG_INFO, "recording; `signpost replay` makes its reconciliations again",
             LOG_TEXT("recording", recorder_path(*out)), LOG_END);
    return true;
}

// ---- making them again --------------------------------------------------------------------------

struct recorded_settings {
    struct arena *arena;
    struct invocation invocation;
    struct setup setup;
    struct previews previews;
};

// The words of a call of `signpost run`, by which the settings are read.
struct words {
    struct arena *arena;
    char **items;
    size_t count;
    size_t capacity;
};

static void add_word(struct words *words, char *word)
{
    arena_reserve(words->arena, &words->items, &words->capacity, words->count + 1);
    words->items[words->count++] = word;
}

static void add_setting(struct words *words, struct text name, struct text text)
{
    add_word(words, arena_printf(words->arena, "--%.*s=%.*s", TEXT_ARGS(name), TEXT_ARGS(text)));
}

static char *temporary_path(struct arena *arena, struct text name)
{
    const char *folder = getenv("TMPDIR");
    uint32_t drawn;
    random_fill(random_system(), &drawn, sizeof drawn);
    return arena_printf(arena, "%s/signpost-replay-%08" PRIx32 "-%.*s",
                        folder && *folder ? folder : "/tmp", drawn, TEXT_ARGS(name));
}

// Its content comes out of the recording alone, never out of a file of that name here. It is there
// for as long as the settings are being read.
static bool add_recorded_file(struct words *words, struct words *paths, struct text name,
                              struct text content, struct error *err)
{
    char *path = temporary_path(words->arena, name);
    if (!content.at)
        return error_set(
            err, FAULT_SPEC, "",
            "the file of --%.*s is not in it: it could not be read when this was recorded",
            TEXT_ARGS(name));
    add_setting(words, name, text_of(path));
    add_word(paths, path);
    return disk_replace(disk_system(), path, content, 0600, false, err) ||
           error_set(err, FAULT_SPEC, "",
                     "cannot write %s: set TMPDIR to a folder that can be written", path);
}

static bool add_words(struct words *words, struct words *paths, const struct value *described,
                      struct error *err)
{
    struct recorded_options options;
    list_recorded(&options, words->arena);
    value_each (item, value_find(described, "options")) {
        const struct recorded_option *option = find_recorded(&options, item->key);
        if (!option)
            return error_set(err, FAULT_SPEC, "",
                             "this program has no setting --%.*s: replay it with the release that "
                             "made it",
                             TEXT_ARGS(item->key));
        if (!option->is_file)
            add_setting(words, item->key, value_text(item));
        else if (!add_recorded_file(
                     words, paths, item->key,
                     value_text(value_find_text(value_find(described, "files"), item->key)), err))
            return false;
    }
    return true;
}

static void remove_files(const struct words *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        disk_remove(disk_system(), paths->items[i], NULL);
}

static bool resolve(struct recorded_settings *settings, struct words *words, struct error *err)
{
    return invocation_parse(&settings->invocation, settings->arena, command_find("run"),
                            (int)words->count, words->items, err) &&
           setup_init_settings(&settings->setup, &settings->invocation, err) &&
           previews_open(&settings->previews, &settings->setup, err);
}

struct recorded_settings *recorded_settings_new(const struct value *described, struct error *err)
{
    struct recorded_settings *settings = mem_new_of(struct recorded_settings);
    settings->arena = arena_new();
    struct words words = {.arena = settings->arena};
    struct words paths = {.arena = settings->arena};
    bool is_good = add_words(&words, &paths, described, err) && resolve(settings, &words, err);
    remove_files(&paths);
    if (is_good)
        return settings;
    recorded_settings_free(settings);
    return NULL;
}

void recorded_settings_free(struct recorded_settings *settings)
{
    if (!settings)
        return;
    previews_close(&settings->previews);
    setup_done(&settings->setup);
    arena_free(settings->arena);
    free(settings);
}

// The first one with that model, and the one whose backends it has, have the settings.
static bool lives_on(const struct controller *controller, const struct controller *other)
{
    return controller_backends_of(controller) == other ||
           (controller->shared_model && controller->shared_model == other->shared_model);
}

static bool has_those_before(const struct setup *setup, const struct controller *const *items,
                             size_t at)
{
    size_t taken = 0;
    for (size_t i = 0; i < setup->controller_count; i++) {
        const struct controller *controller = setup->controllers[i];
        if (taken <= at && controller == items[taken])
            taken++;
        else if (taken <= at && lives_on(items[at], controller))
            return false;
    }
    return taken > at;
}

bool recorded_settings_find(const struct recorded_settings *settings,
                            const struct controller *const *items, size_t at, const void **out)
{
    const struct setup *setup = &settings->setup;
    for (size_t i = 0; i < setup->controller_count; i++) {
        if (setup->controllers[i] != items[at])
            continue;
        *out = setup->settings[i];
        return has_those_before(setup, items, at);
    }
    return false;
}
