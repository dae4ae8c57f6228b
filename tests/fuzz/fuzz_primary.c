#include <string.h>

#include "base/must.h"
#include "dns/primary.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

enum { NOW_S = 1700000000, HEADER = 12, UDP_MAX = 1232, OVER_TCP = 1, SIGNED = 2 };

static const struct dname shop = {(const uint8_t *)"\4shop\7example", 14};

static struct zone *zone_of(uint32_t serial)
{
    const char address[] = {10, 0, 0, (char)serial};
    const struct text rdata = {address, sizeof address};
    const struct zone_soa soa = {.mname = shop, .rname = shop, .serial = serial};
    struct rrset *sets[8];
    for (uint8_t i = 0; i < 8; i++) {
        uint8_t octets[16] = {1, 'a' + i};
        memcpy(octets + 2, shop.at, shop.len);
        struct text own = {(const char *)octets + 2, shop.len};
        sets[i] = i ? rrset_new((struct dname){octets, 16}, 5, 60, &own, 1)
                    : rrset_new(shop, 1, 60, &rdata, 1);
    }
    return zone_new(zone_soa_set(shop, 60, &soa), sets, 8);
}

static struct zone_history *history_of_two(void)
{
    struct zone_history *history = zone_history_new();
    for (uint32_t serial = 7; serial <= 8; serial++) {
        CLEANUP(zone) struct zone *zone = zone_of(serial);
        zone_history_publish(history, zone);
    }
    return history;
}

struct served {
    struct zone_history *history;
    struct tsig_key key;
};

static const struct tsig_key *find_key(void *context, struct dname name)
{
    static const struct dname known = {(const uint8_t *)"\10signpost\3key", 14};
    struct served *served = context;
    return dname_equal(name, known) ? &served->key : NULL;
}

static bool find_zone(void *context, struct dname apex, const uint8_t address[16],
                      const struct tsig_key *key, const struct zone_history **history,
                      enum primary_grant *grant)
{
    struct served *served = context;
    (void)address;
    *history = served->history;
    *grant = !key ? PRIMARY_WHOLES : key == &served->key ? PRIMARY_ALL : PRIMARY_NOTHING;
    return dname_is_within(apex, shop);
}

// Each message is a reply to that request; over UDP it is one.
static void check_answer(struct primary_answer *answer, const struct buffer *request, bool is_tcp)
{
    size_t count = 0;
    struct primary_reported reported;
    AUTO_BUFFER out = {0};
    for (; primary_answer_next(answer, NOW_S, &out); count++) {
        must(out.len >= HEADER && out.len <= (is_tcp ? UINT16_MAX : UDP_MAX));
        must(!memcmp(out.at, request->at, 2) && out.at[2] & 0x80);
        buffer_clear(&out);
    }
    primary_answer_report(answer, &reported);
    must(count == 1 && reported.apex_len <= DNAME_MAX);
    must(!reported.has_serial || reported.serial == 8);
    must(reported.rcode || reported.has_serial);
}

// Any octets over UDP or TCP, as they are or signed by us.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    AUTO_BUFFER request = {0};
    struct tsig_mac mac;
    struct served served = {.history = history_of_two()};
    if (len)
        buffer_add(&request, at + 1, len - 1);
    must(tsig_key_init(&served.key, TEXT("signpost.key"), TEXT("hmac-sha256"),
                       TEXT("MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY="), NULL));
    if (request.len >= HEADER && at[0] & SIGNED)
        tsig_sign(&request, &served.key, NOW_S, NULL, &mac, NULL);
    const struct primary_calls calls = {find_key, find_zone, &served};
    const struct primary_request asked = {
        .octets = buffer_text(&request), .is_tcp = len && at[0] & OVER_TCP, .unix_s = NOW_S};
    CLEANUP(primary_answer) struct primary_answer *answer = primary_answer_new(&asked, &calls);
    bool is_request = request.len >= HEADER && !(request.at[2] & 0x80);
    must(is_request == (answer != NULL));
    if (answer)
        check_answer(answer, &request, asked.is_tcp);
    zone_history_free(served.history);
    tsig_key_done(&served.key);
    return 0;
}
