#include "base/must.h"
#include "kinds/dnsrecord/dnsrecord.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static bool was_is_same(const struct record_set *a, const struct record_set *b)
{
    return (!a && !b) || (a && b && record_set_equal(a, b));
}

static bool refusal_is_same(const struct dnsrecord_refusal *a, const struct dnsrecord_refusal *b)
{
    return (!a && !b) ||
           (a && b && text_equal(a->spec, b->spec) && text_equal(a->reason, b->reason) &&
            text_equal(a->code, b->code) && text_equal(a->text, b->text));
}

static bool claim_is_same(const struct dnsrecord_claim *a, const struct dnsrecord_claim *b)
{
    return dnsrecord_claim_is_same_key(a, b) && text_equal(a->class_name, b->class_name) &&
           refusal_is_same(a->refusal, b->refusal) && was_is_same(a->was, b->was);
}

// Claims that were read become paths of requests: names are normal, and writing loses nothing.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct dnsrecord_claim *claims, *again;
    size_t count, again_count;
    if (!dnsrecord_claims_decode(arena, (struct text){(const char *)at, len}, &claims, &count))
        return 0;
    must(count <= DNSRECORD_CLAIMS_MAX);
    const char *json = dnsrecord_claims_encode(arena, claims, count);
    must(dnsrecord_claims_decode(arena, text_of(json), &again, &again_count));
    must(count == again_count);
    for (size_t i = 0; i < count; i++)
        must(claim_is_same(&claims[i], &again[i]));
    return 0;
}
