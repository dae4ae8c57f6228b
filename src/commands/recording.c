#include "commands/recording.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/preview.h"
#include "commands/settings.h"
#include "commands/subject.h"
#include "io/disk.h"

enum { FILE_OCTETS_MAX = 1 << 20 };

// ---- describing ---------------------------------------------------------------------------------

static void add_option(const struct invocation *invocation, struct value *options,
                       struct arena *arena, const char *name)
{
    const char *text = option_is_declared(invocation, name) ? option_text(invocation, name) : NULL;
    if (text)
        value_set(options, text_of(name), value_make_text(arena, text_of(text)));
}

static void add_options(const struct invocation *invocation, struct value *options,
                        struct arena *arena, const struct option_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        add_option(invocation, options, arena, group->items[i].name);
}

// One that can't be read now was read before: what it said then is not known any more.
static void add_file(const struct invocation *invocation, struct value *files, struct arena *arena,
                     const char *name)
{
    AUTO_BUFFER content = {0};
    const char *path = option_is_declared(invocation, name) ? option_text(invocation, name) : NULL;
    if (path && disk_read(&content, path, FILE_OCTETS_MAX, NULL))
        value_set(files, text_of(name),
                  value_make_text(arena, (struct text){arena_copy(arena, content.at, content.len),
                                                       content.len}));
}

static void add_files(const struct invocation *invocation, struct value *files, struct arena *arena)
{
    for (size_t i = 0; i < subject_count; i++) {
        const char *const *name = subjects[i]->settings_files;
        for (; name && *name; name++)
            add_file(invocation, files, arena, *name);
    }
    for (size_t i = 0; i < controller_count; i++)
        for (size_t j = 0; j < controllers[i]->setting_count; j++)
            if (controllers[i]->settings[j].type == SETTING_FILE)
                add_file(invocation, files, arena, controllers[i]->settings[j].name);
}

static struct value *describe(void *context, struct arena *arena)
{
    const struct setup *setup = context;
    struct value *settings = value_make(arena, VALUE_MAP);
    struct value *options = value_put(arena, settings, "options", value_make(arena, VALUE_MAP));
    struct value *files = value_put(arena, settings, "files", value_make(arena, VALUE_MAP));
    struct option_group group = settings_options(arena);
    add_option(setup->invocation, options, arena, "controllers");
    add_options(setup->invocation, options, arena, &group);
    for (size_t i = 0; i < subject_count; i++)
        add_options(setup->invocation, options, arena, &subjects[i]->options[SUBJECT_SETUP]);
    add_files(setup->invocation, files, arena);
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
                                             .context = setup};
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

// As the words of a call of `signpost run`.
struct words {
    struct arena *arena;
    char **items;
    size_t count;
    size_t capacity;
};

static void add_word(struct words *words, struct text name, struct text text)
{
    arena_reserve(words->arena, &words->items, &words->capacity, words->count + 1);
    words->items[words->count++] =
        arena_printf(words->arena, "--%.*s=%.*s", TEXT_ARGS(name), TEXT_ARGS(text));
}

static const char *temporary_path(struct arena *arena, struct text name)
{
    const char *folder = getenv("TMPDIR");
    uint32_t drawn;
    random_fill(random_system(), &drawn, sizeof drawn);
    return arena_printf(arena, "%s/signpost-replay-%08" PRIx32 "-%.*s",
                        folder && *folder ? folder : "/tmp", drawn, TEXT_ARGS(name));
}

// The files of the recording, for as long as the settings are being read.
static bool put_files(struct words *words, struct words *paths, const struct value *files,
                      struct error *err)
{
    value_each (file, files) {
        const char *path = temporary_path(words->arena, file->key);
        add_word(words, file->key, text_of(path));
        add_word(paths, TEXT(""), text_of(path));
        if (!disk_replace(disk_system(), path, value_text(file), 0600, false, err))
            return false;
    }
    return true;
}

static void remove_files(const struct words *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        disk_remove(disk_system(), paths->items[i] + strlen("--="), NULL);
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
    const struct value *files = value_find(described, "files");
    value_each (option, value_find(described, "options"))
        if (!value_find_text(files, option->key))
            add_word(&words, option->key, value_text(option));
    bool is_good = put_files(&words, &paths, files, err) && resolve(settings, &words, err);
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

bool recorded_settings_find(const struct recorded_settings *settings,
                            const struct controller *controller, const void **out)
{
    for (size_t i = 0; i < settings->setup.controller_count; i++) {
        if (settings->setup.controllers[i] != controller)
            continue;
        *out = settings->setup.settings[i];
        return true;
    }
    return false;
}
