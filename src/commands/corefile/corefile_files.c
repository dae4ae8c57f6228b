#include "commands/corefile/corefile_files.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/print.h"
#include "io/disk.h"

static struct text find_variable(void *context, struct text name)
{
    const struct corefile_files *files = context;
    for (size_t i = 0; i < files->variable_count; i++) {
        struct text value = text_of(files->variables[i]);
        struct text given;
        text_cut(&value, '=', &given);
        if (text_equal(given, name))
            return value;
    }
    return (struct text){0};
}

static bool read_text(struct arena *arena, const char *path, struct text *out, struct error *err)
{
    AUTO_BUFFER text = {0};
    bool is_read = strcmp(path, "-") ? disk_read(&text, path, COREFILE_TEXT_MAX, err)
                                     : disk_read_input(&text, COREFILE_TEXT_MAX, err);
    if (!is_read)
        return false;
    *out = (struct text){arena_copy(arena, buffer_text(&text).at, text.len), text.len};
    return true;
}

static bool add_file(struct arena *arena, const char *path, struct corefile_file **files,
                     size_t *count, struct error *err)
{
    struct corefile_file file = {.path = path};
    if (!read_text(arena, path, &file.text, err))
        return false;
    struct corefile_file *all = arena_new_array(arena, struct corefile_file, *count + 1);
    for (size_t i = 0; i < *count; i++)
        all[i] = (*files)[i];
    all[*count] = file;
    *files = all;
    ++*count;
    return true;
}

// Where a path of the Corefile lies here.
static const char *place_of(const struct corefile_files *files, struct arena *arena,
                            const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!files->root)
        return path;
    return arena_printf(arena, "%s/%s", files->root, slash ? slash + 1 : path);
}

static bool add_matches(struct arena *arena, const char *folder, const char *pattern,
                        struct corefile_file **files, size_t *count, struct error *err)
{
    char **names = NULL;
    size_t name_count = 0;
    struct disk_stat stat;
    bool is_ok = true;
    if (!disk_stat(folder, &stat, NULL))
        return true;
    if (!disk_list(folder, &names, &name_count, err))
        return false;
    for (size_t i = 0; i < name_count; i++) {
        if (is_ok && fnmatch(pattern, names[i], 0) == 0)
            is_ok =
                add_file(arena, arena_printf(arena, "%s/%s", folder, names[i]), files, count, err);
        free(names[i]);
    }
    free(names);
    return is_ok;
}

static bool find_files(void *context, struct arena *arena, const char *pattern,
                       struct corefile_file **out, size_t *count, struct error *err)
{
    const struct corefile_files *files = context;
    const char *path = place_of(files, arena, pattern);
    const char *slash = strrchr(path, '/');
    struct disk_stat stat;
    *count = 0;
    if (!strpbrk(path, "*?["))
        return !disk_stat(path, &stat, NULL) || add_file(arena, path, out, count, err);
    const char *folder = slash ? arena_copy(arena, path, (size_t)(slash - path)) : ".";
    return add_matches(arena, folder, slash ? slash + 1 : path, out, count, err);
}

bool corefile_files_init(struct corefile_files *files, const struct invocation *invocation,
                         struct error *err)
{
    *files = (struct corefile_files){
        .arena = invocation->arena,
        .root = option_text(invocation, "import-root"),
        .world = {.context = files, .variable = find_variable, .files = find_files},
    };
    files->variable_count = option_list(invocation, "env", &files->variables);
    for (size_t i = 0; i < files->variable_count; i++)
        if (!strchr(files->variables[i], '=')) {
            error_set(err, FAULT_SPEC, "", "expected NAME=VALUE");
            return option_blame(invocation, "env", files->variables[i], err);
        }
    return true;
}

bool corefile_files_read(const struct corefile_files *files, const char *path,
                         struct corefile_file *out, struct error *err)
{
    struct text text;
    if (!read_text(files->arena, path, &text, err))
        return false;
    *out = (struct corefile_file){path, text};
    return true;
}

// ---- answers ------------------------------------------------------------------------------------

const char *const corefile_outputs[] = {"text", "json", NULL};

int corefile_print(const struct invocation *invocation, const struct buffer *text,
                   const struct value *tree)
{
    AUTO_BUFFER json = {0};
    struct error err;
    bool is_json = !strcmp(option_text(invocation, "output"), "json");
    if (is_json) {
        value_write_json(&json, tree);
        buffer_add_char(&json, '\n');
    }
    return print_out(is_json ? &json : text, &err) ? 0 : command_fail(1, "%s", err.text);
}
