#include "controllers/ingress/turn.h"

#include <stdlib.h>
#include <string.h>

// ---- receipts by name ---------------------------------------------------------------------------

static int compare_standing(const void *a, const void *b)
{
    const struct receipt *left = ((const struct standing *)a)->receipt;
    const struct receipt *right = ((const struct standing *)b)->receipt;
    int order = text_compare(left->domain, right->domain);
    if (!order)
        order = strcmp(left->book, right->book);
    return order ? order : (left->type > right->type) - (left->type < right->type);
}

static void list_standing(struct turn *turn)
{
    turn->standing_count = turn->in->receipt_count;
    turn->standing = arena_new_array(turn->arena, struct standing, turn->standing_count + 1);
    for (size_t i = 0; i < turn->standing_count; i++)
        turn->standing[i].receipt = &turn->in->receipts[i];
    if (turn->standing_count > 1)
        qsort(turn->standing, turn->standing_count, sizeof *turn->standing, compare_standing);
}

struct standing *turn_find(const struct turn *turn, struct text name, size_t *count)
{
    size_t low = 0;
    size_t high = turn->standing_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (text_compare(turn->standing[middle].receipt->domain, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (*count = 0; low + *count < turn->standing_count;)
        if (text_equal(turn->standing[low + *count].receipt->domain, name))
            ++*count;
        else
            break;
    return &turn->standing[low];
}

bool turn_is_settled(const struct receipt *receipt, enum claim_intent intent)
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

bool turn_manages(const struct turn *turn, struct text name)
{
    return is_among(turn->managed, turn->managed_count, name);
}

// Names are few, but for those of the largest objects.
bool turn_wants(const struct turn *turn, struct text name)
{
    for (size_t i = 0; i < turn->wants.name_count; i++)
        if (text_equal(turn->wants.names[i], name))
            return true;
    return false;
}

// Whatever a predecessor or a person put there is checked as any other name.
static size_t read_managed(const struct turn *turn, struct text list, struct text *names)
{
    size_t count = 0;
    struct text piece;
    while (count < WANTS_LOOKED_MAX && text_cut(&list, ',', &piece)) {
        piece = text_trim(piece);
        if (piece.len && wants_name(turn->arena, piece, &names[count], NULL))
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

static bool is_our_mark(const struct turn *turn, struct text by)
{
    struct text prefix = TEXT(PIHOLE_MANAGED_BY_PREFIX);
    if (!text_starts(by, prefix.at))
        return false;
    struct text owner = {by.at + prefix.len, by.len - prefix.len};
    return !turn->in->owner_id || text_is(owner, turn->in->owner_id);
}

static void list_managed(struct turn *turn)
{
    const struct pihole_ours *ours = &turn->source->ours;
    turn->is_marked = is_our_mark(turn, ours->managed_by);
    turn->was_foreign = !ours->managed_by.len && ours->managed_hosts.len;
    if (!turn->is_marked && !turn->was_foreign)
        return;
    size_t most = 1;
    for (size_t i = 0; i < ours->managed_hosts.len; i++)
        most += ours->managed_hosts.at[i] == ',';
    if (most > WANTS_LOOKED_MAX)
        most = WANTS_LOOKED_MAX;
    struct text *names = arena_new_array(turn->arena, struct text, most);
    turn->managed_count = drop_doubles(names, read_managed(turn, ours->managed_hosts, names));
    turn->managed = names;
}

// ---- Pi-holes -----------------------------------------------------------------------------------

const struct pihole_target *turn_target(const struct turn *turn, const char *book)
{
    for (size_t i = 0; i < turn->targets->count; i++)
        if (!strcmp(turn->targets->items[i].url, book))
            return &turn->targets->items[i];
    return NULL;
}

const struct lane_view *turn_lane(const struct turn *turn, const struct pihole_target *target)
{
    for (size_t i = 0; i < turn->in->lane_count; i++) {
        const struct lane_view *lane = turn->in->lanes[i];
        if (lane && !strcmp(lane->name, target->lane))
            return lane;
    }
    return NULL;
}

// ---- deciding -----------------------------------------------------------------------------------

void turn_decide(const struct snapshot *snapshot, const struct source *source, struct verdict *out)
{
    const struct object *subject = snapshot->subject;
    struct turn turn = {
        .in = snapshot,
        .out = out,
        .arena = snapshot->arena,
        .targets = snapshot->settings ? snapshot->settings : &pihole_targets_defaults,
        .source = subject && !subject->is_lost ? source : NULL,
        .is_going = subject && subject->deleted_s,
        .problems = {.arena = snapshot->arena},
    };
    list_standing(&turn);
    if (turn.source) {
        turn.epoch = object_spec_hash(subject);
        wants_read(turn.arena, turn.source, turn.targets, snapshot->namespace_, &turn.wants,
                   &turn.problems);
        list_managed(&turn);
    }
    if (turn.is_going) {
        turn.wants.is_registered = turn.wants.is_frozen = false;
        turn.problems = (struct problems){.arena = snapshot->arena};
    }
    turn_claim(&turn);
    turn_tell(&turn);
}
