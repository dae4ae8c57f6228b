#include <stdio.h>
#include <string.h>

#include "providers/pihole/exchange.h"

// The key of a Pi-hole's TLS: told, or learned at the first sight and kept in the ledger as
// "sha256//... <Unix time until which its certificate is good>".

#define FACT "tls-key"

enum { RENEWAL_S = 7 * 24 * 3600 };

static bool parse(struct text fact, struct http_peer *out)
{
    struct text pin;
    struct http_peer peer = {0};
    if (!text_cut(&fact, ' ', &pin) || !fact.at || !pin.len || pin.len >= sizeof peer.pin ||
        !text_to_int64(fact, &peer.until_s))
        return false;
    memcpy(peer.pin, pin.at, pin.len);
    *out = peer;
    return true;
}

static void keep(struct exchange *exchange, const struct http_peer *peer)
{
    const struct ledger_view *ledger = exchange->job->ledger;
    char fact[sizeof peer->pin + 24];
    struct http_peer *learned = &exchange->instance->learned;
    if (!strcmp(learned->pin, peer->pin) && learned->until_s == peer->until_s)
        return;
    *learned = *peer;
    snprintf(fact, sizeof fact, "%s %lld", peer->pin, (long long)peer->until_s);
    if (ledger)
        ledger->keep(ledger->context, FACT, fact);
}

void pin_recall(struct exchange *exchange)
{
    const struct ledger_view *ledger = exchange->job->ledger;
    struct pihole_instance *instance = exchange->instance;
    const char *fact = instance->learns_pin && ledger && !*instance->learned.pin
                           ? ledger->recall(ledger->context, FACT)
                           : NULL;
    if (fact)
        parse(text_of(fact), &instance->learned);
}

bool pin_is_open(const struct exchange *exchange)
{
    const struct ledger_view *ledger = exchange->job->ledger;
    return exchange->instance->learns_pin && !(ledger && ledger->recall(ledger->context, FACT));
}

void pin_fill(const struct pihole_instance *instance, struct http_tls *out)
{
    bool is_learned = instance->learns_pin && *instance->learned.pin;
    out->pin = is_learned ? instance->learned.pin : instance->pin;
    out->is_unverified = instance->is_unverified || (instance->learns_pin && !is_learned);
    out->reports_peer = instance->learns_pin;
}

// A certificate that is near its end is about to be replaced, key and all.
static bool may_be_renewed(const struct exchange *exchange)
{
    const struct pihole_instance *instance = exchange->instance;
    return instance->learns_pin && *exchange->http->peer.pin && !exchange->has_repinned &&
           exchange->moment->unix_ms / 1000 >= instance->learned.until_s - RENEWAL_S;
}

bool pin_handle_reply(struct exchange *exchange)
{
    const struct http_reply *http = exchange->http;
    struct http_tls tls = {0};
    if (!http->is_other_key) {
        if (exchange->instance->learns_pin && http->failure == HTTP_OK && *http->peer.pin)
            keep(exchange, &http->peer);
        return true;
    }
    if (may_be_renewed(exchange)) {
        exchange->has_repinned = true;
        keep(exchange, &http->peer);
        return false;
    }
    pin_fill(exchange->instance, &tls);
    exchange_trouble(
        exchange, TROUBLE_PIN,
        "Pi-hole at %s has another TLS key than the one that is %s: it shows %s, not %s; "
        "if that is right, give it (PIHOLE_TLS_PIN or its tls.pin)",
        exchange->instance->base, exchange->instance->learns_pin ? "known" : "configured",
        *http->peer.pin ? http->peer.pin : "an unknown one", tls.pin ? tls.pin : "");
    return false;
}
