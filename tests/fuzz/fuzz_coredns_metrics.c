#include "base/must.h"
#include "providers/coredns/scrape.h"
#include "providers/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static bool is_within(struct text inner, const uint8_t *at, size_t len)
{
    const uint8_t *inner_at = (const uint8_t *)inner.at;
    return inner_at >= at && inner_at + inner.len <= at + len;
}

static void check_samples(const uint8_t *at, size_t len)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct text rest = {(const char *)at, len};
    struct sample sample;
    while (sample_next(&rest, &sample)) {
        must(sample.name.len && is_within(sample.name, at, len));
        must(sample.label_count <= SAMPLE_LABELS_MAX);
        for (size_t i = 0; i < sample.label_count; i++)
            must(is_within(sample.labels[i].value, at, len));
        must(sample_label(arena, &sample, "to").len <= len);
    }
    must(!rest.len);
}

// Answers are stored as JSON and read back.
static void check_answer(struct arena *arena, const struct value *answer)
{
    AUTO_BUFFER json = {0};
    const struct value *failures = value_find(answer, "healthFailures");
    value_write_json(&json, answer);
    const struct value *again =
        value_read_json(arena, buffer_text(&json), &value_manifest_limits, NULL);
    must(again && value_equal(again, answer));
    must(value_int_at(answer, "reloadFailures", 0) >= 0 && value_int_at(answer, "broken", 0) >= 0);
    must(failures && value_count(failures) <= SCRAPE_SERVERS_MAX);
    value_each (count, failures)
        must(count->key.len && count->integer > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct error err = {0};
    check_samples(at, len);
    const struct value *answer = scrape_read(arena, (struct text){(const char *)at, len}, &err);
    if (answer)
        check_answer(arena, answer);
    else
        must(err.text[0]);
    return 0;
}
