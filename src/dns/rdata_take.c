#include <string.h>

#include "dns/rdata_private.h"

#define REASON "InvalidRData"

// How each kind of field is taken from a message.

enum { POINTER_MARK = 0xc0 };

bool rdata_refuse_taken(const struct rdata_taker *taker, const char *text)
{
    return error_set(taker->err, FAULT_SPEC, REASON, "%s", text);
}

bool rdata_copy(struct rdata_taker *taker, size_t len)
{
    if (len > taker->end - taker->at)
        return rdata_refuse_taken(taker, "the rdata ends within a field");
    buffer_add(taker->out, taker->message + taker->at, len);
    taker->at += len;
    return true;
}

static bool take_1(struct rdata_taker *taker)
{
    return rdata_copy(taker, 1);
}

static bool take_2(struct rdata_taker *taker)
{
    return rdata_copy(taker, 2);
}

static bool take_4(struct rdata_taker *taker)
{
    return rdata_copy(taker, 4);
}

static bool take_6(struct rdata_taker *taker)
{
    return rdata_copy(taker, 6);
}

static bool take_8(struct rdata_taker *taker)
{
    return rdata_copy(taker, 8);
}

static bool take_16(struct rdata_taker *taker)
{
    return rdata_copy(taker, 16);
}

static bool take_rest(struct rdata_taker *taker)
{
    return rdata_copy(taker, taker->end - taker->at);
}

static bool take_some(struct rdata_taker *taker)
{
    return taker->at < taker->end
               ? take_rest(taker)
               : rdata_refuse_taken(taker, "the rdata ends before its last field");
}

static bool take_string(struct rdata_taker *taker)
{
    size_t len = taker->at < taker->end ? taker->message[taker->at] : 0;
    return rdata_copy(taker, 1 + len);
}

static bool take_maybe(struct rdata_taker *taker)
{
    return taker->at == taker->end || take_string(taker);
}

static bool take_strings(struct rdata_taker *taker)
{
    do {
        if (!take_string(taker))
            return false;
    } while (taker->at < taker->end);
    return true;
}

static bool take_hash(struct rdata_taker *taker)
{
    if (taker->at < taker->end && !taker->message[taker->at])
        return rdata_refuse_taken(taker, "the hash is empty");
    return take_string(taker);
}

static bool take_tag(struct rdata_taker *taker)
{
    size_t first = taker->out->len + 1;
    if (!take_string(taker))
        return false;
    for (size_t i = first; i < taker->out->len; i++) {
        char c = taker->out->at[i], small = rdata_is_digit(c) ? c : (char)(c | 0x20);
        if (!rdata_is_digit(c) && (small < 'a' || small > 'z'))
            return rdata_refuse_taken(taker, "the tag may hold letters and digits alone");
        taker->out->at[i] = small;
    }
    return taker->out->len > first || rdata_refuse_taken(taker, "the tag is empty");
}

// ---- names --------------------------------------------------------------------------------------

struct name_taker {
    uint8_t octets[DNAME_MAX];
    size_t len;
    size_t at;     // in the message
    size_t end;    // of what may be read at `at`
    size_t limit;  // pointers lead before it, so that none leads in a circle
    size_t behind; // the name in the rdata; 0 before the first pointer
};

static bool follow(const struct rdata_taker *taker, struct name_taker *name)
{
    const uint8_t *at = taker->message + name->at;
    if (!taker->has_pointers || name->end - name->at < 2)
        return false;
    size_t to = (size_t)(*at & ~POINTER_MARK) << 8 | at[1];
    if (to >= name->limit)
        return false;
    name->behind = name->behind ? name->behind : name->at + 2;
    name->end = name->limit;
    name->at = name->limit = to;
    return true;
}

static bool take_label(const struct rdata_taker *taker, struct name_taker *name)
{
    const uint8_t *at = taker->message + name->at;
    size_t len = *at;
    if (len > DNAME_LABEL_MAX || len >= name->end - name->at || name->len + len + 1 > DNAME_MAX)
        return false;
    name->octets[name->len++] = (uint8_t)len;
    for (size_t i = 1; i <= len; i++)
        name->octets[name->len++] = at[i] >= 'A' && at[i] <= 'Z' ? at[i] | 0x20 : at[i];
    name->at += len + 1;
    return true;
}

// Every pointer leads back, before all that was read of this name.
static bool take_labels(const struct rdata_taker *taker, struct name_taker *name)
{
    while (name->at < name->end) {
        uint8_t len = taker->message[name->at];
        if (len >= POINTER_MARK) {
            if (!follow(taker, name))
                return false;
            continue;
        }
        if (!take_label(taker, name))
            return false;
        if (!len)
            return true;
    }
    return false;
}

