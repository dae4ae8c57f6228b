#include "controllers/ingress/reconcile.h"

#include <stdlib.h>
#include <string.h>

// ---- receipts by name ---------------------------------------------------------------------------

static int compare_standing(const void *a, const void *b)
{
    const struct receipt *left = ((const struct standing *)a)->receipt;
    const struct receipt *right = ((const struct standing *)b)->receipt;
    int order = text_compare(left->domain, right->domain);
    if (!order)
        order = strcmp(left->registry, right->registry);
    return order ? order : (left->type > right->type) - (left->type < right->type);
}

static void list_standing(struct reconcile *reconcile)
{
    reconcile->standing_count = reconcile->in->receipt_count;
    reconcile->standing =
        arena_new_array(reconcile->arena, struct standing, reconcile->standing_count + 1);
    for (size_t i = 0; i < reconcile->standing_count; i++)
        reconcile->standing[i].receipt = &reconcile->in->receipts[i];
    if (reconcile->standing_count > 1)
        qsort(reconcile->standing, reconcile->standing_count, sizeof *reconcile->standing,
              compare_standing);
}

struct standing *reconcile_find(const struct reconcile *reconcile, struct text name, size_t *count)
{
    size_t low = 0;
    size_t high = reconcile->standing_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (text_compare(reconcile->standing[middle].receipt->domain, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (*count = 0; low + *count < reconcile->standing_count;)
        if (text_equal(reconcile->standing[low + *count].receipt->domain, name))
            ++*count;
        else
            break;
    return &reconcile->standing[low];
}

bool reconcile_is_settled(const struct receipt *receipt, enum claim_intent intent)
{
    return receipt->intent == intent && receipt->state == RECEIPT_SETTLED;
}

// ---- names --------------------------------------------------------------------------------------

static int compare_names(const void *a, const void *b)
{
    return text_compare(*(const struct text *)a, *(const struct text *)b);
}

static bool is_among(const struct text *names, size_t count, struct text name)
{
    return count && bsearch(&name, names, count, sizeof *names, compare_names);
}

bool reconcile_manages(const struct reconcile *reconcile, struct text name)
{
    return is_among(reconcile->managed, reconcile->managed_count, name);
}

// Names are few, but for those of the largest objects.
bool reconcile_wants(const struct reconcile *reconcile, struct text name)
{
    for (size_t i = 0; i < reconcile->wants.name_count; i++)
        if (text_equal(reconcile->wants.names[i], name))
            return true;
    return false;
}

// A predecessor or a person may have written the list: its names are checked as those of the
// object.
static size_t read_managed(const struct reconcile *reconcile, struct text list, struct text *names)
{
    size_t count = 0;
    struct text piece;
    while (count < WANTS_LOOKED_MAX && text_cut(&list, ',', &piece)) {
        piece = text_trim(piece);
        if (piece.len && wants_name(reconcile->arena, piece, &names[count], NULL))
            count++;
    }
    return count;
}

static size_t drop_doubles(struct text *names, size_t count)
{
    size_t kept = 0;
    if (count > 1)
        qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; i++)
        if (!kept || !text_equal(names[kept - 1], names[i]))
            names[kept++] = names[i];
    return kept;
}

static bool is_our_mark(const struct reconcile *reconcile, struct text by)
{
    struct text prefix = TEXT(PIHOLE_MANAGED_BY_PREFIX);
    if (!text_starts(by, prefix.at))
        return false;
    struct text owner = {by.at + prefix.len, by.len - prefix.len};
    return !reconcile->in->owner_id || text_is(owner, reconcile->in->owner_id);
}

static void list_managed(struct reconcile *reconcile)
{
    const struct pihole_managed *ours = &reconcile->source->ours;
    reconcile->is_marked = is_our_mark(reconcile, ours->managed_by);
    reconcile->was_foreign = !ours->managed_by.len && ours->managed_hosts.len;
    if (!reconcile->is_marked && !reconcile->was_foreign)
        return;
    size_t most = 1;
    for (size_t i = 0; i < ours->managed_hosts.len; i++)
        most += ours->managed_hosts.at[i] == ',';
    if (most > WANTS_LOOKED_MAX)
        most = WANTS_LOOKED_MAX;
    struct text *names = arena_new_array(reconcile->arena, struct text, most);
    reconcile->managed_count =
        drop_doubles(names, read_managed(reconcile, ours->managed_hosts, names));
    reconcile->managed = names;
}

// ---- Pi-holes -----------------------------------------------------------------------------------

const struct pihole_target *reconcile_target(const struct reconcile *reconcile,
                                             const char *registry)
{
    for (size_t i = 0; i < reconcile->targets->count; i++)
        if (!strcmp(reconcile->targets->items[i].url, registry))
            return &reconcile->targets->items[i];
    return NULL;
}

const struct backend_view *reconcile_backend(const struct reconcile *reconcile,
                                             const struct pihole_target *target)
{
    for (size_t i = 0; i < reconcile->in->backend_count; i++) {
        const struct backend_view *backend = reconcile->in->backends[i];
        if (backend && !strcmp(backend->name, target->backend))
            return backend;
    }
    return NULL;
}

// ---- deciding -----------------------------------------------------------------------------------

void reconcile_decide(const struct snapshot *snapshot, const struct source *source,
                      struct decision *out)
{
    const struct object *subject = snapshot->subject;
    struct reconcile reconcile = {
        .in = snapshot,
        .out = out,
        .arena = snapshot->arena,
        .targets = snapshot->settings ? snapshot->settings : &pihole_targets_defaults,
        .source = subject && !subject->is_lost ? source : NULL,
        .is_going = subject && subject->deleted_s,
        .problems = {.arena = snapshot->arena},
    };
    list_standing(&reconcile);
    if (reconcile.source) {
        reconcile.epoch = object_spec_hash(subject);
        wants_read(reconcile.arena, reconcile.source, reconcile.targets, snapshot->namespace_,
                   &reconcile.wants, &reconcile.problems);
        list_managed(&reconcile);
    }
    if (reconcile.is_going) {
        reconcile.wants.is_registered = reconcile.wants.is_frozen = false;
        reconcile.problems = (struct problems){.arena = snapshot->arena};
    }
    reconcile_claim(&reconcile);
    reconcile_report(&reconcile);
}
