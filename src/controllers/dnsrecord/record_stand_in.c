#include "base/digest.h"
#include "controllers/dnsrecord/record_reconcile.h"

// A change that the server refused after the old data was deleted: the old data stands in for it,
// as long as the spec is the one that was refused.

enum { EPOCH_DIGITS = 32 };

static struct text epoch_text(struct record_reconcile *reconcile)
{
    uint8_t digest[DIGEST_MAX];
    char *text = arena_alloc(reconcile->arena, EPOCH_DIGITS + 1, 1);
    digest_of(DIGEST_SHA256, object_spec(reconcile->object), digest);
    hex_encode(digest, EPOCH_DIGITS / 2, text);
    return text_of(text);
}

bool record_is_refusal(const struct receipt *receipt)
{
    if (!receipt || receipt->state != RECEIPT_WAITING || receipt->attempts == 0)
        return false;
    enum reason reason = reason_find(text_of(receipt->error.reason));
    return reason == REASON_VALIDATION_FAILED || reason == REASON_CONFLICT;
}

// The old key whose data can be put back, or NULL.
static struct record_key *find_restorable(struct record_reconcile *reconcile,
                                          const struct record_key *wanted)
{
    for (size_t i = 0; i < reconcile->key_count; i++) {
        struct record_key *key = &reconcile->keys[i];
        if (key != wanted && key->claim.was && record_excludes(reconcile, key, wanted))
            return key;
    }
    return NULL;
}

// Was something deleted for `wanted` that nobody knows the data of?
static bool has_lost_data(const struct record_reconcile *reconcile, const struct record_key *wanted)
{
    for (size_t i = 0; i < reconcile->key_count; i++) {
        const struct record_key *key = &reconcile->keys[i];
        if (key != wanted && !key->claim.was && record_excludes(reconcile, key, wanted))
            return true;
    }
    return false;
}

struct record_key *record_find_stand_in(struct record_reconcile *reconcile,
                                        const struct record_key *wanted)
{
    struct text epoch = epoch_text(reconcile);
    for (size_t i = 0; i < reconcile->key_count; i++) {
        struct record_key *key = &reconcile->keys[i];
        const struct dnsrecord_refusal *refusal = key->claim.refusal;
        if (key != wanted && !key->is_left_out && key->claim.was && refusal &&
            text_equal(refusal->spec, epoch) && record_excludes(reconcile, key, wanted))
            return key;
    }
    return NULL;
}

// Says that the old data is back, and then what the refusal was.
static void report_stand_in(struct record_reconcile *reconcile,
                            const struct dnsrecord_refusal *refusal)
{
    enum reason reason = reason_find(refusal->reason);
    record_report(
        reconcile, reason == REASON_NONE ? REASON_VALIDATION_FAILED : reason,
        arena_printf(reconcile->arena, "previous data restored: %.*s", TEXT_ARGS(refusal->text)));
    if (refusal->code.len)
        reconcile->reported.code = record_copy_text(reconcile, refusal->code);
}

void record_stand_in(struct record_reconcile *reconcile, struct record_key *old,
                     struct record_key *wanted)
{
    wanted->is_claimed = false;
    wanted->is_left_out = true;
    old->intent = CLAIM_SET;
    old->content = old->claim.was;
    old->is_suspended = !record_may_send(reconcile, old);
    if (record_is_settled(old))
        report_stand_in(reconcile, old->claim.refusal);
    else if (record_has_failed(old))
        record_report_failure(reconcile, old->receipt, "previous data could not be restored yet: ");
}

static const struct dnsrecord_refusal *refusal_make(struct record_reconcile *reconcile,
                                                    const struct receipt *receipt)
{
    struct dnsrecord_refusal *refusal = arena_new_of(reconcile->arena, struct dnsrecord_refusal);
    record_report_failure(reconcile, receipt, "");
    *refusal = (struct dnsrecord_refusal){
        .spec = epoch_text(reconcile),
        .reason = text_of(reason_name(reconcile->reported.reason)),
        .code = text_of(reconcile->reported.code),
        .text = text_of(reconcile->reported.message),
    };
    return refusal;
}

void record_report_refusal(struct record_reconcile *reconcile, struct record_key *wanted)
{
    struct record_key *old = find_restorable(reconcile, wanted);
    if (old) {
        old->claim.refusal = refusal_make(reconcile, wanted->receipt);
        wanted->is_left_out = true;
        reconcile->reported = (struct record_reported){0};
    } else {
        record_report_failure(reconcile, wanted->receipt,
                              has_lost_data(reconcile, wanted)
                                  ? "what stood there before is not known, "
                                    "nothing could be put back: "
                                  : "");
    }
}
