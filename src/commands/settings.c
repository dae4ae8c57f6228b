#include "commands/settings.h"

#include <string.h>

static struct option option_of(const struct controller_setting *setting)
{
    static const enum option_type types[] = {[SETTING_MS] = OPTION_DURATION,
                                             [SETTING_INT] = OPTION_INT,
                                             [SETTING_FLAG] = OPTION_FLAG,
                                             [SETTING_CHOICE] = OPTION_CHOICE,
                                             [SETTING_LIST] = OPTION_LIST};
    static const char *const placeholders[SETTING_LIST + 1] = {
        [SETTING_MS] = "DURATION", [SETTING_INT] = "N"};
    return (struct option){.name = setting->name,
                           .variable = setting->variable,
                           .type = types[setting->type],
                           .fallback = setting->fallback,
                           .placeholder = setting->placeholder ? setting->placeholder
                                                               : placeholders[setting->type],
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

static bool put_list(const struct invocation *invocation, const struct controller_setting *setting,
                     char *out, struct error *err)
{
    const char **items;
    size_t count = option_list(invocation, setting->name, &items);
    const char **copy = arena_new_array(invocation->arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        copy[i] = items[i];
    const char *const *list = copy;
    if (setting->check && !setting->check(list, err))
        return option_blame(invocation, setting->name, option_text(invocation, setting->name), err);
    memcpy(out + setting->offset, &list, sizeof list);
    return true;
}

static bool put(const struct invocation *invocation, const struct controller_setting *setting,
                char *out, struct error *err)
{
    if (setting->type == SETTING_LIST)
        return put_list(invocation, setting, out, err);
    if (setting->type == SETTING_CHOICE) {
        const char *text = option_text(invocation, setting->name);
        memcpy(out + setting->offset, &text, sizeof text);
    } else if (setting->type == SETTING_FLAG) {
        bool flag = option_flag(invocation, setting->name);
        memcpy(out + setting->offset, &flag, sizeof flag);
    } else {
        int64_t number = number_of(invocation, setting, setting->name);
        memcpy(out + setting->offset, &number, sizeof number);
    }
    return true;
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
