#include "store/cluster/webhook_cert.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"

#define CA_NAME "signpost-webhook-ca"

void webhook_keys_done(struct webhook_keys *keys)
{
    x509_pair_done(&keys->ca);
    x509_pair_done(&keys->next);
    x509_pair_done(&keys->leaf);
    free(keys->rotate);
    free(keys->rotated);
    *keys = (struct webhook_keys){0};
}

// ---- what stands there --------------------------------------------------------------------------

// What is known of the Secret.
struct standing {
    const struct webhook_now *now;
    struct arena *arena;
    bool has_ca; // good ones
    bool has_next;
    bool has_leaf;
    bool is_switched; // the leaf is by the next CA
    struct x509_facts ca;
    struct x509_facts leaf;
};

static struct text pem_of(const struct x509_pair *pair)
{
    return text_of(pair->certificate_pem);
}

static bool is_pair(const struct x509_pair *pair, int64_t now_s, struct x509_facts *facts)
{
    struct error err;
    return pair->certificate_pem && pair->key_pem && x509_read(facts, pem_of(pair), &err) &&
           x509_check_key(pem_of(pair), pair->key_pem, &err) && now_s >= facts->from_s &&
           now_s < facts->until_s;
}

static bool is_ca(const struct x509_pair *pair, int64_t now_s, struct x509_facts *facts)
{
    return is_pair(pair, now_s, facts) && facts->is_ca;
}

static bool is_signed_by(const struct x509_pair *leaf, const struct x509_pair *ca)
{
    struct error err;
    return x509_check_signer(pem_of(leaf), pem_of(ca), &err);
}

static bool has_hosts(const struct webhook_now *now)
{
    struct error err;
    for (size_t i = 0; i < now->host_count; i++)
        if (!x509_check_host(pem_of(&now->keys->leaf), now->hosts[i], &err))
            return false;
    return true;
}

static void look_at_leaf(struct standing *standing)
{
    const struct webhook_keys *keys = standing->now->keys;
    if (!is_pair(&keys->leaf, standing->now->now_s, &standing->leaf))
        return;
    standing->is_switched = standing->has_next && is_signed_by(&keys->leaf, &keys->next);
    standing->has_leaf =
        (standing->is_switched || is_signed_by(&keys->leaf, &keys->ca)) && has_hosts(standing->now);
}

static struct standing look(struct arena *arena, const struct webhook_now *now)
{
    struct x509_facts next;
    struct standing standing = {.now = now, .arena = arena};
    if (!now->keys)
        return standing;
    standing.has_ca = is_ca(&now->keys->ca, now->now_s, &standing.ca);
    standing.has_next = is_ca(&now->keys->next, now->now_s, &next);
    if (standing.has_ca)
        look_at_leaf(&standing);
    return standing;
}

static int64_t two_thirds_s(const struct x509_facts *facts)
{
    return facts->from_s + (facts->until_s - facts->from_s) / 3 * 2;
}

static bool is_rotation_asked(const struct webhook_keys *keys)
{
    return keys->rotate && (!keys->rotated || strcmp(keys->rotate, keys->rotated) != 0);
}

// ---- the bundle ---------------------------------------------------------------------------------

static const char *both(const struct standing *standing)
{
    const struct webhook_keys *keys = standing->now->keys;
    size_t len = strlen(keys->ca.certificate_pem);
    bool has_end = len && keys->ca.certificate_pem[len - 1] == '\n';
    return arena_printf(standing->arena, "%s%s%s", keys->ca.certificate_pem, has_end ? "" : "\n",
                        keys->next.certificate_pem);
}

// The old CA may go: what it signed has not been served for long enough.
static int64_t kept_until_s(const struct standing *standing)
{
    return standing->leaf.from_s + WEBHOOK_BACKDATED_S + WEBHOOK_KEPT_S;
}

static bool is_old_over(const struct standing *standing)
{
    return standing->is_switched && standing->now->now_s >= kept_until_s(standing);
}

static const char *wanted_bundle(const struct standing *standing)
{
    const struct webhook_keys *keys = standing->now->keys;
    if (!standing->has_next)
        return keys->ca.certificate_pem;
    return is_old_over(standing) ? keys->next.certificate_pem : both(standing);
}

static bool is_bundle(const struct standing *standing, const char *pem)
{
    const struct webhook_bundle *bundle = &standing->now->bundle;
    return bundle->is_there && !bundle->is_mixed && text_is(bundle->pem, pem);
}

