#include "controllers/zone/zone_tree_rules.h"

#include <stdlib.h>
#include <string.h>

#include "dns/dname_pattern.h"
#include "dns/rr_type.h"

enum {
    NAMED_MAX = 4,
    // Each record is compared with each of them.
    PATTERNS_MAX = 10000,
    WILDCARDS_MAX = 1000,
};

// Per delegation three blocks, each with its length in front: namespaces, patterns of zones,
// patterns of records. A pattern has in front how long it is, and its tail behind the last label
// with a *, which names end in that it matches. An empty list of namespaces or types stands for all
// of them, one of which nothing could be read does not.
struct rules {
    unsigned oddities; // 1 << enum rules_oddity
    size_t len;
    char data[];
};

enum { ANY = 1, LISTED = 0 };

// ---- making -------------------------------------------------------------------------------------

struct reader {
    struct dname zone;
    size_t patterns;
    size_t wildcards;
};
struct maker {
    struct reader reader;
    struct buffer out;
    unsigned oddities;
};

static size_t tail_of(const struct dname_pattern *pattern)
{
    size_t tail = 0;
    for (size_t at = 0; pattern->octets[at]; at += pattern->octets[at] + 1u)
        if (memchr(pattern->octets + at + 1, '*', pattern->octets[at]))
            tail = at + pattern->octets[at] + 1u;
    return pattern->len - tail;
}

static bool read_pattern(struct reader *reader, struct text text, struct dname_pattern *out,
                         struct error *err)
{
    if (!dname_pattern_read(text, reader->zone, out, err))
        return false;
    if (++reader->patterns > PATTERNS_MAX)
        return error_set(err, FAULT_SPEC, NULL, "the zone has more than %d", PATTERNS_MAX);
    reader->wildcards += tail_of(out) < out->len;
    if (reader->wildcards > WILDCARDS_MAX && tail_of(out) < out->len)
        return error_set(err, FAULT_SPEC, NULL, "the zone has more than %d with *", WILDCARDS_MAX);
    return true;
}

static void add_u16(struct buffer *out, uint16_t number)
{
    buffer_add(out, &number, sizeof number);
}

static size_t begin_block(struct buffer *out)
{
    static const uint32_t later = 0;
    buffer_add(out, &later, sizeof later);
    return out->len;
}

static void end_block(struct buffer *out, size_t at)
{
    uint32_t len = (uint32_t)(out->len - at);
    memcpy(out->at + at - sizeof len, &len, sizeof len);
}

static void add_namespaces(struct buffer *out, const struct text *namespaces, size_t count)
{
    size_t block = begin_block(out);
    buffer_add_char(out, count ? LISTED : ANY);
    for (size_t i = 0; i < count; i++) {
        if (namespaces[i].len > UINT8_MAX)
            continue;
        buffer_add_char(out, (char)namespaces[i].len);
        buffer_add(out, namespaces[i].at, namespaces[i].len);
    }
    end_block(out, block);
}

static unsigned oddities_of(const struct dname_pattern *pattern)
{
    return (pattern->looks_absolute ? 1u << RULES_LOOKS_ABSOLUTE : 0) |
           (pattern->is_outside ? 1u << RULES_OUTSIDE : 0);
}

static bool add_pattern(struct maker *maker, struct text text)
{
    struct dname_pattern pattern;
    if (!read_pattern(&maker->reader, text, &pattern, NULL)) {
        maker->oddities |= 1u << RULES_INVALID;
        return false;
    }
    maker->oddities |= oddities_of(&pattern);
    buffer_add_char(&maker->out, (char)tail_of(&pattern));
    buffer_add_char(&maker->out, (char)pattern.len);
    buffer_add(&maker->out, pattern.octets, pattern.len);
    return true;
}

static void add_types(struct buffer *out, const struct text *types, size_t count)
{
    size_t block = begin_block(out);
    uint16_t type;
    buffer_add_char(out, count ? LISTED : ANY);
    for (size_t i = 0; i < count; i++)
        if (rr_type_read(types[i], &type))
            add_u16(out, type);
    end_block(out, block);
}

static void add_zones(struct maker *maker, const struct text *patterns, size_t count)
{
    size_t block = begin_block(&maker->out);
    for (size_t i = 0; i < count; i++)
        (void)add_pattern(maker, patterns[i]);
    end_block(&maker->out, block);
}

