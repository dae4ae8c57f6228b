#include "providers/rfc2136/exchange.h"

#include <stdio.h>

void exchange_done(struct exchange *exchange)
{
    buffer_done(&exchange->octets);
}

// ---- errors -------------------------------------------------------------------------------------

static void mark(struct error *err, int status, const char *code)
{
    err->status = status;
    snprintf(err->code, sizeof err->code, "%s", code);
}

bool exchange_spec_error(struct error *err, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_setv(err, FAULT_SPEC, "ValidationFailed", format, args);
    va_end(args);
    mark(err, 400, code);
    return false;
}

bool exchange_again_error(struct error *err, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_setv(err, FAULT_AGAIN, reason, format, args);
    va_end(args);
    mark(err, 503, "SERVER_ERROR");
    return false;
}

static const struct meaning {
    unsigned rcode;
    enum fault fault;
    int status;
    const char *reason;
    const char *code;
    bool names_key;
    const char *advice;
} meanings[] = {
    {RCODE_NOTZONE, FAULT_SPEC, 400, "ValidationFailed", "INVALID_DOMAIN", false,
     "the name lies outside of the zone"},
    {RCODE_YXDOMAIN, FAULT_SPEC, 409, "Conflict", "OWNED_BY_OTHER", false,
     "the name exists although it must not"},
    {RCODE_YXRRSET, FAULT_SPEC, 409, "Conflict", "OWNED_BY_OTHER", false,
     "the record set exists although it must not"},
    {RCODE_NXRRSET, FAULT_SPEC, 409, "Conflict", "OWNED_BY_OTHER", false,
     "the record set is not what it must be"},
    {RCODE_REFUSED, FAULT_AUTH, 500, "AuthenticationFailed", "SERVER_ERROR", true,
     "allow it to query and update the zone, or see the server's log"},
    {RCODE_NOTAUTH, FAULT_AUTH, 500, "AuthenticationFailed", "SERVER_ERROR", true,
     "does the server hold the zone as primary, and know the key?"},
    {RCODE_SERVFAIL, FAULT_AGAIN, 503, "ServerError", "SERVER_ERROR", false,
     "the server failed: its log says why"},
    {RCODE_NOTIMP, FAULT_AGAIN, 500, "ServerError", "SERVER_ERROR", false,
     "the server takes no UPDATE"},
};

static const struct meaning *meaning_of(unsigned rcode)
{
    static const struct meaning rest = {
        .fault = FAULT_AGAIN, .status = 500, .reason = "ServerError", .code = "SERVER_ERROR"};
    for (size_t i = 0; i < COUNT_OF(meanings); i++)
        if (meanings[i].rcode == rcode)
            return &meanings[i];
    return &rest;
}

void exchange_rcode_error(const struct rfc2136_seat *seat, unsigned rcode, const char *about,
                          struct error *err)
{
    const struct meaning *meaning = meaning_of(rcode);
    struct text key = meaning->names_key ? tsig_key_shown(&seat->key) : TEXT("");
    error_set(err, meaning->fault, meaning->reason, "%s: %s answered %s%s%.*s%s%s", about,
              seat->address, message_rcode_name(rcode),
              meaning->names_key ? " to the TSIG key " : "", TEXT_ARGS(key),
              meaning->advice ? ": " : "", meaning->advice ? meaning->advice : "");
    mark(err, meaning->status, meaning->code);
}

void exchange_refused_record_error(const struct rfc2136_seat *seat, const char *about,
                                   struct error *err)
{
    const struct meaning *meaning = meaning_of(RCODE_REFUSED);
    error_set(err, meaning->fault, meaning->reason,
              "%s: %s answered REFUSED to this record%s: it does not allow such a name or value "
              "(BIND: check-names), or the TSIG key %.*s may not change it; the server's log says "
              "which",
              about, seat->address, seat->has_updated ? ", though it took others" : "",
              TEXT_ARGS(tsig_key_shown(&seat->key)));
    mark(err, meaning->status, meaning->code);
}

// ---- TSIG ---------------------------------------------------------------------------------------

