#include "providers/externaldns/scrape.h"

#include "providers/sample.h"

// JSON numbers beyond cannot be told apart.
static const int64_t count_max = INT64_C(1) << 53;
enum { WORD_OCTETS_MAX = 256 };
#define PREFIX "external_dns_"

struct scrape {
    struct arena *arena;
    bool is_external_dns;
    int64_t last_sync_s; // 0: none since it was started
    int64_t source_endpoints;
    int64_t registry_endpoints;
    int64_t invalid_endpoints;
    int64_t soft_errors;
    int64_t mismatch_count;
    struct value *mismatches;
};

// Whatever is no number counts as 0.
static int64_t count_of(double value)
{
    if (!(value >= 1))
        return 0;
    return value < (double)count_max ? (int64_t)value : count_max;
}

static int64_t count_sum(int64_t a, double value)
{
    int64_t b = count_of(value);
    return a > count_max - b ? count_max : a + b;
}

// Owner ids and domains are words of visible ASCII.
static bool is_word(struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~')
            return false;
    return text.len && text.len <= WORD_OCTETS_MAX;
}

// ---- families -----------------------------------------------------------------------------------

static void take_last_sync(struct scrape *scrape, const struct sample *sample)
{
    scrape->last_sync_s = count_of(sample->value);
}

static void take_source_endpoints(struct scrape *scrape, const struct sample *sample)
{
    scrape->source_endpoints = count_of(sample->value);
}

static void take_registry_endpoints(struct scrape *scrape, const struct sample *sample)
{
    scrape->registry_endpoints = count_of(sample->value);
}

// It has a sample for each record type and source.
static void add_invalid_endpoints(struct scrape *scrape, const struct sample *sample)
{
    scrape->invalid_endpoints = count_sum(scrape->invalid_endpoints, sample->value);
}

static void take_soft_errors(struct scrape *scrape, const struct sample *sample)
{
    scrape->soft_errors = count_of(sample->value);
}

static void add_owner_mismatch(struct scrape *scrape, const struct sample *sample)
{
    struct text domain = sample_label(scrape->arena, sample, "domain");
    struct text owner = sample_label(scrape->arena, sample, "foreign_owner");
    if (!count_of(sample->value))
        return;
    scrape->mismatch_count = count_sum(scrape->mismatch_count, sample->value);
    if (value_count(scrape->mismatches) >= SCRAPE_MISMATCHES_MAX || !is_word(domain))
        return;
    struct value *mismatch = value_make(scrape->arena, VALUE_MAP);
    value_set(mismatch, TEXT("domain"), value_make_text(scrape->arena, domain));
    if (is_word(owner))
        value_set(mismatch, TEXT("owner"), value_make_text(scrape->arena, owner));
    value_append(scrape->mismatches, mismatch);
}

// As releases from v0.19 to v0.22 name them; one that a release lacks says nothing.
static const struct family {
    const char *name; // behind PREFIX
    void (*take)(struct scrape *scrape, const struct sample *sample);
} families[] = {
    {"controller_last_sync_timestamp_seconds", take_last_sync},
    {"source_endpoints_total", take_source_endpoints},
    {"registry_endpoints_total", take_registry_endpoints},
    {"source_invalid_endpoints", add_invalid_endpoints},
    {"controller_consecutive_soft_errors", take_soft_errors},
    {"registry_skipped_records_owner_mismatch_per_sync", add_owner_mismatch},
};

static void take_sample(struct scrape *scrape, const struct sample *sample)
{
    static const size_t prefix_len = sizeof PREFIX - 1;
    if (!text_starts(sample->name, PREFIX))
        return;
    struct text name = {sample->name.at + prefix_len, sample->name.len - prefix_len};
    scrape->is_external_dns = true;
    for (size_t i = 0; i < COUNT_OF(families); i++)
        if (text_is(name, families[i].name))
            families[i].take(scrape, sample);
}

// ---- the answer ---------------------------------------------------------------------------------

static struct value *make_answer(const struct scrape *scrape)
{
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"sourceEndpoints", scrape->source_endpoints},
        {"registryEndpoints", scrape->registry_endpoints},
        {"invalidEndpoints", scrape->invalid_endpoints},
        {"softErrors", scrape->soft_errors},
        {"ownerMismatches", scrape->mismatch_count},
    };
    struct value *answer = value_make(scrape->arena, VALUE_MAP);
    if (scrape->last_sync_s)
        value_put_int(scrape->arena, answer, "lastSync", scrape->last_sync_s);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        value_put_int(scrape->arena, answer, numbers[i].key, numbers[i].value);
    value_set(answer, TEXT("mismatches"), scrape->mismatches);
    return answer;
}

struct value *external_dns_scrape_read(struct arena *arena, struct text page, struct error *err)
{
    struct scrape scrape = {.arena = arena, .mismatches = value_make(arena, VALUE_LIST)};
    struct sample sample;
    if (!utf8_is_valid(page)) {
        error_set(err, FAULT_AGAIN, "ServerError", "the metrics page is no UTF-8 text");
        return NULL;
    }
    while (sample_next(&page, &sample))
        take_sample(&scrape, &sample);
    if (scrape.is_external_dns)
        return make_answer(&scrape);
    error_set(err, FAULT_AGAIN, "ServerError", "the metrics page is none of an external-dns");
    return NULL;
}
