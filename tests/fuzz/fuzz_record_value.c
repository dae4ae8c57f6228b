#include "base/must.h"
#include "dns/message.h"
#include "dns/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

// What is accepted can be sent, is canonical after one step, and equals its canonical form.
static void check_accepted(struct arena *arena, enum record_type type, struct text value)
{
    struct text again, canonical = record_value_canonical(arena, type, value);
    must(text_equal(canonical, record_value_canonical(arena, type, canonical)));
    must(record_value_normalise(arena, type, value, &again, NULL) && text_equal(value, again));
    struct record_set set = {.type = type, .ttl_s = 300, .values = &value, .value_count = 1};
    struct record_set other = set;
    other.values = &canonical;
    must(record_set_equal(&set, &other));
    AUTO_BUFFER out = {0};
    CLEANUP(update) struct update *update = update_new(TEXT("example.com"), NULL);
    must(update_add_set(update, TEXT("www.example.com"), &set, NULL));
    must(update_write(&out, update, 1, NULL));
}

// The first octet is the type.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    if (len == 0)
        return 0;
    CLEANUP(arena) struct arena *arena = arena_new();
    enum record_type type = (enum record_type)(at[0] % RECORD_TYPES);
    struct text value, input = {(const char *)at + 1, len - 1};
    struct error err;
    if (record_value_normalise(arena, type, input, &value, &err))
        check_accepted(arena, type, value);
    else
        must(err.fault == FAULT_SPEC && err.text[0]);
    return 0;
}
