#include "base/must.h"
#include "dns/rdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static const struct dname origin = {(const uint8_t *)"\4shop\7example", 14};

enum { TYPE_LEN = 2 };

// What was accepted is canonical: its text and its generic form lead back to it, and so does a
// message that holds it.
static void expect_canonical(uint16_t type, struct text rdata)
{
    const struct rdata_rules rules = {.origin = &origin, .names = DNAME_OF_FILE};
    AUTO_BUFFER text = {0};
    AUTO_BUFFER again = {0};
    AUTO_BUFFER taken = {0};
    unsigned marks;
    must(rdata.len <= RDATA_MAX);
    rdata_write(&text, type, rdata);
    must(rdata_read(type, buffer_text(&text), &rules, &again, &marks, NULL));
    must(text_equal(buffer_text(&again), rdata) && !marks);
    must(rdata_take(type, rdata, 0, rdata.len, &taken, NULL));
    must(text_equal(buffer_text(&taken), rdata));
    struct dname target;
    uint16_t offsets[8];
    must(rdata_names(type, rdata, offsets, 8) <= 8);
    if (rdata_target(type, rdata, &target))
        must(target.len && target.at + target.len <= (const uint8_t *)rdata.at + rdata.len);
}

static void read_as(enum dname_rules names, uint16_t type, struct text text)
{
    const struct rdata_rules rules = {.origin = &origin, .names = names};
    AUTO_BUFFER rdata = {0};
    struct error err = {0};
    unsigned marks;
    if (rdata_read(type, text, &rules, &rdata, &marks, &err))
        expect_canonical(type, buffer_text(&rdata));
    else
        must(err.fault == FAULT_SPEC && *err.reason && *err.text);
}

// Two octets are the type; the rest is text, a message that ends in rdata of that type, and rdata
// that is written without a look at it.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    if (len < TYPE_LEN)
        return 0;
    uint16_t type = (uint16_t)(at[0] << 8 | at[1]);
    struct text rest = {(const char *)at + TYPE_LEN, len - TYPE_LEN};
    read_as(DNAME_OF_OBJECT, type, rest);
    read_as(DNAME_OF_FILE, type, rest);
    AUTO_BUFFER rdata = {0};
    AUTO_BUFFER text = {0};
    for (size_t skip = 0; skip <= rest.len && skip <= 24; skip += 12) {
        buffer_clear(&rdata);
        if (rdata_take(type, rest, skip, rest.len - skip, &rdata, NULL))
            expect_canonical(type, buffer_text(&rdata));
    }
    rdata_write(&text, type, rest);
    return 0;
}
