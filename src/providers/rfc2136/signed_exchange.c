#include "providers/rfc2136/signed_exchange.h"

#include <stdio.h>

void signed_exchange_done(struct signed_exchange *signed_exchange)
{
    buffer_done(&signed_exchange->octets);
}

// ---- errors -------------------------------------------------------------------------------------

static void mark(struct error *err, int status, const char *code)
{
    err->status = status;
    snprintf(err->code, sizeof err->code, "%s", code);
}

bool signed_exchange_spec_error(struct error *err, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_setv(err, FAULT_SPEC, "ValidationFailed", format, args);
    va_end(args);
    mark(err, 400, code);
    return false;
}

bool signed_exchange_owner_error(struct error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_setv(err, FAULT_SPEC, "Conflict", format, args);
    va_end(args);
    mark(err, 409, "OWNED_BY_OTHER");
    return false;
}

bool signed_exchange_again_error(struct error *err, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_setv(err, FAULT_AGAIN, reason, format, args);
    va_end(args);
    mark(err, 503, "SERVER_ERROR");
    return false;
}

#define NOT_SERVED                                                                                 \
    "it does not serve the zone %s as primary, or does not let the TSIG key %.*s query and "       \
    "update it: the server's log says which"

static const struct meaning {
    unsigned rcode;
    enum fault fault;
    int status;
    const char *reason;
    const char *code;
    bool is_of_zone; // it may say that the zone is not there
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
    {RCODE_REFUSED, FAULT_AUTH, 500, "AuthenticationFailed", "SERVER_ERROR", true, NULL},
    {RCODE_NOTAUTH, FAULT_AUTH, 500, "AuthenticationFailed", "SERVER_ERROR", true, NULL},
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

void signed_exchange_rcode_error(const struct rfc2136_session *session, unsigned rcode,
                                 const char *about, struct error *err)
{
    const struct meaning *meaning = meaning_of(rcode);
    const char *name = message_rcode_name(rcode);
    if (meaning->is_of_zone)
        error_set(err, meaning->fault, meaning->reason, "%s: %s answered %s: " NOT_SERVED, about,
                  session->address, name, session->zone, TEXT_ARGS(tsig_key_shown(&session->key)));
    else
        error_set(err, meaning->fault, meaning->reason, "%s: %s answered %s%s%s", about,
                  session->address, name, meaning->advice ? ": " : "",
                  meaning->advice ? meaning->advice : "");
    mark(err, meaning->status, meaning->code);
}

void signed_exchange_refused_record_error(const struct rfc2136_session *session, const char *about,
                                          struct error *err)
{
    const struct meaning *meaning = meaning_of(RCODE_REFUSED);
    error_set(err, meaning->fault, meaning->reason,
              "%s: %s answered REFUSED to this record%s: it does not allow such a name or value "
              "(BIND: check-names), or the TSIG key %.*s may not change it; the server's log says "
              "which",
              about, session->address, session->has_updated ? ", though it took others" : "",
              TEXT_ARGS(tsig_key_shown(&session->key)));
    mark(err, meaning->status, meaning->code);
}

// ---- TSIG ---------------------------------------------------------------------------------------

bool signed_exchange_sign(struct signed_exchange *signed_exchange,
                          const struct rfc2136_session *session, int64_t unix_ms, struct error *err)
{
    signed_exchange->key = &session->key;
    signed_exchange->unix_s = unix_ms / 1000;
    return tsig_sign(&signed_exchange->octets, &session->key, unix_ms / 1000, NULL,
                     &signed_exchange->mac, err);
}

static const char *flaw_of(enum tsig_result result)
{
    static const char *const flaws[] = {
        [TSIG_ABSENT] = "is not signed",
        [TSIG_MALFORMED] = "has a malformed TSIG",
        [TSIG_BADKEY] = "is signed with another key",
        [TSIG_BADSIG] = "has a wrong signature",
        [TSIG_BADTIME] = "was signed more than 5 minutes from our time",
    };
    return flaws[result];
}

static unsigned rcode_in(struct text octets)
{
    return octets.len > 3 ? (unsigned)octets.at[3] & 0xf : 0;
}

// A server signs nothing where it has no zone that would name the key.
static void set_unsigned_refusal(const struct rfc2136_session *session, unsigned rcode,
                                 struct error *err)
{
    signed_exchange_again_error(err, "ServerError", "%s: %s answered %s, unsigned: " NOT_SERVED,
                                session->zone, session->address, message_rcode_name(rcode),
                                session->zone, TEXT_ARGS(tsig_key_shown(&session->key)));
}

static void set_untrusted(const struct rfc2136_session *session, enum tsig_result result,
                          struct text octets, struct error *err)
{
    unsigned rcode = rcode_in(octets);
    if (result == TSIG_ABSENT && meaning_of(rcode)->is_of_zone) {
        set_unsigned_refusal(session, rcode, err);
        return;
    }
    signed_exchange_again_error(
        err, "ServerUnreachable",
        "the answer of %s (%s) %s: it does not count; check the TSIG key %.*s", session->address,
        message_rcode_name(rcode), flaw_of(result), TEXT_ARGS(tsig_key_shown(&session->key)));
}

static void set_refused(const struct rfc2136_session *session, unsigned code, struct error *err)
{
    static const unsigned bad_time = 18;
    error_set(err, FAULT_AUTH, "AuthenticationFailed", "%s refused the TSIG key %.*s with %s: %s",
              session->address, TEXT_ARGS(tsig_key_shown(&session->key)), tsig_error_name(code),
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

bool signed_exchange_is_wanted(const void *at, struct text octets)
{
    const struct signed_exchange *signed_exchange = at;
    size_t stripped;
    struct tsig_mac mac;
    unsigned peer_error;
    bool can_ask_again = is_query(buffer_text(&signed_exchange->octets));
    enum tsig_result result = tsig_verify(octets, signed_exchange->key, signed_exchange->unix_s,
                                          &signed_exchange->mac, &stripped, &mac, &peer_error);
    if (result == TSIG_REFUSED_BY_PEER)
        return mac.len || can_ask_again;
    return result == TSIG_GOOD || (can_ask_again && is_truncated(octets));
}

enum signed_exchange_result signed_exchange_read(const struct signed_exchange *signed_exchange,
                                                 const struct rfc2136_session *session,
                                                 const struct dns_reply *reply, int64_t unix_ms,
                                                 struct arena *arena, struct message *out,
                                                 struct error *err)
{
    size_t stripped;
    struct tsig_mac mac;
    unsigned peer_error;
    struct error cause;
    bool has_octets = reply->is_answered || reply->octets.len;
    if (!has_octets) {
        signed_exchange_again_error(err, "ServerUnreachable", "%s", reply->error.text);
        return SIGNED_EXCHANGE_NONE;
    }
    if (reply->is_answered && is_truncated(reply->octets)) {
        signed_exchange_again_error(err, "ServerError", "%s cut its answer short",
                                    session->address);
        return SIGNED_EXCHANGE_TRUNCATED;
    }
    enum tsig_result result = tsig_verify(reply->octets, &session->key, unix_ms / 1000,
                                          &signed_exchange->mac, &stripped, &mac, &peer_error);
    if (result == TSIG_REFUSED_BY_PEER) {
        set_refused(session, peer_error, err);
        return mac.len ? SIGNED_EXCHANGE_REFUSED : SIGNED_EXCHANGE_HINT;
    }
    if (result != TSIG_GOOD) {
        set_untrusted(session, result, reply->octets, err);
        return SIGNED_EXCHANGE_NONE;
    }
    if (!message_read(arena, reply->octets, out, &cause)) {
        signed_exchange_again_error(err, "ServerError", "%s: %s", session->address, cause.text);
        return SIGNED_EXCHANGE_UNREADABLE;
    }
    return SIGNED_EXCHANGE_GOOD;
}
