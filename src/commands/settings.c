#include "commands/settings.h"

#include <string.h>

#include "io/disk.h"

enum { FILE_OCTETS_MAX = 1 << 20 };

static struct option option_of(const struct controller_setting *setting)
{
    static const struct {
        enum option_type type;
        const char *placeholder;
    } forms[] = {
        [SETTING_MS] = {OPTION_DURATION, "DURATION"},
        [SETTING_INT] = {OPTION_INT, "N"},
        [SETTING_FLAG] = {OPTION_FLAG, NULL},
        [SETTING_CHOICE] = {OPTION_CHOICE, NULL},
        [SETTING_LIST] = {OPTION_LIST, "VALUES"},
        [SETTING_TEXT] = {OPTION_TEXT, "TEXT"},
        [SETTING_ADDRESS] = {OPTION_ADDRESS, "ADDR:PORT"},
        [SETTING_FILE] = {OPTION_TEXT, "FILE"},
    };
    return (struct option){.name = setting->name,
                           .variable = setting->variable,
                           .type = forms[setting->type].type,
                           .fallback = setting->fallback,
                           .placeholder = setting->placeholder ? setting->placeholder
                                                               : forms[setting->type].placeholder,
                           .choices = setting->choices,
                           .min = setting->min,
                           .max = setting->max,
                           .doc = setting->doc};
}

static bool has_option(const struct option_group *group, const char *name)
{
    for (size_t i = 0; i < group->count; i++)
        if (!strcmp(group->items[i].name, name))
            return true;
    return false;
}

struct option_group settings_options(struct arena *arena)
{
    size_t count = 0;
    for (size_t i = 0; i < controller_count; i++)
        count += controllers[i]->setting_count;
    struct option *items = arena_new_array(arena, struct option, count + 1);
    struct option_group group = {items, 0, true};
    for (size_t i = 0; i < controller_count; i++)
        for (size_t j = 0; j < controllers[i]->setting_count; j++)
            if (!has_option(&group, controllers[i]->settings[j].name))
                items[group.count++] = option_of(&controllers[i]->settings[j]);
    return group;
}

static int64_t number_of(const struct invocation *invocation,
                         const struct controller_setting *setting, const char *name)
{
    return setting->type == SETTING_MS ? option_ms(invocation, name) : option_int(invocation, name);
}

// A default is a source, too: it may be what has to be changed.
static const char *source_of(const struct invocation *invocation, const char *name)
{
    if (option_is_set(invocation, name))
        return option_source(invocation, name);
    return arena_printf(invocation->arena, "default of --%s", name);
}

static bool check_order(const struct invocation *invocation,
                        const struct controller_setting *setting, struct error *err)
{
    const char *lower = setting->not_below;
    if (!lower ||
        number_of(invocation, setting, setting->name) >= number_of(invocation, setting, lower))
        return true;
    return error_set(err, FAULT_SPEC, "", "%s: \"%s\": must be at least \"%s\" (%s)",
                     source_of(invocation, setting->name), option_text(invocation, setting->name),
                     option_text(invocation, lower), source_of(invocation, lower));
}

static bool check_items(const struct invocation *invocation,
                        const struct controller_setting *setting, const char *const *items,
                        struct error *err)
{
    if (!setting->check || setting->check(items, err))
        return true;
    return option_blame(invocation, setting->name, option_text(invocation, setting->name), err);
}

static bool check_item(const struct invocation *invocation,
                       const struct controller_setting *setting, const char *item,
                       struct error *err)
{
    const char *const items[] = {item, NULL};
    return !item || check_items(invocation, setting, items, err);
}

static bool put_list(const struct invocation *invocation, const struct controller_setting *setting,
                     char *out, struct error *err)
{
    const char **items;
    size_t count = option_list(invocation, setting->name, &items);
    const char **copy = arena_new_array(invocation->arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        copy[i] = items[i];
    const char *const *list = copy;
    if (!check_items(invocation, setting, list, err))
        return false;
    memcpy(out + setting->offset, &list, sizeof list);
    return true;
}

static bool put_text(const struct invocation *invocation, const struct controller_setting *setting,
                     char *out, struct error *err)
{
    const char *text = option_text(invocation, setting->name);
    if (setting->type == SETTING_ADDRESS && text && !strcmp(text, "0"))
        text = NULL;
    if (!check_item(invocation, setting, text, err))
        return false;
    memcpy(out + setting->offset, &text, sizeof text);
    return true;
}

static bool put_file(const struct invocation *invocation, const struct controller_setting *setting,
                     char *out, struct error *err)
{
    AUTO_BUFFER content = {0};
    struct setting_file file = {.path = option_text(invocation, setting->name)};
    if (!file.path)
        return true;
    if (!disk_read(&content, file.path, FILE_OCTETS_MAX, err))
        return option_blame(invocation, setting->name, file.path, err);
    file.content = (struct text){
        arena_copy(invocation->arena, buffer_text(&content).at, content.len), content.len};
    if (!check_item(invocation, setting, file.content.at, err))
        return false;
    memcpy(out + setting->offset, &file, sizeof file);
    return true;
}

static bool put_flag(const struct invocation *invocation, const struct controller_setting *setting,
                     char *out, struct error *err)
{
    bool flag = option_flag(invocation, setting->name);
    (void)err;
    memcpy(out + setting->offset, &flag, sizeof flag);
    return true;
}

static bool put_number(const struct invocation *invocation,
                       const struct controller_setting *setting, char *out, struct error *err)
{
    int64_t number = number_of(invocation, setting, setting->name);
    (void)err;
    memcpy(out + setting->offset, &number, sizeof number);
    return true;
}

static bool put(const struct invocation *invocation, const struct controller_setting *setting,
                char *out, struct error *err)
{
    static bool (*const puts[])(const struct invocation *, const struct controller_setting *,
                                char *, struct error *) = {
        [SETTING_MS] = put_number,    [SETTING_INT] = put_number, [SETTING_FLAG] = put_flag,
        [SETTING_CHOICE] = put_text,  [SETTING_LIST] = put_list,  [SETTING_TEXT] = put_text,
        [SETTING_ADDRESS] = put_text, [SETTING_FILE] = put_file,
    };
    return puts[setting->type](invocation, setting, out, err);
}

void *settings_resolve(const struct invocation *invocation, const struct controller *controller,
                       struct error *err)
{
    char *out = arena_alloc(invocation->arena, 1, controller->settings_size + 1);
    for (size_t i = 0; i < controller->setting_count; i++) {
        const struct controller_setting *setting = &controller->settings[i];
        if (!check_order(invocation, setting, err) || !put(invocation, setting, out, err))
            return NULL;
    }
    return out;
}
