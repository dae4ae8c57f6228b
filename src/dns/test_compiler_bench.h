#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "dns/test_compilers.h"

enum { THINGS_MAX = 128 };

// A compiler, and who put what, the first one the oldest.
struct bench {
    struct zone_compiler *compiler;
    struct thing things[THINGS_MAX];
    size_t count;
    size_t reported; // in the last settle
};

static inline void start_bare(struct bench *bench)
{
    struct zone_frame frame = plain_frame();
    *bench = (struct bench){.compiler = compiler_of_shop()};
    zone_compiler_set_frame(bench->compiler, &frame);
}

static inline const struct zone_nameserver *two_servers(void)
{
    static const struct text addresses[] = {{"\300\0\2\1", 4}};
    static const struct zone_nameserver servers[] = {
        {{(const uint8_t *)"\3ns1\4shop\7example", 18}, addresses, 1},
        {{(const uint8_t *)"\3ns2\3net", 9}, NULL, 0},
    };
    return servers;
}

static inline void start(struct bench *bench)
{
    struct zone_frame frame = plain_frame();
    frame.nameservers = two_servers();
    frame.nameserver_count = 2;
    *bench = (struct bench){.compiler = compiler_of_shop()};
    zone_compiler_set_frame(bench->compiler, &frame);
}

static inline void stop(struct bench *bench)
{
    zone_compiler_free(bench->compiler);
}

static inline size_t add(struct bench *bench, const char *line)
{
    struct thing *thing = &bench->things[bench->count];
    snprintf(thing->name, sizeof thing->name, "team/%c", (char)('a' + bench->count));
    thing->age = (unsigned)bench->count;
    put(bench->compiler, thing, line);
    return bench->count++;
}

static inline void drop(struct bench *bench, size_t at)
{
    zone_compiler_remove(bench->compiler, bench->things[at].record);
    bench->things[at].record = NULL;
}

static inline void run(struct bench *bench)
{
    bench->reported = settle(bench->compiler);
}

static inline void expect_out(struct bench *bench, size_t at, enum zone_reason reason,
                              const void *by, const char *text)
{
    AUTO_BUFFER out = {0};
    const struct thing *thing = &bench->things[at];
    struct zone_outcome outcome = zone_record_outcome(thing->record);
    assert_string_equal(zone_reason_name(outcome.reason), zone_reason_name(reason));
    assert_int_equal(thing->outcome.reason, reason);
    assert_ptr_equal(outcome.by, by);
    assert_int_equal(outcome.warnings, 0);
    zone_compiler_explain(bench->compiler, thing->record, reason, &out);
    assert_string_equal(out.at, text);
}

static inline void expect_in(struct bench *bench, size_t at)
{
    struct zone_outcome outcome = zone_record_outcome(bench->things[at].record);
    assert_string_equal(zone_reason_name(outcome.reason), "Fine");
    assert_int_equal(bench->things[at].outcome.reason, ZONE_FINE);
    assert_null(outcome.by);
}

static inline void expect_fine(struct bench *bench, size_t at)
{
    expect_in(bench, at);
    assert_int_equal(zone_record_outcome(bench->things[at].record).warnings, 0);
}

static inline void expect_warned(struct bench *bench, size_t at, enum zone_reason reason,
                                 const char *text)
{
    AUTO_BUFFER out = {0};
    expect_in(bench, at);
    struct zone_record *record = bench->things[at].record;
    for (unsigned i = ZONE_TTL_MISMATCH; i < ZONE_SINGLE_NS; i++)
        if ((zone_record_outcome(record).warnings >> (i - ZONE_TTL_MISMATCH) & 1) != (i == reason))
            fail_msg("%s: warnings are %x", zone_reason_name(reason),
                     zone_record_outcome(record).warnings);
    zone_compiler_explain(bench->compiler, record, reason, &out);
    assert_string_equal(out.at, text);
}

static inline void expect_zone(struct bench *bench, const char *wanted)
{
    AUTO_BUFFER out = {0};
    struct zone *zone = zone_compiler_zone(bench->compiler, 1);
    struct zone_walk walk = {.zone = zone};
    const struct rrset *set;
    assert_int_equal(zone_record_count(zone), zone_compiler_record_count(bench->compiler));
    while ((set = zone_walk(&walk))) {
        size_t cursor = 0;
        struct text rdata;
        while (set->type != RR_SOA && rrset_next(set, &cursor, &rdata)) {
            write_record(&out, set, rdata);
        }
    }
    zone_unref(zone);
    assert_string_equal(out.at ? out.at : "", wanted);
}

static inline void expect_fault(struct bench *bench, enum zone_reason reason, const char *text)
{
    AUTO_BUFFER out = {0};
    assert_string_equal(zone_reason_name(zone_compiler_fault(bench->compiler, &out)),
                        zone_reason_name(reason));
    assert_string_equal(out.at ? out.at : "", text);
}

static inline void note_warning(void *context, enum zone_reason reason, struct text text)
{
    buffer_printf(context, "%s: %.*s\n", zone_reason_name(reason), TEXT_ARGS(text));
}

static inline void expect_warnings(struct bench *bench, const char *wanted)
{
    AUTO_BUFFER out = {0};
    zone_compiler_warnings(bench->compiler, note_warning, &out);
    assert_string_equal(out.at ? out.at : "", wanted);
}
