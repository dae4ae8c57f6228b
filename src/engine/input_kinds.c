#include <string.h>

#include "base/must.h"
#include "engine/controller.h"

// How the inputs of all controllers together read one kind.
struct reading {
    const struct kind *kind;
    const char *selectors[STORE_SELECTORS_MAX];
    size_t selector_count;
    bool is_whole; // by something that neither selects nor names
    bool is_named;
};

static bool has_selector(const struct reading *reading, const char *labels)
{
    for (size_t i = 0; i < reading->selector_count; i++)
        if (!strcmp(reading->selectors[i], labels))
            return true;
    return false;
}

static void add_input(struct reading *reading, const struct input *input)
{
    if (input->kind != reading->kind)
        return;
    must(!input->labels || input->kind->keeps_labels);
    must(!input->is_named || (input->lookup_keys && !input->index_keys && !input->is_optional));
    reading->is_named |= input->is_named;
    reading->is_whole |= !input->is_named && !input->labels;
    if (!input->labels || has_selector(reading, input->labels))
        return;
    if (reading->selector_count == STORE_SELECTORS_MAX)
        reading->is_whole = true;
    else
        reading->selectors[reading->selector_count++] = input->labels;
}

static void add_controller(struct reading *reading, const struct controller *controller)
{
    const struct kind *const *kinds =
        controller->shared_model ? controller->shared_model->kinds : NULL;
    reading->is_whole |= controller->kind == reading->kind;
    for (; kinds && *kinds; kinds++)
        reading->is_whole |= *kinds == reading->kind;
    for (size_t i = 0; i < controller->input_count; i++)
        add_input(reading, &controller->inputs[i]);
}

bool controller_reads(const struct controller *controller, const struct kind *kind)
{
    for (size_t i = 0; i < controller->input_count; i++)
        if (controller->inputs[i].kind == kind)
            return true;
    return controller->kind == kind;
}

bool controller_needs(const struct controller *controller, const struct kind *kind)
{
    for (size_t i = 0; i < controller->input_count; i++)
        if (controller->inputs[i].kind == kind && !controller->inputs[i].is_optional)
            return true;
    return controller->kind == kind;
}

void controllers_describe(const struct controller *const *items, size_t count,
                          struct store_kind *kind)
{
    struct reading reading = {.kind = kind->kind};
    for (size_t i = 0; i < count; i++)
        add_controller(&reading, items[i]);
    bool is_selected = reading.selector_count && !reading.is_named && !reading.is_whole;
    for (size_t i = 0; is_selected && i < reading.selector_count; i++)
        kind->selectors[i] = reading.selectors[i];
    kind->is_by_name =
        kind->kind->is_secret || (reading.is_named && !reading.selector_count && !reading.is_whole);
}
