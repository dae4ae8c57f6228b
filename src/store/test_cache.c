#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "store/cache.h"
#include "store/test_kind.h"

static struct object *make(const struct kind *kind, const char *namespace_, const char *name)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *tree = value_make(arena, VALUE_MAP);
    struct value *metadata = value_make(arena, VALUE_MAP);
    value_set(tree, TEXT("metadata"), metadata);
    value_set(metadata, TEXT("name"), value_make_text(arena, text_of(name)));
    if (namespace_)
        value_set(metadata, TEXT("namespace"), value_make_text(arena, text_of(namespace_)));
    return object_new(kind, NULL, tree);
}

static void object_is_found_by_kind_namespace_and_name(void **state)
{
    (void)state;
    struct cache *cache = cache_new();
    struct object *thing = make(&thing_kind, "shop", "www");
    struct object *place = make(&place_kind, NULL, "www");
    assert_null(cache_put(cache, thing));
    assert_null(cache_put(cache, place));
    assert_ptr_equal(cache_find(cache, &thing_kind, TEXT("shop"), TEXT("www")), thing);
    assert_ptr_equal(cache_find(cache, &place_kind, TEXT(""), TEXT("www")), place);
    assert_null(cache_find(cache, &thing_kind, TEXT("other"), TEXT("www")));
    assert_null(cache_find(cache, &thing_kind, TEXT("shop"), TEXT("ww")));
    assert_null(cache_find(cache, &token_kind, TEXT("shop"), TEXT("www")));
    cache_free(cache);
}

static void newer_state_replaces_and_gives_back_the_old(void **state)
{
    (void)state;
    struct cache *cache = cache_new();
    struct object *old = make(&thing_kind, "shop", "www");
    struct object *young = make(&thing_kind, "shop", "www");
    cache_put(cache, old);
    const struct object *replaced = cache_put(cache, young);
    assert_ptr_equal(replaced, old);
    assert_int_equal(cache_count(cache, NULL), 1);
    assert_int_equal(cache_octets(cache, NULL), object_octets(young));
    object_unref(replaced);
    cache_free(cache);
}

static void count(void *context, const struct object *object)
{
    (void)object;
    ++*(size_t *)context;
}

static void removal_keeps_all_others_findable(void **state)
{
    (void)state;
    struct cache *cache = cache_new();
    char name[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        cache_put(cache, make(&thing_kind, "shop", name));
    }
    for (int i = 0; i < 1000; i += 3) {
        snprintf(name, sizeof name, "n%d", i);
        const struct object *taken = cache_take(cache, &thing_kind, TEXT("shop"), text_of(name));
        assert_non_null(taken);
        object_unref(taken);
    }
    assert_null(cache_take(cache, &thing_kind, TEXT("shop"), TEXT("n0")));
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        const struct object *found = cache_find(cache, &thing_kind, TEXT("shop"), text_of(name));
        assert_int_equal(found != NULL, i % 3 != 0);
        assert_true(!found || text_is(object_name(found), name));
    }
    size_t seen = 0;
    cache_each(cache, &thing_kind, count, &seen);
    assert_int_equal(seen, 666);
    assert_int_equal(cache_count(cache, &thing_kind), 666);
    cache_free(cache);
}

static void counts_go_by_kind(void **state)
{
    (void)state;
    struct cache *cache = cache_new();
    cache_put(cache, make(&thing_kind, "shop", "a"));
    cache_put(cache, make(&thing_kind, "shop", "b"));
    cache_put(cache, make(&place_kind, NULL, "a"));
    assert_int_equal(cache_count(cache, &thing_kind), 2);
    assert_int_equal(cache_count(cache, &place_kind), 1);
    assert_int_equal(cache_count(cache, NULL), 3);
    assert_int_equal(cache_octets(cache, NULL),
                     cache_octets(cache, &thing_kind) + cache_octets(cache, &place_kind));
    cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(object_is_found_by_kind_namespace_and_name),
        cmocka_unit_test(newer_state_replaces_and_gives_back_the_old),
        cmocka_unit_test(removal_keeps_all_others_findable),
        cmocka_unit_test(counts_go_by_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
