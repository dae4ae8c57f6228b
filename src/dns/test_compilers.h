#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "base/slab.h"
#include "dns/rdata.h"
#include "dns/rr_type.h"
#include "dns/zone_compiler.h"

// Compilers for tests, of shop.example., fed with lines of text.

static const struct dname shop = {(const uint8_t *)"\4shop\7example", 14};

// Somebody's record.
struct thing {
    char name[16];
    unsigned age; // the smaller one is older
    struct zone_record *record;
    struct zone_outcome outcome; // as it was told last
    size_t reported;
};

static inline int compare_things(const void *a, const void *b)
{
    const struct thing *left = a;
    const struct thing *right = b;
    return (left->age > right->age) - (left->age < right->age);
}

static inline void write_thing(const void *tag, struct buffer *out)
{
    const struct thing *thing = tag;
    buffer_add_text(out, thing->name);
}

static inline void handle_outcome(void *context, const void *tag,
                                  const struct zone_outcome *outcome)
{
    struct thing *thing = (struct thing *)(uintptr_t)tag;
    thing->outcome = *outcome;
    thing->reported++;
    *(size_t *)context += 1;
}

static inline size_t settle(struct zone_compiler *compiler)
{
    size_t reported = 0;
    zone_compiler_settle(compiler, handle_outcome, &reported);
    return reported;
}

static inline struct dname read_name(const char *text, uint8_t out[DNAME_MAX])
{
    struct dname name = {0};
    struct error err = {0};
    must(dname_read(text_of(text), &shop, DNAME_OF_FILE, out, &name, &err));
    return name;
}

static inline struct text next_word(struct text *rest)
{
    struct text word = {NULL, 0};
    *rest = text_trim(*rest);
    must(text_cut(rest, ' ', &word));
    return word;
}

// "www 300 A 192.0.2.7": relative to shop.example.; the TTL may be left out. *entry borrows from
// `owner` and `rdata`.
static inline void read_entry(const char *line, uint8_t owner[DNAME_MAX], struct buffer *rdata,
                              struct zone_entry *entry)
{
    struct text rest = text_of(line);
    struct error err = {0};
    int64_t ttl_s;
    struct text word = next_word(&rest);
    *entry = (struct zone_entry){0};
    must(dname_read(word, &shop, DNAME_OF_FILE, owner, &entry->owner, &err));
    word = next_word(&rest);
    if (text_to_int64(word, &ttl_s)) {
        entry->has_ttl = true;
        entry->ttl_s = (uint32_t)ttl_s;
        word = next_word(&rest);
    }
    must(rr_type_read(word, &entry->type));
    struct rdata_rules rules = {&shop, DNAME_OF_FILE};
    if (!rdata_read(entry->type, text_trim(rest), &rules, rdata, &entry->marks, &err)) {
        fprintf(stderr, "'%s': %s\n", line, err.text);
        must(!"the test's rdata can be read");
    }
    entry->rdata = buffer_text(rdata);
}

static inline void put(struct zone_compiler *compiler, struct thing *thing, const char *line)
{
    uint8_t owner[DNAME_MAX];
    AUTO_BUFFER rdata = {0};
    struct zone_entry entry;
    read_entry(line, owner, &rdata, &entry);
    entry.tag = thing;
    thing->record = zone_compiler_put(compiler, &entry);
}

// In which new compilers keep what they have; NULL: each has memory of its own.
static struct slab *compilers_slab;

static inline struct zone_compiler *compiler_of_shop(void)
{
    const struct zone_compiler_ops ops = {compare_things, write_thing, compilers_slab};
    return zone_compiler_new(shop, &ops);
}

static inline struct zone_frame plain_frame(void)
{
    return (struct zone_frame){
        .rname = {(const uint8_t *)"\3noc\4shop\7example", 18},
        .ttl_s = 360,
        .refresh_s = 86400,
        .retry_s = 7200,
        .expire_s = 3600000,
        .minimum_s = 360,
    };
}

static inline void write_record(struct buffer *out, const struct rrset *set, struct text rdata)
{
    char type[10];
    dname_write(out, rrset_owner(set));
    buffer_printf(out, " %u IN %s ", set->ttl_s, rr_type_write(set->type, type));
    rdata_write(out, set->type, rdata);
    buffer_add_char(out, '\n');
}
