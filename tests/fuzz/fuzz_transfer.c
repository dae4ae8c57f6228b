#include <string.h>

#include "base/must.h"
#include "dns/primary.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

enum { NOW_S = 1700000000, ID = 0x1234, HEADER = 12, SERVFAIL = 2 };

static const struct dname shop = {(const uint8_t *)"\4shop\7example", 14};

// The next message of the input, behind 16 bits of length; its id is made to fit.
static bool next_message(const uint8_t **at, size_t *len, struct buffer *out)
{
    if (*len < 2)
        return false;
    size_t wanted = (size_t)(*at)[0] << 8 | (*at)[1];
    size_t found = wanted < *len - 2 ? wanted : *len - 2;
    buffer_clear(out);
    buffer_add(out, *at + 2, found);
    if (found >= HEADER)
        memcpy(out->at, "\22\64", 2);
    *at += 2 + found;
    *len -= 2 + found;
    return true;
}

static struct zone *read_transfer(const struct tsig_key *key, const uint8_t *at, size_t len)
{
    CLEANUP(transfer) struct transfer *transfer = transfer_new(shop, key);
    AUTO_BUFFER octets = {0};
    struct zone *zone = NULL;
    struct error err = {0};
    must(transfer_request(transfer, ID, NOW_S, &octets, &err));
    while (!zone && next_message(&at, &len, &octets)) {
        if (transfer_read_reply(transfer, buffer_text(&octets), NOW_S, &zone, &err))
            continue;
        must(err.text[0] && !zone);
        return NULL;
    }
    return zone;
}

static void handle_reply(const struct tsig_key *key, const uint8_t *at, size_t len)
{
    AUTO_BUFFER octets = {0};
    struct tsig_mac mac = {.len = 32};
    struct error err = {0};
    bool has_serial = false;
    uint32_t serial = 0;
    if (next_message(&at, &len, &octets) && !primary_reply(buffer_text(&octets), ID, shop, key,
                                                           NOW_S, &mac, &has_serial, &serial, &err))
        must(err.text[0] && !has_serial);
}

// ---- what was taken can be given away again -----------------------------------------------------

static const struct tsig_key *no_key(void *context, struct dname name)
{
    (void)context;
    (void)name;
    return NULL;
}

static bool the_zone(void *context, struct dname apex, const uint8_t address[16],
                     const struct tsig_key *key, const struct zone_history **history,
                     enum primary_grant *grant)
{
    (void)apex;
    (void)address;
    (void)key;
    *history = context;
    *grant = PRIMARY_ALL;
    return true;
}

static void check_served(struct zone_history *history, const struct zone *zone)
{
    CLEANUP(transfer) struct transfer *transfer = transfer_new(shop, NULL);
    const struct primary_calls calls = {no_key, the_zone, history};
    AUTO_BUFFER octets = {0};
    struct zone *again = NULL;
    struct primary_reported reported;
    must(transfer_request(transfer, ID, NOW_S, &octets, NULL));
    const struct primary_request request = {.octets = buffer_text(&octets), .is_tcp = true};
    CLEANUP(primary_answer) struct primary_answer *answer = primary_answer_new(&request, &calls);
    buffer_clear(&octets);
    for (; primary_answer_next(answer, NOW_S, &octets); buffer_clear(&octets)) {
        struct error err;
        primary_answer_report(answer, &reported);
        if (reported.rcode == SERVFAIL)
            return; // an RR that fits no message
        must(transfer_read_reply(transfer, buffer_text(&octets), NOW_S, &again, &err));
    }
    uint8_t before[32], after[32];
    zone_digest(zone, before);
    zone_digest(again, after);
    must(!memcmp(before, after, sizeof before) && zone_serial(zone) == zone_serial(again));
    zone_unref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    struct tsig_key key;
    must(tsig_key_init(&key, TEXT("signpost.key"), TEXT("hmac-sha256"),
                       TEXT("MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY="), NULL));
    handle_reply(NULL, at, len);
    handle_reply(&key, at, len);
    zone_unref(read_transfer(&key, at, len));
    CLEANUP(zone) struct zone *zone = read_transfer(NULL, at, len);
    if (zone) {
        struct zone_history *history = zone_history_new();
        zone_history_publish(history, zone);
        check_served(history, zone);
        zone_history_free(history);
    }
    tsig_key_done(&key);
    return 0;
}
