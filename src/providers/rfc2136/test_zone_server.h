#pragma once

// For tests: a name server with one zone in memory that takes queries and UPDATEs (RFC 2136) under
// a TSIG key. A wildcard answers where nothing stands; a CNAME beside other data is dropped without
// a word, as BIND and Knot do.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "dns/tsig.h"

enum {
    HEADER = 12,
    RECORDS_MAX = 512,
    NAME_OCTETS = 256,
    CLASS_IN = 1,
    CLASS_NONE = 254,
    CLASS_ANY = 255,
    TYPE_CNAME = 5,
    TYPE_ANY = 255,
    OPCODE_UPDATE = 5,
};

struct zone_record {
    char name[NAME_OCTETS]; // lower case, no final dot
    unsigned type;
    uint32_t ttl_s;
    struct text rdata; // wire format, names in it written out
};

struct zone_server {
    struct arena *arena;
    struct tsig_key key;
    int64_t unix_s;
    struct zone_record records[RECORDS_MAX];
    size_t count;
    size_t changes;   // UPDATEs that changed something
    size_t updates;   // that came, whatever came of them
    bool is_refusing; // UPDATEs, all of them
    // Called before the first UPDATE: somebody else writes.
    void (*meddle)(struct zone_server *server);
};

// ---- the zone -----------------------------------------------------------------------------------

static inline struct zone_record *zone_server_find(struct zone_server *server, const char *name,
                                                   unsigned type)
{
    for (size_t i = 0; i < server->count; i++)
        if (!strcmp(server->records[i].name, name) &&
            (type == TYPE_ANY || server->records[i].type == type))
            return &server->records[i];
    return NULL;
}

static inline bool zone_server_is_at(const struct zone_record *record, const char *name,
                                     unsigned type)
{
    return !strcmp(record->name, name) && (type == TYPE_ANY || record->type == type);
}

static inline bool zone_server_drops(struct zone_server *server, const struct zone_record *record)
{
    const struct zone_record *cname = zone_server_find(server, record->name, TYPE_CNAME);
    const struct zone_record *any = zone_server_find(server, record->name, TYPE_ANY);
    return record->type == TYPE_CNAME ? any && !cname : cname != NULL;
}

static inline bool zone_server_delete(struct zone_server *server, const char *name, unsigned type,
                                      const struct text *rdata)
{
    size_t kept = 0, count = server->count;
    for (size_t i = 0; i < count; i++) {
        bool is_gone = zone_server_is_at(&server->records[i], name, type) &&
                       (!rdata || text_equal(server->records[i].rdata, *rdata));
        if (!is_gone)
            server->records[kept++] = server->records[i];
    }
    server->count = kept;
    return kept != count;
}

static inline bool zone_server_add(struct zone_server *server, struct zone_record record)
{
    if (zone_server_drops(server, &record))
        return false;
    zone_server_delete(server, record.name, record.type, &record.rdata);
    assert_true(server->count < RECORDS_MAX);
    server->records[server->count++] = record;
    return true;
}

static inline void zone_server_put(struct zone_server *server, const char *name, unsigned type,
                                   const char *rdata, size_t len)
{
    struct zone_record record = {.type = type, .ttl_s = 300};
    snprintf(record.name, sizeof record.name, "%s", name);
    record.rdata = (struct text){arena_copy(server->arena, rdata, len), len};
    assert_true(zone_server_add(server, record));
}

// 192.0.2.host
static inline void zone_server_put_a(struct zone_server *server, const char *name, uint8_t host)
{
    const char rdata[] = {(char)192, 0, 2, (char)host};
    zone_server_put(server, name, 1, rdata, sizeof rdata);
}

static inline void zone_server_put_txt(struct zone_server *server, const char *name,
                                       const char *text)
{
    const char *rdata = arena_printf(server->arena, "%c%s", (char)strlen(text), text);
    zone_server_put(server, name, 16, rdata, strlen(text) + 1);
}

