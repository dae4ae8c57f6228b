#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "dns/ledger_private.h"

enum { PREFIX_BITS = 32 };

// ---- bits ---------------------------------------------------------------------------------------

static uint32_t mask_of(unsigned len)
{
    return len ? UINT32_MAX << (PREFIX_BITS - len) : 0;
}

bool ledger_bits_cover(struct ledger_bits bits, uint32_t prefix)
{
    return (prefix & mask_of(bits.len)) == bits.prefix;
}

static struct ledger_bits child_of(struct ledger_bits bits, unsigned bit)
{
    return (struct ledger_bits){bits.prefix | (uint32_t)bit << (PREFIX_BITS - 1 - bits.len),
                                bits.len + 1};
}

static bool is_same(struct ledger_bits a, struct ledger_bits b)
{
    return a.len == b.len && a.prefix == b.prefix;
}

bool ledger_bits_read(struct text text, struct ledger_bits *out)
{
    struct ledger_bits bits = {0};
    if (text_is(text, "x")) {
        *out = bits;
        return true;
    }
    if (!text.len || text.len > LEDGER_BITS_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] != '0' && text.at[i] != '1')
            return false;
        bits = child_of(bits, text.at[i] == '1');
    }
    *out = bits;
    return true;
}

static void write_bits(struct ledger_bits bits, char out[LEDGER_BITS_MAX + 1])
{
    for (unsigned i = 0; i < bits.len; i++)
        out[i] = bits.prefix >> (PREFIX_BITS - 1 - i) & 1 ? '1' : '0';
    if (!bits.len)
        out[0] = 'x';
    out[bits.len ? bits.len : 1] = '\0';
}

// ---- shards -------------------------------------------------------------------------------------

static bool is_live(const struct ledger_shard *shard)
{
    return shard->is_used && !shard->is_doomed;
}

uint32_t ledger_shard_of(const struct ledger *ledger, uint32_t prefix)
{
    uint32_t best = LEDGER_NO_SHARD;
    for (uint32_t i = 0; i < ledger->shard_count; i++) {
        const struct ledger_shard *shard = &ledger->shards[i];
        if (is_live(shard) && ledger_bits_cover(shard->bits, prefix) &&
            (best == LEDGER_NO_SHARD || shard->bits.len > ledger->shards[best].bits.len))
            best = i;
    }
    return best;
}

static uint32_t find(const struct ledger *ledger, struct ledger_bits bits)
{
    for (uint32_t i = 0; i < ledger->shard_count; i++)
        if (ledger->shards[i].is_used && is_same(ledger->shards[i].bits, bits))
            return i;
    return LEDGER_NO_SHARD;
}

uint32_t ledger_shard_add(struct ledger *ledger, struct ledger_bits bits)
{
    uint32_t at = 0;
    while (at < ledger->shard_count && ledger->shards[at].is_used)
        at++;
    if (at == ledger->shard_count) {
        mem_reserve(&ledger->shards, &ledger->shard_capacity, ledger->shard_count + 1);
        ledger->shard_count++;
    }
    ledger->shards[at] = (struct ledger_shard){.bits = bits, .is_used = true};
    return at;
}

static uint32_t make(struct ledger *ledger, struct ledger_bits bits)
{
    uint32_t at = ledger_shard_add(ledger, bits);
    ledger->shards[at].is_dirty = true;
    return at;
}

uint32_t ledger_shard_for(struct ledger *ledger, uint32_t prefix)
{
    uint32_t at = ledger_shard_of(ledger, prefix);
    return at == LEDGER_NO_SHARD ? make(ledger, (struct ledger_bits){0}) : at;
}

static void forget(struct ledger_shard *shard)
{
    free(shard->version);
    *shard = (struct ledger_shard){0};
}

void ledger_shards_free(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->shard_count; i++)
        free(ledger->shards[i].version);
    free(ledger->shards);
}

void ledger_shard_count(struct ledger *ledger, const struct ledger_item *item, bool is_more)
{
    uint32_t at = ledger_shard_of(ledger, item->prefix);
    if (at == LEDGER_NO_SHARD)
        return;
    size_t octets = ledger_item_octets(item);
    struct ledger_shard *shard = &ledger->shards[at];
    shard->count = is_more ? shard->count + 1 : shard->count - 1;
    shard->octets = is_more ? shard->octets + octets : shard->octets - octets;
}

// ---- splitting ----------------------------------------------------------------------------------

static bool is_too_large(const struct ledger_shard *shard)
{
    return shard->bits.len < LEDGER_BITS_MAX && shard->count > 1 &&
           (shard->count > LEDGER_ENTRIES_MAX || shard->octets > LEDGER_OCTETS_MAX);
}

// One that has never been written needs no dropping.
static void doom(struct ledger_shard *shard)
{
    shard->is_doomed = true;
    shard->is_dirty = false;
    shard->count = shard->octets = 0;
    if (!shard->version && !shard->is_being_put)
        forget(shard);
}

static void count_anew(struct ledger *ledger, struct ledger_bits bits)
{
    for (uint32_t id = 0; id < ledger->slots.end; id++) {
        const struct ledger_item *item = &ledger->items[id];
        if (item->octets && ledger_bits_cover(bits, item->prefix))
            ledger_shard_count(ledger, item, true);
    }
}

// Is there a shard with these bits, or more?
static bool has_any(const struct ledger *ledger, struct ledger_bits bits)
{
    for (size_t i = 0; i < ledger->shard_count; i++)
        if (is_live(&ledger->shards[i]) && ledger->shards[i].bits.len >= bits.len &&
            ledger_bits_cover(bits, ledger->shards[i].bits.prefix))
            return true;
    return false;
}

