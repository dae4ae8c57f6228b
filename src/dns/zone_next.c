#include "base/must.h"
#include "dns/rr_type.h"
#include "dns/zone_private.h"

// Where a set goes in the old version.
struct edit {
    struct rrset *set;
    uint32_t chunk;
    uint32_t item;
    bool replaces; // the one that stands there
};

// Looks on from where the edit before it went.
static void place_edit(const struct zone *old, struct edit *edit)
{
    struct rrset_key key = rrset_key(edit->set);
    size_t found = zone_find_chunk(old, edit->chunk, key);
    const struct zone_chunk *chunk = old->chunks[found];
    size_t from = found == edit->chunk ? edit->item : 0;
    edit->chunk = (uint32_t)found;
    edit->item = (uint32_t)zone_chunk_find(chunk, from, key);
    edit->replaces = edit->item < chunk->count && rrset_has_key(chunk->sets[edit->item], key);
}

static bool changes_something(const struct zone *old, const struct edit *edit)
{
    if (!edit->replaces)
        return edit->set->count > 0;
    return !rrset_equal(old->chunks[edit->chunk]->sets[edit->item], edit->set);
}

// Leaves out what changes nothing; returns how many are left.
static size_t place_edits(const struct zone *old, struct rrset *const *puts, size_t count,
                          struct edit *edits)
{
    size_t kept = 0;
    struct edit edit = {0};
    for (size_t i = 0; i < count; i++) {
        must(puts[i]->type != RR_SOA);
        must(i + 1 == count || rrset_compare(puts[i], puts[i + 1]) < 0);
        edit.set = puts[i];
        if (old->chunk_count)
            place_edit(old, &edit);
        if (changes_something(old, &edit))
            edits[kept++] = edit;
        else
            rrset_unref(edit.set);
    }
    return kept;
}

static void edit_chunk(struct zone_builder *builder, const struct zone_chunk *chunk,
                       const struct edit *edits, size_t count)
{
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        zone_builder_share(builder, chunk->sets + done, edits[i].item - done);
        done = edits[i].item + (edits[i].replaces ? 1u : 0u);
        if (edits[i].set->count)
            zone_builder_add(builder, edits[i].set);
        else
            rrset_unref(edits[i].set);
    }
    zone_builder_share(builder, chunk->sets + done, chunk->count - done);
    zone_builder_cut(builder);
}

static void apply_edits(struct zone_builder *builder, const struct zone *old,
                        const struct edit *edits, size_t count)
{
    size_t done = 0;
    mem_reserve(&builder->chunks, &builder->chunk_capacity, old->chunk_count + 1);
    for (size_t i = 0; i < old->chunk_count; i++) {
        size_t end = done;
        while (end < count && edits[end].chunk == i)
            end++;
        if (end == done)
            zone_builder_share_chunk(builder, old->chunks[i]);
        else
            edit_chunk(builder, old->chunks[i], edits + done, end - done);
        done = end;
    }
    for (; done < count; done++) // the old version was empty
        zone_builder_add(builder, edits[done].set);
}

struct zone *zone_next(const struct zone *old, struct rrset *soa, struct rrset **puts, size_t count)
{
    autofree struct rrset **sorted = rrset_sorted(puts, count);
    autofree struct edit *edits = mem_resize(NULL, count, sizeof *edits);
    struct zone_builder builder = {0};
    size_t kept = place_edits(old, sorted, count, edits);
    apply_edits(&builder, old, edits, kept);
    struct zone *zone = zone_builder_end(&builder, soa ? soa : rrset_ref(old->soa));
    zone_digest_inherit(zone, old);
    return zone;
}
