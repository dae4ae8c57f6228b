#include "providers/coredns/scrape.h"

#include <stdlib.h>

#include "dns/corefile/identity.h"
#include "providers/sample.h"

// JSON numbers beyond cannot be told apart.
static const int64_t count_max = INT64_C(1) << 53;
enum { SERVER_OCTETS_MAX = 256 };

struct failures {
    struct text to;
    int64_t count;
};

struct scrape {
    struct arena *arena;
    bool is_coredns;
    bool has_reload_failures;
    int64_t reload_failures;
    struct text reload_hash; // absent: nothing has been reloaded yet
    unsigned failures_rank;  // of the family that the failures come from
    struct failures *failures;
    size_t failure_count;
    size_t failure_capacity;
    unsigned broken_rank;
    int64_t broken;
};

// Addresses and digests are words of visible ASCII.
static bool is_word(struct text text, size_t most)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~')
            return false;
    return text.len && text.len <= most;
}

// ---- families -----------------------------------------------------------------------------------

static void take_reload_failures(struct scrape *scrape, const struct sample *sample, unsigned rank)
{
    (void)rank;
    scrape->has_reload_failures = true;
    scrape->reload_failures = (int64_t)sample->value;
}

static void take_reload_hash(struct scrape *scrape, const struct sample *sample, unsigned rank)
{
    (void)rank;
    struct text hash = sample_label(scrape->arena, sample, "value");
    if (sample->value > 0 && is_word(hash, RELOAD_HASH_LEN) &&
        text_is(sample_label(scrape->arena, sample, "hash"), "sha512"))
        scrape->reload_hash = hash;
}

// A release may show one thing under two names: the newest name counts, whichever comes first.
static bool is_outranked(unsigned *best, unsigned rank, bool *is_first)
{
    *is_first = rank > *best;
    if (*is_first)
        *best = rank;
    return rank < *best;
}

static void push_failures(struct scrape *scrape, struct failures failures)
{
    arena_reserve(scrape->arena, &scrape->failures, &scrape->failure_capacity,
                  scrape->failure_count + 1);
    scrape->failures[scrape->failure_count++] = failures;
}

static void add_failures(struct scrape *scrape, const struct sample *sample, unsigned rank)
{
    bool is_first;
    struct text to = sample_label(scrape->arena, sample, "to");
    if (!is_word(to, SERVER_OCTETS_MAX) || is_outranked(&scrape->failures_rank, rank, &is_first))
        return;
    if (is_first)
        scrape->failure_count = 0;
    if (sample->value >= 1)
        push_failures(scrape, (struct failures){to, (int64_t)sample->value});
}

static void take_proxy_failures(struct scrape *scrape, const struct sample *sample, unsigned rank)
{
    if (text_is(sample_label(scrape->arena, sample, "proxy_name"), "forward"))
        add_failures(scrape, sample, rank);
}

static void take_broken(struct scrape *scrape, const struct sample *sample, unsigned rank)
{
    bool is_first;
    if (!is_outranked(&scrape->broken_rank, rank, &is_first))
        scrape->broken = (int64_t)sample->value;
}

// The names that releases of CoreDNS give them; of names for one thing the newest has the highest
// rank.
static const struct family {
    const char *name;
    unsigned rank;
    void (*take)(struct scrape *scrape, const struct sample *sample, unsigned rank);
} families[] = {
    {"coredns_reload_failed_total", 1, take_reload_failures},
    {"coredns_reload_version_info", 1, take_reload_hash},
    {"coredns_proxy_healthcheck_failures_total", 3, take_proxy_failures},
    {"coredns_forward_healthcheck_failures_total", 2, add_failures},
    {"coredns_forward_healthcheck_failure_count_total", 1, add_failures},
    {"coredns_forward_healthcheck_broken_total", 2, take_broken},
    {"coredns_forward_healthcheck_broken_count_total", 1, take_broken},
};

static void take_sample(struct scrape *scrape, const struct sample *sample)
{
    scrape->is_coredns |= text_starts(sample->name, "coredns_");
    if (!(sample->value >= 0 && sample->value <= (double)count_max))
        return;
    for (size_t i = 0; i < COUNT_OF(families); i++)
        if (text_is(sample->name, families[i].name))
            families[i].take(scrape, sample, families[i].rank);
}

// ---- answer -------------------------------------------------------------------------------------

static int64_t count_sum(int64_t a, int64_t b)
{
    return a > count_max - b ? count_max : a + b;
}

static int compare_failures(const void *a, const void *b)
{
    const struct failures *left = a, *right = b;
    return text_compare(left->to, right->to);
}

// A server has a sample for each response code.
static void merge_failures(struct scrape *scrape)
{
    size_t kept = 0;
    if (scrape->failure_count)
        qsort(scrape->failures, scrape->failure_count, sizeof *scrape->failures, compare_failures);
    for (size_t i = 0; i < scrape->failure_count; i++) {
        struct failures *last = kept ? &scrape->failures[kept - 1] : NULL;
        if (last && text_equal(last->to, scrape->failures[i].to))
            last->count = count_sum(last->count, scrape->failures[i].count);
        else
            scrape->failures[kept++] = scrape->failures[i];
    }
    scrape->failure_count = kept < SCRAPE_SERVERS_MAX ? kept : SCRAPE_SERVERS_MAX;
}

static struct value *make_failures(struct scrape *scrape)
{
    struct value *map = value_make(scrape->arena, VALUE_MAP);
    merge_failures(scrape);
    for (size_t i = 0; i < scrape->failure_count; i++) {
        const struct failures *at = &scrape->failures[i];
        value_set(map, at->to, value_make_int(scrape->arena, at->count));
    }
    return map;
}

static struct value *make_answer(struct scrape *scrape)
{
    struct arena *arena = scrape->arena;
    struct value *answer = value_make(arena, VALUE_MAP);
    if (scrape->has_reload_failures)
        value_put_int(arena, answer, "reloadFailures", scrape->reload_failures);
    if (scrape->reload_hash.len)
        value_set(answer, TEXT("reloadHash"), value_make_text(arena, scrape->reload_hash));
    value_set(answer, TEXT("healthFailures"), make_failures(scrape));
    if (scrape->broken_rank)
        value_put_int(arena, answer, "broken", scrape->broken);
    return answer;
}

struct value *scrape_read(struct arena *arena, struct text page, struct error *err)
{
    struct scrape scrape = {.arena = arena};
    struct sample sample;
    if (!utf8_is_valid(page)) {
        error_set(err, FAULT_AGAIN, "ServerError", "the metrics page is no UTF-8 text");
        return NULL;
    }
    while (sample_next(&page, &sample))
        take_sample(&scrape, &sample);
    if (scrape.is_coredns)
        return make_answer(&scrape);
    error_set(err, FAULT_AGAIN, "ServerError", "the metrics page is none of a CoreDNS");
    return NULL;
}