static void add_records(struct maker *maker, const struct zone_delegation *delegation)
{
    size_t block = begin_block(&maker->out);
    for (size_t i = 0; i < delegation->record_count; i++)
        if (add_pattern(maker, delegation->records[i].pattern))
            add_types(&maker->out, delegation->records[i].types, delegation->records[i].type_count);
    end_block(&maker->out, block);
}

static struct rules *finish(struct maker *maker)
{
    struct rules *rules = mem_new(1, sizeof *rules + maker->out.len);
    rules->oddities = maker->oddities;
    rules->len = maker->out.len;
    if (rules->len)
        memcpy(rules->data, maker->out.at, rules->len);
    buffer_done(&maker->out);
    return rules;
}

struct rules *rules_new(const struct zone_spec *spec, struct dname zone)
{
    struct maker maker = {.reader = {.zone = zone}};
    for (size_t i = 0; i < spec->delegation_count; i++) {
        const struct zone_delegation *delegation = &spec->delegations[i];
        add_namespaces(&maker.out, delegation->namespaces, delegation->namespace_count);
        add_zones(&maker, delegation->zones, delegation->zone_count);
        add_records(&maker, delegation);
    }
    return finish(&maker);
}

static void add_claim(struct maker *maker, const struct zone_tree_claim *claim)
{
    size_t block = begin_block(&maker->out);
    buffer_add_char(&maker->out, claim->namespace_count ? LISTED : ANY);
    for (size_t i = 0; i < claim->namespace_count; i++) {
        struct text name = text_of(claim->namespaces[i]);
        if (name.len > UINT8_MAX)
            continue;
        buffer_add_char(&maker->out, (char)name.len);
        buffer_add(&maker->out, name.at, name.len);
    }
    end_block(&maker->out, block);
    block = begin_block(&maker->out);
    for (size_t i = 0; i < claim->pattern_count; i++)
        (void)add_pattern(maker, text_of(claim->patterns[i]));
    end_block(&maker->out, block);
    end_block(&maker->out, begin_block(&maker->out));
}

struct rules *rules_of_claims(const struct zone_tree_claim *claims, size_t count)
{
    struct maker maker = {.reader = {.zone = {(const uint8_t *)"", 1}}};
    for (size_t i = 0; i < count; i++)
        add_claim(&maker, &claims[i]);
    return finish(&maker);
}

void rules_free(struct rules *rules)
{
    free(rules);
}

bool rules_equal(const struct rules *a, const struct rules *b)
{
    if (!a || !b)
        return a == b;
    return a->oddities == b->oddities && a->len == b->len && !memcmp(a->data, b->data, a->len);
}

bool rules_have(const struct rules *rules, enum rules_oddity oddity)
{
    return rules && (rules->oddities & 1u << oddity);
}

// ---- asking -------------------------------------------------------------------------------------

static struct text take(struct text *rest, size_t len)
{
    struct text front = {rest->at, len};
    rest->at += len;
    rest->len -= len;
    return front;
}

static struct text take_block(struct text *rest)
{
    uint32_t len;
    memcpy(&len, take(rest, sizeof len).at, sizeof len);
    return take(rest, len);
}

static struct text take_short(struct text *rest)
{
    uint8_t len = (uint8_t)*take(rest, 1).at;
    return take(rest, len);
}

static bool holds_namespace(struct text block, struct text namespace_)
{
    if (*take(&block, 1).at == ANY)
        return true;
    while (block.len)
        if (text_equal(take_short(&block), namespace_))
            return true;
    return false;
}

static bool holds_type(struct text block, uint16_t type)
{
    if (*take(&block, 1).at == ANY)
        return true;
    while (block.len)
        if (!memcmp(take(&block, sizeof type).at, &type, sizeof type))
            return true;
    return false;
}

struct packed {
    struct text octets;
    size_t tail;
};

static struct packed take_pattern(struct text *rest)
{
    uint8_t tail = (uint8_t)*take(rest, 1).at;
    return (struct packed){take_short(rest), tail};
}

static bool may_match(const struct packed *packed, struct dname name)
{
    const char *tail = packed->octets.at + packed->octets.len - packed->tail;
    if (name.len < packed->tail || memcmp(name.at + name.len - packed->tail, tail, packed->tail))
        return false;
    return packed->tail < packed->octets.len || name.len == packed->tail;
}