// Did we leave there what is there?
static bool is_our_bundle(const struct standing *standing)
{
    const struct webhook_bundle *bundle = &standing->now->bundle;
    if (bundle->is_mixed)
        return false;
    if (!bundle->pem.len)
        return true;
    if (!standing->has_next)
        return false;
    return is_bundle(standing, is_old_over(standing) ? both(standing)
                                                     : standing->now->keys->ca.certificate_pem);
}

// ---- the chain of decisions: the first that has something to do ---------------------------------

static bool do_step(struct webhook_plan *plan, enum webhook_step step, const char *why)
{
    plan->step = step;
    plan->why = why;
    return true;
}

static bool plan_ca(const struct standing *standing, struct webhook_plan *plan)
{
    if (standing->has_ca)
        return false;
    if (!standing->now->keys)
        return do_step(plan, WEBHOOK_MAKE, "there is no certificate yet");
    if (standing->has_next)
        return do_step(plan, WEBHOOK_DROP_CA,
                       "the CA is broken or has ended, the next one is good");
    return do_step(plan, WEBHOOK_MAKE, "the CA is broken or has ended");
}

static bool plan_next(const struct standing *standing, struct webhook_plan *plan)
{
    if (standing->has_next)
        return false;
    if (standing->now->keys->next.certificate_pem || standing->now->keys->next.key_pem)
        return do_step(plan, WEBHOOK_ANNOUNCE_CA, "the next CA is broken or has ended");
    return false;
}

static bool plan_leaf(const struct standing *standing, struct webhook_plan *plan)
{
    if (!standing->has_leaf)
        return do_step(plan, WEBHOOK_RENEW_LEAF,
                       "the certificate is broken, has ended or lacks a host");
    if (standing->now->now_s >= two_thirds_s(&standing->leaf))
        return do_step(plan, WEBHOOK_RENEW_LEAF, "two thirds of the certificate's life are over");
    return false;
}

// A new CA that nobody is told of helps nobody.
static bool plan_rotation(const struct standing *standing, struct webhook_plan *plan)
{
    if (standing->has_next || standing->now->bundle.is_left)
        return false;
    if (is_rotation_asked(standing->now->keys))
        return do_step(plan, WEBHOOK_ANNOUNCE_CA, "the annotation rotate-ca asks for a new CA");
    if (standing->now->now_s >= two_thirds_s(&standing->ca))
        return do_step(plan, WEBHOOK_ANNOUNCE_CA, "two thirds of the CA's life are over");
    return false;
}

static bool plan_bundle(const struct standing *standing, struct webhook_plan *plan)
{
    const struct webhook_bundle *bundle = &standing->now->bundle;
    if (!bundle->is_there || bundle->is_left)
        return false;
    plan->bundle = wanted_bundle(standing);
    if (is_bundle(standing, plan->bundle))
        return false;
    if (is_our_bundle(standing))
        return do_step(plan, WEBHOOK_SET_BUNDLE, "caBundle follows the CA");
    return do_step(plan, WEBHOOK_REPAIR_BUNDLE,
                   "caBundle was changed by somebody else; it is put right");
}

static bool plan_switch(const struct standing *standing, struct webhook_plan *plan)
{
    const struct webhook_now *now = standing->now;
    plan->is_shown = standing->has_next && is_bundle(standing, both(standing));
    if (!plan->is_shown || standing->is_switched || !now->shown_since_s ||
        now->now_s < now->shown_since_s + WEBHOOK_SHOWN_S)
        return false;
    return do_step(plan, WEBHOOK_SWITCH_LEAF, "every API server can know the next CA");
}

