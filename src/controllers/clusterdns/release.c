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
        make_no_text(reconcile);
        want_target(reconcile, reconcile->text, reconcile->annotations);
        return false;
    case MODE_FILE:
    case MODE_FOREIGN:
    case MODE_OFF:
    case MODES:
        break;
    }
    return true;
}

// True if nothing of ours is left where that mode writes.
static bool release_mode(const struct reconcile *reconcile, enum mode mode)
{
    struct reconcile other = *reconcile;
    other.live = NULL;
    if (!find_other_text(reconcile, mode).at)
        return true;
    use_mode(&other, mode);
    bool is_over = is_released(&other);
    corefile_free(other.live);
    return is_over;
}

bool release_other_modes(struct reconcile *reconcile)
{
    static const enum mode of_others[] = {MODE_ADOPTED, MODE_IMPORT};
    bool is_over = true;
    for (size_t i = 0; i < COUNT_OF(of_others); i++)
        if (reconcile->mode != of_others[i])
            is_over &= release_mode(reconcile, of_others[i]);
    return is_over;
}

void release_all(struct reconcile *reconcile)
{
    bool is_over = is_unmanaged(reconcile);
    if (!is_over) {
        is_over = is_released(reconcile);
        is_over &= release_other_modes(reconcile);
    }
    if (is_over)
        reconcile->out->finalizer = FINALIZER_REMOVE;
}
