#include "commands/backend_checks.h"

enum { STALLED_MS = 15000 };

// NULL: it answered and let us in. What is restarted may be gone for a while.
static const char *trouble_of(const struct backend_view *view, int64_t now_ms)
{
    if (!view)
        return "is not used yet";
    if (view->fault.fault != FAULT_NONE)
        return view->fault.text;
    if (view->unavailable.fault != FAULT_NONE)
        return view->unavailable.text;
    if (!view->answered_s)
        return "has not answered yet";
    if (view->stalled_ms && now_ms - view->stalled_ms >= STALLED_MS)
        return "does not answer; it may be restarting";
    return view->is_answer_ok ? NULL : view->answer_error.text;
}

size_t backend_checks(const struct setup *setup, const struct engine *engine, int64_t now_ms,
                      struct store_check *out, size_t capacity)
{
    size_t count = 0;
    for (; count < setup->backends.count && count < capacity; count++) {
        const struct configured_backend *backend = &setup->backends.items[count];
        const struct backend_view *view = engine_backend(engine, backend->label);
        const char *trouble = engine_is_leading(engine) ? trouble_of(view, now_ms) : NULL;
        out[count] =
            (struct store_check){.name = backend->label,
                                 .is_ok = !trouble,
                                 .is_advice = !setup_is_required(setup, backend->controller),
                                 .text = trouble ? trouble : ""};
    }
    return count;
}
