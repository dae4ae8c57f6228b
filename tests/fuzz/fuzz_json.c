#include "base/must.h"
#include "base/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static void check_again_as_json(struct arena *arena, const struct value *tree)
{
    AUTO_BUFFER json = {0};
    value_write_json(&json, tree);
    const struct value *again =
        value_read_json(arena, buffer_text(&json), &value_manifest_limits, NULL);
    must(again && value_equal(tree, again) &&
         content_id_equal(value_content_id(tree), value_content_id(again)));
}

static void check_again_as_yaml(struct arena *arena, const struct value *tree)
{
    AUTO_BUFFER yaml = {0};
    value_write_yaml(&yaml, tree, 0);
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(buffer_text(&yaml), &value_manifest_limits);
    struct value *again = NULL;
    bool has;
    must(yaml_reader_next(reader, arena, &again, &has, NULL) && has);
    must(tree->type == VALUE_NULL ? !again : value_equal(tree, again));
}

// What is read can be written, as JSON and as YAML, and is the same when it is read again.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct error err = {0};
    struct value *tree =
        value_read_json(arena, (struct text){(const char *)at, len}, &value_reply_limits, &err);
    if (!tree) {
        must(err.fault == FAULT_SPEC && err.text[0] >= '1' && err.text[0] <= '9');
        return 0;
    }
    check_again_as_json(arena, tree);
    check_again_as_yaml(arena, tree);
    must(value_equal(tree, value_copy(arena, tree)));
    return 0;
}
