#include "engine/controller.h"

const struct dependency *dependency_next(const struct controller *controller,
                                         enum dependency_type type, const struct dependency *last)
{
    const struct dependency *at = last ? last + 1 : controller->dependencies;
    while (at && at->type != DEPENDS_END && at->type != type)
        at++;
    return at && at->type == type ? at : NULL;
}

const struct controller *controller_backends_of(const struct controller *controller)
{
    const struct dependency *reuses = dependency_next(controller, REUSES_BACKENDS, NULL);
    return reuses ? reuses->controller : controller;
}

bool controller_brings(const struct controller *controller, const struct controller *other)
{
    const struct dependency *at = NULL;
    while ((at = dependency_next(controller, BRINGS_CONTROLLER, at)))
        if (at->controller == other)
            return true;
    return false;
}