// The records of a name and type as "192.0.2.1 192.0.2.2"; TXT as its text, and so on.
static inline const char *zone_server_show(struct zone_server *server, const char *name,
                                           unsigned type)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < server->count; i++) {
        const struct zone_record *record = &server->records[i];
        const unsigned char *at = (const unsigned char *)record->rdata.at;
        if (!zone_server_is_at(record, name, type))
            continue;
        if (out.len)
            buffer_add_text(&out, " ");
        if (type == 1)
            buffer_printf(&out, "%u.%u.%u.%u", at[0], at[1], at[2], at[3]);
        else
            buffer_add(&out, record->rdata.at + 1, record->rdata.len - 1);
    }
    return arena_copy(server->arena, out.len ? out.at : "", out.len);
}

// ---- wire format --------------------------------------------------------------------------------

static inline unsigned wire_u16(const char *at)
{
    return (unsigned)(unsigned char)at[0] << 8 | (unsigned char)at[1];
}

static inline void wire_add_u16(struct buffer *out, unsigned number)
{
    buffer_add_char(out, (char)(number >> 8));
    buffer_add_char(out, (char)number);
}

static inline size_t wire_read_name(struct text octets, size_t at, char name[NAME_OCTETS])
{
    size_t len = 0, end = 0;
    for (unsigned char label; (label = (unsigned char)octets.at[at]);) {
        if (label >= 0xc0) {
            end = end ? end : at + 2;
            at = wire_u16(octets.at + at) & 0x3fff;
            continue;
        }
        if (len)
            name[len++] = '.';
        memcpy(name + len, octets.at + at + 1, label);
        len += label;
        at += label + 1U;
    }
    name[len] = '\0';
    return end ? end : at + 1;
}

static inline void wire_add_name(struct buffer *out, const char *name)
{
    struct text rest = text_of(name), label;
    while (rest.len && text_cut(&rest, '.', &label)) {
        buffer_add_char(out, (char)label.len);
        buffer_add(out, label.at, label.len);
    }
    buffer_add_char(out, 0);
}

// One RR of a request.
struct wire_rr {
    struct zone_record record;
    unsigned class;
};

static inline size_t wire_read_rr(struct zone_server *server, struct text octets, size_t at,
                                  struct wire_rr *rr)
{
    AUTO_BUFFER target = {0};
    char name[NAME_OCTETS];
    at = wire_read_name(octets, at, rr->record.name);
    rr->record.type = wire_u16(octets.at + at);
    rr->class = wire_u16(octets.at + at + 2);
    rr->record.ttl_s = wire_u16(octets.at + at + 4) << 16 | wire_u16(octets.at + at + 6);
    size_t len = wire_u16(octets.at + at + 8);
    struct text rdata = {octets.at + at + 10, len};
    if (rr->record.type == TYPE_CNAME && len) {
        wire_read_name(octets, at + 10, name);
        wire_add_name(&target, name);
        rdata = buffer_text(&target);
    }
    rr->record.rdata = (struct text){arena_copy(server->arena, rdata.at, rdata.len), rdata.len};
    return at + 10 + len;
}

static inline void wire_add_rr(struct buffer *out, const char *name, struct zone_record record)
{
    wire_add_name(out, name);
    wire_add_u16(out, record.type);
    wire_add_u16(out, CLASS_IN);
    wire_add_u16(out, record.ttl_s >> 16);
    wire_add_u16(out, record.ttl_s & 0xffff);
    wire_add_u16(out, (unsigned)record.rdata.len);
    buffer_add(out, record.rdata.at, record.rdata.len);
}

// ---- queries ------------------------------------------------------------------------------------

// The name whose records answer: itself, or the wildcard above it.
static inline const char *zone_server_source(struct zone_server *server, const char *name)
{
    if (zone_server_find(server, name, TYPE_ANY))
        return name;
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        const char *wildcard = arena_printf(server->arena, "*%s", dot);
        if (zone_server_find(server, wildcard, TYPE_ANY))
            return wildcard;
    }
    return NULL;
}

static inline void zone_server_answer(struct zone_server *server, struct text request,
                                      struct buffer *out)
{
    char name[NAME_OCTETS];
    unsigned answers = 0;
    size_t end = wire_read_name(request, HEADER, name) + 4;
    unsigned type = wire_u16(request.at + end - 4);
    const char *source = zone_server_source(server, name);
    buffer_add(out, request.at, end);
    for (size_t i = 0; source && i < server->count; i++) {
        const struct zone_record *record = &server->records[i];
        if (!zone_server_is_at(record, source, type) &&
            !zone_server_is_at(record, source, TYPE_CNAME))
            continue;
        wire_add_rr(out, name, *record);
        answers++;
    }
    out->at[2] |= (char)0x84;
    out->at[3] = source ? 0 : 3;
    out->at[7] = (char)answers;
    memset(out->at + 8, 0, 4);
}

