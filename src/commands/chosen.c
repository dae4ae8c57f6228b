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

struct names {
    const char **items;
    size_t count;
};

static bool runs_by_itself(const struct invocation *invocation, const struct controller *controller,
                           const struct names *names)
{
    if (names->count ? is_named(names->items, names->count, controller->name)
                     : controller->is_default)
        return true;
    return joins(invocation, controller);
}

static bool is_chosen(const struct invocation *invocation, const struct controller *controller,
                      const struct names *names)
{
    if (runs_by_itself(invocation, controller, names))
        return true;
    for (size_t i = 0; controller->is_attendant && i < controller_count; i++)
        if (controllers[i]->open && runs_by_itself(invocation, controllers[i], names))
            return true;
    return false;
}

bool chosen_init(struct chosen *out, const struct invocation *invocation, struct error *err)
{
    struct names names;
    names.count = option_list(invocation, "controllers", &names.items);
    for (size_t i = 0; i < names.count; i++)
        if (!controller_find(names.items[i]))
            return fail_unknown(invocation, names.items[i], err);
    *out = (struct chosen){0};
    for (size_t i = 0; i < controller_count && out->count < CHOSEN_MAX; i++)
        if (is_chosen(invocation, controllers[i], &names))
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

bool controller_does_without(const struct controller *controller)
{
    return controller->is_attendant || controller->shares;
}

bool chosen_reads(const struct chosen *chosen, const struct kind *kind)
{
    for (size_t i = 0; i < chosen->count; i++)
        if (controller_reads(chosen->items[i], kind))
            return true;
    return false;
}

bool chosen_is_about(const struct chosen *chosen, const struct kind *kind)
{
    for (size_t i = 0; i < chosen->count; i++)
        if (!chosen->items[i]->is_attendant && controller_reads(chosen->items[i], kind))
            return true;
    return false;
}

bool chosen_is_alone(const struct chosen *chosen, const struct controller *controller)
{
    for (size_t i = 0; i < chosen->count; i++)
        if (chosen->items[i] != controller && !controller_does_without(chosen->items[i]))
            return false;
    return chosen_has(chosen, controller);
}