static void unpack_pattern(const struct packed *packed, struct dname_pattern *pattern)
{
    memcpy(pattern->octets, packed->octets.at, packed->octets.len);
    pattern->len = packed->octets.len;
}

static bool matches(const struct packed *packed, struct dname name)
{
    struct dname_pattern pattern;
    if (!may_match(packed, name))
        return false;
    unpack_pattern(packed, &pattern);
    return dname_pattern_matches(&pattern, name);
}

static bool matches_loosely(const struct packed *packed, struct dname name)
{
    struct dname_pattern pattern;
    if (!may_match(packed, name))
        return false;
    unpack_pattern(packed, &pattern);
    return dname_pattern_matches_loosely(&pattern, name);
}

bool rules_hold_zone(const struct rules *rules, struct text namespace_, struct dname name)
{
    struct text rest = {rules->data, rules->len};
    while (rest.len) {
        bool is_held = holds_namespace(take_block(&rest), namespace_);
        struct text zones = take_block(&rest);
        (void)take_block(&rest);
        while (is_held && zones.len) {
            struct packed packed = take_pattern(&zones);
            if (matches(&packed, name))
                return true;
        }
    }
    return false;
}

static enum rules_answer ask_record(struct text *records, struct dname name, uint16_t type)
{
    struct packed packed = take_pattern(records);
    struct text types = take_block(records);
    if (matches(&packed, name))
        return holds_type(types, type) ? RULES_YES : RULES_OTHER_TYPES;
    return matches_loosely(&packed, name) && holds_type(types, type) ? RULES_LOOSELY : RULES_NO;
}

enum rules_answer rules_ask(const struct rules *rules, struct text namespace_, struct dname name,
                            uint16_t type)
{
    enum rules_answer best = RULES_NO;
    struct text rest = {rules->data, rules->len};
    while (rest.len && best != RULES_YES) {
        bool is_held = holds_namespace(take_block(&rest), namespace_);
        (void)take_block(&rest);
        struct text records = take_block(&rest);
        while (is_held && records.len && best != RULES_YES) {
            enum rules_answer answer = ask_record(&records, name, type);
            best = answer > best ? answer : best;
        }
    }
    return best;
}

// ---- telling ------------------------------------------------------------------------------------

struct teller {
    struct reader reader;
    enum rules_oddity oddity;
    size_t count;
    struct buffer *out;
};

static void report_pattern(struct teller *teller, struct text text)
{
    struct dname_pattern pattern;
    struct error err;
    bool is_read = read_pattern(&teller->reader, text, &pattern, &err);
    unsigned oddities = is_read ? oddities_of(&pattern) : 1u << RULES_INVALID;
    if (!(oddities & 1u << teller->oddity) || teller->count++ >= NAMED_MAX)
        return;
    if (teller->count > 1)
        buffer_add_text(teller->out, "; ");
    buffer_add_text(teller->out, "pattern ");
    text_clean(teller->out, text, 80);
    if (!is_read)
        buffer_printf(teller->out, ": %s", err.text);
}

static void report_delegation(struct teller *teller, const struct zone_delegation *delegation)
{
    for (size_t i = 0; i < delegation->zone_count; i++)
        report_pattern(teller, delegation->zones[i]);
    for (size_t i = 0; i < delegation->record_count; i++)
        report_pattern(teller, delegation->records[i].pattern);
}

void rules_explain(const struct zone_spec *spec, struct dname zone, enum rules_oddity oddity,
                   struct buffer *out)
{
    static const char *const ends[] = {
        [RULES_INVALID] = ": delegates nothing",
        [RULES_LOOKS_ABSOLUTE] =
            ": ends in the zone's own name, which is added once more; end it with a dot",
        [RULES_OUTSIDE] = ": is not within the zone, and so delegates nothing",
    };
    struct teller teller = {.reader = {.zone = zone}, .oddity = oddity, .out = out};
    for (size_t i = 0; i < spec->delegation_count; i++)
        report_delegation(&teller, &spec->delegations[i]);
    if (teller.count > NAMED_MAX)
        buffer_printf(out, "; and %zu more", teller.count - NAMED_MAX);
    buffer_add_text(out, ends[oddity]);
}