// ---- updates ------------------------------------------------------------------------------------

static inline size_t zone_server_size(struct zone_server *server, const char *name, unsigned type)
{
    size_t count = 0;
    for (size_t i = 0; i < server->count; i++)
        count += zone_server_is_at(&server->records[i], name, type);
    return count;
}

static inline bool zone_server_has(struct zone_server *server, const struct zone_record *wanted)
{
    for (size_t i = 0; i < server->count; i++)
        if (zone_server_is_at(&server->records[i], wanted->name, wanted->type) &&
            text_equal(server->records[i].rdata, wanted->rdata))
            return true;
    return false;
}

// 0, or the RCODE that says what does not hold. A set with values has as many as are required.
static inline unsigned zone_server_contradicts(struct zone_server *server,
                                               const struct wire_rr *rrs, size_t count, size_t at)
{
    const struct zone_record *record = &rrs[at].record;
    bool is_there = zone_server_find(server, record->name, record->type);
    bool is_name = record->type == TYPE_ANY;
    size_t required = 0;
    if (rrs[at].class == CLASS_NONE)
        return !is_there ? 0 : is_name ? 6 : 7;
    if (rrs[at].class == CLASS_ANY)
        return is_there ? 0 : is_name ? 3 : 8;
    for (size_t i = 0; i < count; i++)
        required += rrs[i].class == CLASS_IN &&
                    zone_server_is_at(record, rrs[i].record.name, rrs[i].record.type);
    return zone_server_has(server, record) &&
                   zone_server_size(server, record->name, record->type) == required
               ? 0
               : 8;
}

static inline bool zone_server_change(struct zone_server *server, const struct wire_rr *rr)
{
    if (rr->class == CLASS_IN)
        return zone_server_add(server, rr->record);
    return zone_server_delete(server, rr->record.name, rr->record.type,
                              rr->class == CLASS_NONE ? &rr->record.rdata : NULL);
}

static inline unsigned zone_server_update(struct zone_server *server, struct text request)
{
    size_t required = wire_u16(request.at + 6), changes = wire_u16(request.at + 8);
    size_t count = required + changes;
    struct wire_rr *rrs = arena_new_array(server->arena, struct wire_rr, count + 1);
    char name[NAME_OCTETS];
    size_t at = wire_read_name(request, HEADER, name) + 4;
    bool is_changed = false;
    for (size_t i = 0; i < count; i++)
        at = wire_read_rr(server, request, at, &rrs[i]);
    if (server->updates++ == 0 && server->meddle)
        server->meddle(server);
    if (server->is_refusing)
        return 5;
    for (size_t i = 0; i < required; i++) {
        unsigned rcode = zone_server_contradicts(server, rrs, required, i);
        if (rcode)
            return rcode;
    }
    for (size_t i = required; i < count; i++)
        is_changed |= zone_server_change(server, &rrs[i]);
    server->changes += is_changed;
    return 0;
}

static inline void zone_server_take_update(struct zone_server *server, struct text request,
                                           struct buffer *out)
{
    unsigned rcode = zone_server_update(server, request);
    buffer_add(out, request.at, HEADER);
    out->at[2] |= (char)0x80;
    out->at[3] = (char)rcode;
    memset(out->at + 4, 0, 8);
}

// The signed reply to a signed request.
static inline void zone_server_reply(struct zone_server *server, struct text request,
                                     struct buffer *out)
{
    size_t stripped;
    struct tsig_mac mac, own;
    unsigned peer_error;
    assert_int_equal(
        tsig_verify(request, &server->key, server->unix_s, NULL, &stripped, &mac, &peer_error),
        TSIG_GOOD);
    if (((unsigned char)request.at[2] >> 3 & 0xf) == OPCODE_UPDATE)
        zone_server_take_update(server, request, out);
    else
        zone_server_answer(server, request, out);
    assert_true(tsig_sign(out, &server->key, server->unix_s, &mac, &own, NULL));
}
