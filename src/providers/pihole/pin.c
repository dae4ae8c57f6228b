#include <stdio.h>
#include <string.h>

#include "providers/pihole/talk.h"

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

static void keep(struct talk *talk, const struct http_peer *peer)
{
    const struct ledger_view *ledger = talk->job->ledger;
    char fact[sizeof peer->pin + 24];
    struct http_peer *learned = &talk->seat->learned;
    if (!strcmp(learned->pin, peer->pin) && learned->until_s == peer->until_s)
        return;
    *learned = *peer;
    snprintf(fact, sizeof fact, "%s %lld", peer->pin, (long long)peer->until_s);
    if (ledger)
        ledger->keep(ledger->context, FACT, fact);
}

void pin_recall(struct talk *talk)
{
    const struct ledger_view *ledger = talk->job->ledger;
    struct pihole_seat *seat = talk->seat;
    const char *fact = seat->learns_pin && ledger && !*seat->learned.pin
                           ? ledger->recall(ledger->context, FACT)
                           : NULL;
    if (fact)
        parse(text_of(fact), &seat->learned);
}

bool pin_is_open(const struct talk *talk)
{
    const struct ledger_view *ledger = talk->job->ledger;
    return talk->seat->learns_pin && !(ledger && ledger->recall(ledger->context, FACT));
}

void pin_fill(const struct pihole_seat *seat, struct http_tls *out)
{
    bool is_learned = seat->learns_pin && *seat->learned.pin;
    out->pin = is_learned ? seat->learned.pin : seat->pin;
    out->is_unverified = seat->is_unverified || (seat->learns_pin && !is_learned);
    out->tells_peer = seat->learns_pin;
}

// A certificate that is near its end is about to be replaced, key and all.
static bool may_be_renewed(const struct talk *talk)
{
    const struct pihole_seat *seat = talk->seat;
    return seat->learns_pin && *talk->http->peer.pin && !talk->has_repinned &&
           talk->moment->unix_ms / 1000 >= seat->learned.until_s - RENEWAL_S;
}

bool pin_hear(struct talk *talk)
{
    const struct http_reply *http = talk->http;
    struct http_tls tls = {0};
    if (!http->is_other_key) {
        if (talk->seat->learns_pin && http->failure == HTTP_OK && *http->peer.pin)
            keep(talk, &http->peer);
        return true;
    }
    if (may_be_renewed(talk)) {
        talk->has_repinned = true;
        keep(talk, &http->peer);
        return false;
    }
    pin_fill(talk->seat, &tls);
    talk_trouble(talk, TROUBLE_PIN,
                 "Pi-hole at %s has another TLS key than the one that is %s: it shows %s, not %s; "
                 "if that is right, give it (PIHOLE_TLS_PIN or its tls.pin)",
                 talk->seat->base, talk->seat->learns_pin ? "known" : "configured",
                 *http->peer.pin ? http->peer.pin : "an unknown one", tls.pin ? tls.pin : "");
    return false;
}