// Do others hold all that these bits cover?
static bool is_covered(const struct ledger *ledger, struct ledger_bits bits)
{
    uint32_t at = find(ledger, bits);
    if (at != LEDGER_NO_SHARD && is_live(&ledger->shards[at]))
        return true;
    return bits.len < LEDGER_BITS_MAX && has_any(ledger, bits) &&
           is_covered(ledger, child_of(bits, 0)) && is_covered(ledger, child_of(bits, 1));
}

// Its children have its entries from now on; what a longer prefix has already stays there.
static void split(struct ledger *ledger, uint32_t at)
{
    struct ledger_bits bits = ledger->shards[at].bits;
    for (unsigned bit = 0; bit < 2; bit++)
        if (!is_covered(ledger, child_of(bits, bit)))
            make(ledger, child_of(bits, bit));
    doom(&ledger->shards[at]);
    for (size_t i = 0; i < ledger->shard_count; i++)
        if (is_live(&ledger->shards[i]) && ledger_bits_cover(bits, ledger->shards[i].bits.prefix))
            ledger->shards[i].count = ledger->shards[i].octets = 0;
    count_anew(ledger, bits);
}

// NO_SHARD: none is.
static uint32_t find_too_large(const struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->shard_count; i++)
        if (is_live(&ledger->shards[i]) && is_too_large(&ledger->shards[i]))
            return i;
    return LEDGER_NO_SHARD;
}

void ledger_shard_touch(struct ledger *ledger, uint32_t shard)
{
    ledger->shards[shard].is_dirty = true;
    while ((shard = find_too_large(ledger)) != LEDGER_NO_SHARD)
        split(ledger, shard);
}

// A split that broke off: some of those that are to replace it are there.
static uint32_t find_half_split(const struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->shard_count; i++) {
        const struct ledger_shard *shard = &ledger->shards[i];
        if (is_live(shard) && shard->bits.len < LEDGER_BITS_MAX &&
            (has_any(ledger, child_of(shard->bits, 0)) ||
             has_any(ledger, child_of(shard->bits, 1))))
            return i;
    }
    return LEDGER_NO_SHARD;
}

void ledger_shards_finish(struct ledger *ledger)
{
    uint32_t shard;
    while ((shard = find_half_split(ledger)) != LEDGER_NO_SHARD)
        split(ledger, shard);
}

void ledger_shards_touch(struct ledger *ledger)
{
    bool has_live = false;
    for (size_t i = 0; i < ledger->shard_count; i++) {
        struct ledger_shard *shard = &ledger->shards[i];
        shard->is_dirty = shard->is_dirty || is_live(shard);
        has_live = has_live || is_live(shard);
    }
    if (!has_live)
        make(ledger, (struct ledger_bits){0});
}

void ledger_shards_settle(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->shard_count; i++) {
        struct ledger_shard *shard = &ledger->shards[i];
        if (shard->bits.len < LEDGER_BITS_MAX && is_covered(ledger, child_of(shard->bits, 0)) &&
            is_covered(ledger, child_of(shard->bits, 1)))
            doom(shard);
    }
}

// ---- what is due --------------------------------------------------------------------------------

static bool wants_drop(const struct ledger_shard *shard)
{
    return shard->is_used && shard->is_doomed && shard->version && !shard->is_being_put &&
           !shard->is_being_dropped;
}

bool ledger_is_due(const struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->shard_count; i++)
        if (ledger->shards[i].is_dirty || wants_drop(&ledger->shards[i]))
            return true;
    return false;
}

static void make_task(const struct ledger *ledger, uint32_t at, struct ledger_task *out)
{
    char bits[LEDGER_BITS_MAX + 1];
    write_bits(ledger->shards[at].bits, bits);
    *out = (struct ledger_task){.shard = at, .version = ledger->shards[at].version};
    snprintf(out->name, sizeof out->name, "%s%s", ledger->prefix, bits);
}

bool ledger_next_put(struct ledger *ledger, struct ledger_task *out)
{
    for (uint32_t i = 0; i < ledger->shard_count; i++) {
        struct ledger_shard *shard = &ledger->shards[i];
        if (!shard->is_dirty || shard->is_being_put)
            continue;
        shard->is_dirty = false;
        shard->is_being_put = true;
        make_task(ledger, i, out);
        return true;
    }
    return false;
}

void ledger_was_put(struct ledger *ledger, uint32_t shard, const char *version)
{
    struct ledger_shard *put = &ledger->shards[shard];
    must(put->is_used && put->is_being_put);
    put->is_being_put = false;
    free(put->version);
    put->version = mem_copy_text(version);
}

static bool is_being_written(const struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->shard_count; i++)
        if (ledger->shards[i].is_dirty || ledger->shards[i].is_being_put)
            return true;
    return false;
}

bool ledger_next_drop(struct ledger *ledger, struct ledger_task *out)
{
    for (uint32_t i = 0; !is_being_written(ledger) && i < ledger->shard_count; i++) {
        if (!wants_drop(&ledger->shards[i]))
            continue;
        ledger->shards[i].is_being_dropped = true;
        make_task(ledger, i, out);
        return true;
    }
    return false;
}

void ledger_was_dropped(struct ledger *ledger, uint32_t shard)
{
    must(ledger->shards[shard].is_used && ledger->shards[shard].is_being_dropped);
    forget(&ledger->shards[shard]);
}
