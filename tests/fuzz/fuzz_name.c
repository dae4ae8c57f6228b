#include <string.h>

#include "base/must.h"
#include "dns/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static void check_labels(struct text name)
{
    struct text rest = name, label;
    must(name.len >= 1 && name.len <= 253);
    for (size_t number = 0; text_cut(&rest, '.', &label); number++) {
        must(label.len >= 1 && label.len <= 63);
        must((number == 0 && text_is(label, "*")) || !memchr(label.at, '*', label.len));
    }
    for (size_t i = 0; i < name.len; i++)
        must(strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.*", name.at[i]) && name.at[i]);
}

// What was normalised stays as it is when it is normalised again.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct text input = {(const char *)at, len}, once, twice;
    struct error err;
    if (domain_normalise(arena, input, &once, &err)) {
        check_labels(once);
        must(domain_normalise(arena, once, &twice, &err) && text_equal(once, twice));
    }
    if (subdomain_normalise(arena, input, &once, &err) && !text_is(once, "@")) {
        check_labels(once);
        must(subdomain_normalise(arena, once, &twice, &err) && text_equal(once, twice));
    }
    if (target_normalise(arena, input, true, &once, &err) && !text_is(once, "."))
        check_labels(once);
    return 0;
}
