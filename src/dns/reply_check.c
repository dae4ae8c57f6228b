#include "dns/reply_check.h"

#include <stdio.h>

#include "dns/message.h"

bool reply_check_questions(struct wire *wire, const struct wire_header *header, struct dname name,
                           uint16_t type)
{
    struct wire_question question;
    for (size_t i = 0; i < header->counts[0]; i++)
        if (!wire_take_question(wire, &question) || question.type != type ||
            question.class != CLASS_IN || !dname_equal(question.name, name))
            return false;
    return true;
}

static bool refuse(struct error *err, enum fault fault, unsigned rcode, const char *code,
                   const char *text)
{
    error_set(err, fault, "", "%s", text);
    if (!err)
        return false;
    err->status = (int)rcode;
    snprintf(err->code, sizeof err->code, "%s", code);
    return false;
}

static bool refuse_unsigned(unsigned rcode, struct error *err)
{
    const char *name = message_rcode_name(rcode);
    char text[80];
    snprintf(text, sizeof text, "the reply is not signed: %s", name);
    return refuse(err, FAULT_AUTH, rcode, rcode ? name : "UNSIGNED", text);
}

static bool refuse_reported(unsigned peer_error, unsigned rcode, struct error *err)
{
    const char *name = tsig_error_name(peer_error);
    char text[80];
    snprintf(text, sizeof text, "the server refuses our TSIG signature: %s", name);
    return refuse(err, FAULT_AUTH, rcode, name, text);
}

bool reply_check_tsig(enum tsig_result result, unsigned peer_error, unsigned rcode,
                      struct error *err)
{
    switch (result) {
    case TSIG_GOOD:
        return true;
    case TSIG_ABSENT:
        return refuse_unsigned(rcode, err);
    case TSIG_REFUSED_BY_PEER:
        return refuse_reported(peer_error, rcode, err);
    case TSIG_BADKEY:
        return refuse(err, FAULT_AUTH, rcode, "BADKEY", "the reply is signed with another key");
    case TSIG_BADSIG:
        return refuse(err, FAULT_AUTH, rcode, "BADSIG",
                      "the reply's signature is not good: is the secret the same on both sides?");
    case TSIG_BADTIME:
        return refuse(err, FAULT_AUTH, rcode, "BADTIME",
                      "the reply was signed more than 300 s from our time: set the clocks");
    case TSIG_MALFORMED:
        break;
    }
    return refuse(err, FAULT_AGAIN, rcode, "FORMERR", "the reply is malformed");
}

bool reply_check_rcode(unsigned rcode, struct error *err)
{
    const char *name = message_rcode_name(rcode);
    char text[80];
    if (rcode == RCODE_NOERROR)
        return true;
    bool is_refusal = rcode == RCODE_REFUSED || rcode == RCODE_NOTAUTH;
    snprintf(text, sizeof text, "the server answers %s", name);
    return refuse(err, is_refusal ? FAULT_AUTH : FAULT_AGAIN, rcode, name, text);
}
