#include "controllers/clusterdns/reconcile.h"

// The end of the main object: what is ours goes, then the finalizer. Copies go with their owner.

static bool is_released(struct reconcile *reconcile)
{
    switch (reconcile->mode) {
    case MODE_OWNED:
        return !drop_workload(reconcile);
    case MODE_ADOPTED:
        if (!make_text_without_us(reconcile))
            return true;
        want_target(reconcile, reconcile->text, reconcile->annotations);
        return false;
    case MODE_IMPORT:
        if (!reconcile->target.text.at)
            return true;
        want_target(reconcile, (struct text){0}, value_make(reconcile->arena, VALUE_MAP));
        return false;
    case MODE_FILE:
    case MODE_FOREIGN:
    case MODE_OFF:
    case MODES:
        break;
    }
    return true;
}

void release_all(struct reconcile *reconcile)
{
    bool is_unmanaged = text_is(reconcile->spec.management_state, "Unmanaged");
    if (is_unmanaged || is_released(reconcile))
        reconcile->out->finalizer = FINALIZER_REMOVE;
}
