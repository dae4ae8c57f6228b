#include "commands/enabled_controllers.h"

#include <string.h>

static bool fail_unknown(const struct invocation *invocation, const char *name, struct error *err)
{
    const char *names[ENABLED_CONTROLLERS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < controller_count && count < ENABLED_CONTROLLERS_MAX; i++)
        names[count++] = controllers[i]->name;
    const char *nearest = text_nearest(text_of(name), names, count);
    error_set(err, FAULT_SPEC, "", "no such controller%s%s%s", nearest ? "; did you mean " : "",
              nearest ? nearest : "", nearest ? "?" : "");
    return option_blame(invocation, "controllers", name, err);
}

static bool is_named(const char **names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static bool is_on(const struct invocation *invocation, const struct dependency *brings)
{
    return !brings->option || option_flag(invocation, brings->option);
}

static void add(struct enabled_controllers *out, const struct invocation *invocation,
                const struct controller *controller)
{
    out->items[out->count++] = controller;
    const struct dependency *at = NULL;
    while ((at = dependency_next(controller, BRINGS_CONTROLLER, at)))
        if (out->count < ENABLED_CONTROLLERS_MAX && is_on(invocation, at))
            out->items[out->count++] = at->controller;
}

static bool has_its_option(const struct invocation *invocation, const struct controller *controller)
{
    const struct dependency *at = NULL;
    while ((at = dependency_next(controller, RUNS_WITH_OPTION, at)))
        if (option_is_declared(invocation, at->option) && option_is_set(invocation, at->option))
            return true;
    return false;
}

struct names {
    const char **items;
    size_t count;
};

static bool runs_by_itself(const struct invocation *invocation, const struct controller *controller,
                           const struct names *names)
{
    if (names->count ? is_named(names->items, names->count, controller->name)
                     : dependency_next(controller, RUNS_BY_DEFAULT, NULL) != NULL)
        return true;
    return has_its_option(invocation, controller);
}

static bool is_enabled_controllers(const struct invocation *invocation,
                                   const struct controller *controller, const struct names *names)
{
    if (runs_by_itself(invocation, controller, names))
        return true;
    for (size_t i = 0; controller->ask_approval && i < controller_count; i++)
        if (controllers[i]->open && runs_by_itself(invocation, controllers[i], names))
            return true;
    return false;
}

bool enabled_controllers_init(struct enabled_controllers *out, const struct invocation *invocation,
                              struct error *err)
{
    struct names names;
    names.count = option_list(invocation, "controllers", &names.items);
    for (size_t i = 0; i < names.count; i++)
        if (!controller_find(names.items[i]))
            return fail_unknown(invocation, names.items[i], err);
    *out = (struct enabled_controllers){0};
    for (size_t i = 0; i < controller_count && out->count < ENABLED_CONTROLLERS_MAX; i++)
        if (is_enabled_controllers(invocation, controllers[i], &names))
            add(out, invocation, controllers[i]);
    return true;
}

bool enabled_controllers_has(const struct enabled_controllers *enabled_controllers,
                             const struct controller *controller)
{
    for (size_t i = 0; i < enabled_controllers->count; i++)
        if (enabled_controllers->items[i] == controller)
            return true;
    return false;
}

bool controller_does_without(const struct controller *controller)
{
    return controller->ask_approval || dependency_next(controller, REUSES_BACKENDS, NULL);
}

bool enabled_controllers_reads(const struct enabled_controllers *enabled_controllers,
                               const struct kind *kind)
{
    for (size_t i = 0; i < enabled_controllers->count; i++)
        if (controller_reads(enabled_controllers->items[i], kind))
            return true;
    return false;
}

bool enabled_controllers_is_about(const struct enabled_controllers *enabled_controllers,
                                  const struct kind *kind)
{
    for (size_t i = 0; i < enabled_controllers->count; i++)
        if (!enabled_controllers->items[i]->ask_approval &&
            controller_reads(enabled_controllers->items[i], kind))
            return true;
    return false;
}

bool enabled_controllers_is_alone(const struct enabled_controllers *enabled_controllers,
                                  const struct controller *controller)
{
    for (size_t i = 0; i < enabled_controllers->count; i++)
        if (enabled_controllers->items[i] != controller &&
            !controller_does_without(enabled_controllers->items[i]))
            return false;
    return enabled_controllers_has(enabled_controllers, controller);
}
