#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_arena.h"
#include "engine/recording.h"

// Secrets that stand where no field is for them, in an object of many texts.

static const char planted[] = "planted";

static bool has_planted(const struct value *value)
{
    if (value && value->type == VALUE_TEXT)
        return text_is(value->text, planted);
    value_each (item, value)
        if (has_planted(item))
            return true;
    return false;
}

static const struct kind kind = {.name = "Subject", .has_secret = has_planted};

// The recorded object with so many texts, the last but one of which is a secret.
static const struct value *record_texts(size_t count, bool *has_masked)
{
    struct recording recording = {.mask = secret_new("key", 3)};
    struct value *tree = value_make(arena, VALUE_MAP);
    struct value *texts = value_put(arena, tree, "spec.texts", value_make(arena, VALUE_LIST));
    for (size_t i = 0; i < count; i++)
        value_append(texts, value_make_text(arena, i + 2 == count
                                                       ? TEXT("planted")
                                                       : text_of(arena_printf(arena, "%zu", i))));
    const struct value *masked = recording_mask_object(&recording, arena, &kind, tree);
    *has_masked = recording.has_masked;
    secret_unref(recording.mask);
    assert_true(has_planted(tree));
    assert_false(has_planted(masked));
    return masked;
}

static void the_secret_alone_is_masked(void **state)
{
    (void)state;
    for (size_t count = 2; count < 2000; count = count * 3 + 1) {
        bool has_masked;
        size_t at = 0;
        const struct value *masked = record_texts(count, &has_masked);
        assert_true(has_masked);
        assert_int_equal(value_count(value_list_at(masked, "spec.texts")), count);
        value_each (text, value_list_at(masked, "spec.texts")) {
            if (at + 2 == count)
                assert_int_equal(text->text.len, 64);
            else
                assert_true(text_is(text->text, arena_printf(arena, "%zu", at)));
            at++;
        }
    }
}

static void of_too_many_texts_none_is_recorded(void **state)
{
    (void)state;
    bool has_masked;
    assert_non_null(value_find(record_texts(1999, &has_masked), "spec"));
    assert_null(value_find(record_texts(2000, &has_masked), "spec"));
    assert_true(has_masked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(the_secret_alone_is_masked),
        UNIT(of_too_many_texts_none_is_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