bool rdata_take_name(struct rdata_taker *taker)
{
    struct name_taker name;
    name.len = name.behind = 0;
    name.at = name.limit = taker->at;
    name.end = taker->end;
    if (!take_labels(taker, &name))
        return rdata_refuse_taken(taker, "a name in it is malformed");
    buffer_add(taker->out, name.octets, name.len);
    taker->at = name.behind ? name.behind : name.at;
    return true;
}

static bool take_names(struct rdata_taker *taker)
{
    while (taker->at < taker->end)
        if (!rdata_take_name(taker))
            return false;
    return true;
}

// ---- all of it ----------------------------------------------------------------------------------

static rdata_take_field *const fields[RDATA_FIELD_COUNT] = {
    [RDATA_U8] = take_1,
    [RDATA_U16] = take_2,
    [RDATA_U32] = take_4,
    [RDATA_PERIOD] = take_4,
    [RDATA_TIME] = take_4,
    [RDATA_TYPE] = take_2,
    [RDATA_ALGORITHM] = take_1,
    [RDATA_DIGEST_TYPE] = take_1,
    [RDATA_CERT_TYPE] = take_2,
    [RDATA_NAME] = rdata_take_name,
    [RDATA_NAMES] = take_names,
    [RDATA_IP4] = take_4,
    [RDATA_IP6] = take_16,
    [RDATA_EUI48] = take_6,
    [RDATA_EUI64] = take_8,
    [RDATA_GROUPS] = take_8,
    [RDATA_STRING] = take_string,
    [RDATA_MAYBE] = take_maybe,
    [RDATA_STRINGS] = take_strings,
    [RDATA_TAG] = take_tag,
    [RDATA_VALUE] = take_rest,
    [RDATA_NONEMPTY] = take_some,
    [RDATA_SALT] = take_string,
    [RDATA_HASH] = take_hash,
    [RDATA_HEX] = take_some,
    [RDATA_NSAP] = take_some,
    [RDATA_BASE64] = take_some,
    [RDATA_KEY] = take_rest,
    [RDATA_BITMAP] = rdata_bitmap_take,
    [RDATA_LOC] = rdata_loc_take,
    [RDATA_APL] = rdata_apl_take,
    [RDATA_GATEWAY] = rdata_gateway_take,
    [RDATA_HIP] = rdata_hip_take,
    [RDATA_PARAMS] = take_rest, // rdata_check_svcb looks at all of them
    [RDATA_WKS] = take_some,
    [RDATA_ATMA] = take_some,
    [RDATA_A6] = rdata_a6_take,
    [RDATA_RELAY] = rdata_relay_take,
    [RDATA_DOA] = take_rest,
    [RDATA_SCHEME] = take_1,
    [RDATA_OPAQUE] = take_some,
};

static bool take_fields(struct rdata_taker *taker, const struct rdata_shape *shape)
{
    for (const uint8_t *field = shape->fields; *field; field++)
        if (!fields[*field](taker))
            return false;
    if (taker->at < taker->end)
        return rdata_refuse_taken(taker, "octets are left over behind the last field");
    struct text all = buffer_text(taker->out);
    struct text rdata = {all.at + taker->start, all.len - taker->start};
    if (rdata.len > RDATA_MAX)
        return rdata_refuse_taken(taker, "without compression it is longer than 65535 octets");
    return !shape->check || shape->check(rdata, taker->err);
}

bool rdata_take_all(uint16_t type, struct text message, size_t at, size_t len, bool has_pointers,
                    struct buffer *out, struct error *err)
{
    struct rdata_taker taker = {.message = (const uint8_t *)message.at,
                                .at = at,
                                .end = at + len,
                                .has_pointers = has_pointers,
                                .out = out,
                                .start = out->len,
                                .err = err};
    const struct rdata_shape *shape = rdata_shape_find(type);
    if (len > message.len || at > message.len - len)
        return rdata_refuse_taken(&taker, "the message ends within the rdata");
    if (len > RDATA_MAX)
        return rdata_refuse_taken(&taker, "it is longer than 65535 octets");
    if (shape ? take_fields(&taker, shape) : take_rest(&taker))
        return true;
    out->len = taker.start;
    if (out->at)
        out->at[out->len] = '\0';
    return false;
}

bool rdata_take(uint16_t type, struct text message, size_t at, size_t len, struct buffer *out,
                struct error *err)
{
    return rdata_take_all(type, message, at, len, true, out, err);
}
