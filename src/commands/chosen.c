#include "commands/chosen.h"

#include <string.h>

static bool fail_unknown(const struct invocation *invocation, const char *name, struct error *err)
{
    const char *names[CHOSEN_MAX];
    size_t count = 0;
    for (size_t i = 0; i < controller_count && count < CHOSEN_MAX; i++)
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

static bool is_on(const struct invocation *invocation, const struct controller *companion)
{
    return !companion->switched_by || option_flag(invocation, companion->switched_by);
}

static void add(struct chosen *out, const struct invocation *invocation,
                const struct controller *controller)
{
    out->items[out->count++] = controller;
    for (size_t i = 0; controller->companions && controller->companions[i]; i++)
        if (out->count < CHOSEN_MAX && is_on(invocation, controller->companions[i]))
            out->items[out->count++] = controller->companions[i];
}

static bool joins(const struct invocation *invocation, const struct controller *controller)
{
    for (size_t i = 0; controller->joins_with && controller->joins_with[i]; i++)
        if (option_is_declared(invocation, controller->joins_with[i]) &&
            option_is_set(invocation, controller->joins_with[i]))
            return true;
    return false;
}

static bool is_chosen(const struct invocation *invocation, const struct controller *controller,
                      const char **names, size_t count)
{
    if (count ? is_named(names, count, controller->name) : controller->is_default)
        return true;
    return joins(invocation, controller);
}

bool chosen_init(struct chosen *out, const struct invocation *invocation, struct error *err)
{
    const char **names;
    size_t count = option_list(invocation, "controllers", &names);
    for (size_t i = 0; i < count; i++)
        if (!controller_find(names[i]))
            return fail_unknown(invocation, names[i], err);
    *out = (struct chosen){0};
    for (size_t i = 0; i < controller_count && out->count < CHOSEN_MAX; i++)
        if (is_chosen(invocation, controllers[i], names, count))
            add(out, invocation, controllers[i]);
    return true;
}

bool chosen_has(const struct chosen *chosen, const struct controller *controller)
{
    for (size_t i = 0; i < chosen->count; i++)
        if (chosen->items[i] == controller)
            return true;
    return false;
}

bool controller_reads(const struct controller *controller, const struct kind *kind)
{
    for (size_t i = 0; i < controller->gather_count; i++)
        if (controller->gathers[i].kind == kind)
            return true;
    return controller->kind == kind;
}

bool chosen_reads(const struct chosen *chosen, const struct kind *kind)
{
    for (size_t i = 0; i < chosen->count; i++)
        if (controller_reads(chosen->items[i], kind))
            return true;
    return false;
}