static bool plan_drop(const struct standing *standing, struct webhook_plan *plan)
{
    if (!is_old_over(standing))
        return false;
    return do_step(plan, WEBHOOK_DROP_CA, "nothing that the old CA signed is served any more");
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_look_s(const struct standing *standing, const struct webhook_plan *plan)
{
    const struct webhook_now *now = standing->now;
    int64_t wake_s = earlier(now->now_s + WEBHOOK_LOOK_S, two_thirds_s(&standing->leaf));
    if (!standing->has_next)
        return earlier(wake_s, two_thirds_s(&standing->ca));
    if (standing->is_switched)
        return earlier(wake_s, kept_until_s(standing));
    if (!plan->is_shown)
        return wake_s;
    int64_t since_s = now->shown_since_s ? now->shown_since_s : now->now_s;
    return earlier(wake_s, since_s + WEBHOOK_SHOWN_S);
}

void webhook_plan(struct arena *arena, const struct webhook_now *now, struct webhook_plan *out)
{
    static bool (*const chain[])(const struct standing *, struct webhook_plan *) = {
        plan_ca, plan_next, plan_leaf, plan_rotation, plan_bundle, plan_switch, plan_drop,
    };
    struct standing standing = look(arena, now);
    *out = (struct webhook_plan){.step = WEBHOOK_REST, .why = ""};
    for (size_t i = 0; i < COUNT_OF(chain); i++)
        if (chain[i](&standing, out))
            return;
    out->wake_s = next_look_s(&standing, out);
}

bool webhook_keys_serve(const struct webhook_keys *keys)
{
    struct error err;
    return keys && keys->leaf.certificate_pem && keys->leaf.key_pem &&
           x509_check_key(pem_of(&keys->leaf), keys->leaf.key_pem, &err);
}

// ---- making -------------------------------------------------------------------------------------

struct making {
    const struct webhook_now *now;
    struct random *random;
    struct webhook_keys keys;
    struct error *err;
};

static bool make_ca(struct making *making, struct x509_pair *out)
{
    int64_t from_s = making->now->now_s - WEBHOOK_BACKDATED_S;
    x509_pair_done(out);
    return x509_make_ca(out, making->random, CA_NAME, from_s, making->now->now_s + WEBHOOK_CA_S,
                        making->err);
}

static bool make_leaf(struct making *making, const struct x509_pair *ca)
{
    const struct webhook_now *now = making->now;
    const struct x509_leaf options = {.common_name = "signpost-webhook",
                                      .hosts = now->hosts,
                                      .host_count = now->host_count,
                                      .from_s = now->now_s - WEBHOOK_BACKDATED_S,
                                      .until_s = now->now_s + WEBHOOK_LEAF_S};
    x509_pair_done(&making->keys.leaf);
    return x509_make_leaf(&making->keys.leaf, making->random, ca, &options, making->err);
}

static void heed_rotation(struct making *making)
{
    free(making->keys.rotated);
    making->keys.rotated = making->keys.rotate ? mem_copy_text(making->keys.rotate) : NULL;
}

static bool make_all(struct making *making)
{
    x509_pair_done(&making->keys.next);
    heed_rotation(making);
    return make_ca(making, &making->keys.ca) && make_leaf(making, &making->keys.ca);
}

// By the CA that signed the one before; where that is not known, by one that is in caBundle.
static bool make_leaf_again(struct making *making)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct standing standing = look(arena, making->now);
    bool is_next = standing.is_switched ||
                   (standing.has_next && is_bundle(&standing, making->keys.next.certificate_pem));
    return make_leaf(making, is_next ? &making->keys.next : &making->keys.ca);
}

static bool make_next(struct making *making)
{
    heed_rotation(making);
    return make_ca(making, &making->keys.next);
}

static bool make_switch(struct making *making)
{
    return make_leaf(making, &making->keys.next);
}

static bool make_drop(struct making *making)
{
    x509_pair_done(&making->keys.ca);
    making->keys.ca = making->keys.next;
    making->keys.next = (struct x509_pair){0};
    return true;
}

static struct x509_pair copy_pair(const struct x509_pair *pair)
{
    return (struct x509_pair){
        .certificate_pem = pair->certificate_pem ? mem_copy_text(pair->certificate_pem) : NULL,
        .key_pem = secret_ref(pair->key_pem),
    };
}

static struct webhook_keys copy_keys(const struct webhook_keys *keys)
{
    if (!keys)
        return (struct webhook_keys){0};
    return (struct webhook_keys){
        .ca = copy_pair(&keys->ca),
        .next = copy_pair(&keys->next),
        .leaf = copy_pair(&keys->leaf),
        .rotate = keys->rotate ? mem_copy_text(keys->rotate) : NULL,
        .rotated = keys->rotated ? mem_copy_text(keys->rotated) : NULL,
    };
}

bool webhook_keys_make(const struct webhook_now *now, enum webhook_step step, struct random *random,
                       struct webhook_keys *out, struct error *err)
{
    static bool (*const makers[])(struct making *) = {
        [WEBHOOK_MAKE] = make_all,         [WEBHOOK_RENEW_LEAF] = make_leaf_again,
        [WEBHOOK_ANNOUNCE_CA] = make_next, [WEBHOOK_SWITCH_LEAF] = make_switch,
        [WEBHOOK_DROP_CA] = make_drop,
    };
    must(step > WEBHOOK_REST && step < COUNT_OF(makers));
    struct making making = {.now = now, .random = random, .keys = copy_keys(now->keys), .err = err};
    if (!makers[step](&making)) {
        webhook_keys_done(&making.keys);
        return false;
    }
    *out = making.keys;
    return true;
}
