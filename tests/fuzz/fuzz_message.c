#include "base/must.h"
#include "dns/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

// What was read can be written: names and texts survive in their presentation form.
static void check_set(const struct record_set *set)
{
    must(set->value_count > 0 && set->ttl_s <= INT32_MAX);
    CLEANUP(update) struct update *update = update_new(TEXT("."), NULL);
    struct error err = {0};
    must(update_add_set(update, set->domain, set, &err));
    must(update_delete_set(update, set->domain, set->type, &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct message message;
    struct error err = {0};
    if (!message_read(arena, (struct text){(const char *)at, len}, &message, &err)) {
        must(err.fault == FAULT_AGAIN && err.text[0]);
        return 0;
    }
    for (size_t i = 0; i < message.answer_count; i++)
        check_set(&message.answers[i]);
    return 0;
}