bool exchange_sign(struct exchange *exchange, const struct rfc2136_seat *seat, int64_t unix_ms,
                   struct error *err)
{
    exchange->key = &seat->key;
    exchange->unix_s = unix_ms / 1000;
    return tsig_sign(&exchange->octets, &seat->key, unix_ms / 1000, NULL, &exchange->mac, err);
}

static const char *flaw_of(enum tsig_verdict verdict)
{
    static const char *const flaws[] = {
        [TSIG_ABSENT] = "is not signed",
        [TSIG_MALFORMED] = "has a malformed TSIG",
        [TSIG_BADKEY] = "is signed with another key",
        [TSIG_BADSIG] = "has a wrong signature",
        [TSIG_BADTIME] = "was signed more than 5 minutes from our time",
    };
    return flaws[verdict];
}

static unsigned rcode_in(struct text octets)
{
    return octets.len > 3 ? (unsigned)octets.at[3] & 0xf : 0;
}

static void set_untrusted(const struct rfc2136_seat *seat, enum tsig_verdict verdict,
                          struct text octets, struct error *err)
{
    exchange_again_error(err, "ServerUnreachable",
                         "the answer of %s (%s) %s: it does not count; check the TSIG key %.*s",
                         seat->address, message_rcode_name(rcode_in(octets)), flaw_of(verdict),
                         TEXT_ARGS(tsig_key_shown(&seat->key)));
}

static void set_refused(const struct rfc2136_seat *seat, unsigned code, struct error *err)
{
    static const unsigned bad_time = 18;
    error_set(err, FAULT_AUTH, "AuthenticationFailed", "%s refused the TSIG key %.*s with %s: %s",
              seat->address, TEXT_ARGS(tsig_key_shown(&seat->key)), tsig_error_name(code),
              code == bad_time ? "its clock and ours are more than 5 minutes apart"
                               : "name, algorithm and secret must be those of the server's key");
    mark(err, 500, "SERVER_ERROR");
}

static bool is_truncated(struct text octets)
{
    return octets.len > 2 && (octets.at[2] & 0x02);
}

static bool is_query(struct text octets)
{
    return octets.len > 2 && !(octets.at[2] & 0x78);
}

bool exchange_is_wanted(const void *at, struct text octets)
{
    const struct exchange *exchange = at;
    size_t stripped;
    struct tsig_mac mac;
    unsigned peer_error;
    bool can_ask_again = is_query(buffer_text(&exchange->octets));
    enum tsig_verdict verdict = tsig_verify(octets, exchange->key, exchange->unix_s, &exchange->mac,
                                            &stripped, &mac, &peer_error);
    if (verdict == TSIG_REFUSED_BY_PEER)
        return mac.len || can_ask_again;
    return verdict == TSIG_GOOD || (can_ask_again && is_truncated(octets));
}

enum exchange_result exchange_read(const struct exchange *exchange, const struct rfc2136_seat *seat,
                                   const struct dns_reply *reply, int64_t unix_ms,
                                   struct arena *arena, struct message *out, struct error *err)
{
    size_t stripped;
    struct tsig_mac mac;
    unsigned peer_error;
    struct error cause;
    bool has_octets = reply->is_answered || reply->octets.len;
    if (!has_octets) {
        exchange_again_error(err, "ServerUnreachable", "%s", reply->error.text);
        return EXCHANGE_NONE;
    }
    if (reply->is_answered && is_truncated(reply->octets)) {
        exchange_again_error(err, "ServerError", "%s cut its answer short", seat->address);
        return EXCHANGE_TRUNCATED;
    }
    enum tsig_verdict verdict = tsig_verify(reply->octets, &seat->key, unix_ms / 1000,
                                            &exchange->mac, &stripped, &mac, &peer_error);
    if (verdict == TSIG_REFUSED_BY_PEER) {
        set_refused(seat, peer_error, err);
        return mac.len ? EXCHANGE_REFUSED : EXCHANGE_HINT;
    }
    if (verdict != TSIG_GOOD) {
        set_untrusted(seat, verdict, reply->octets, err);
        return EXCHANGE_NONE;
    }
    if (!message_read(arena, reply->octets, out, &cause)) {
        exchange_again_error(err, "ServerError", "%s: %s", seat->address, cause.text);
        return EXCHANGE_UNREADABLE;
    }
    return EXCHANGE_GOOD;
}
