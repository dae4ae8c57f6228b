#include "dns/idn.h"

#include <idn2.h>
#include <string.h>

static bool refuse(struct text label, const char *reason, int status, struct error *err)
{
    if (status == IDN2_TOO_BIG_LABEL || status == IDN2_TOO_BIG_DOMAIN ||
        status == IDN2_PUNYCODE_BIG_OUTPUT)
        return error_set(err, FAULT_SPEC, reason,
                         "label '%.*s' has over 63 octets as an A-label: shorten it",
                         TEXT_ARGS(label));
    return error_set(err, FAULT_SPEC, reason, "label '%.*s' is not a valid international label: %s",
                     TEXT_ARGS(label), idn2_strerror(status));
}

static void idn_cleanup(void *at)
{
    void **found = at;
    idn2_free(*found);
}
#define AUTO_IDN __attribute__((cleanup(idn_cleanup)))

bool idn_add_label(struct buffer *out, struct text label, const char *reason, struct error *err)
{
    AUTO_BUFFER terminated = {0};
    buffer_add(&terminated, label.at, label.len);
    AUTO_IDN uint8_t *found = NULL;
    int status = idn2_lookup_u8((const uint8_t *)terminated.at, &found,
                                IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
    if (status != IDN2_OK)
        return refuse(label, reason, status, err);
    struct text mapped = text_of((const char *)found);
    if (mapped.len == 0)
        return error_set(err, FAULT_SPEC, reason,
                         "label '%.*s' has no visible character: remove it", TEXT_ARGS(label));
    if (memchr(mapped.at, '.', mapped.len))
        return error_set(err, FAULT_SPEC, reason,
                         "label '%.*s' contains a full stop of another script: write '.'",
                         TEXT_ARGS(label));
    buffer_add(out, mapped.at, mapped.len);
    return true;
}

bool idn_is_punycode(struct text label)
{
    AUTO_BUFFER terminated = {0};
    AUTO_IDN uint32_t *found = NULL;
    buffer_add(&terminated, label.at, label.len);
    return idn2_to_unicode_8z4z(terminated.at, &found, 0) == IDN2_OK;
}
