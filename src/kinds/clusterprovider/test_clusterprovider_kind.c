#include "kinds/clusterprovider/clusterprovider_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/test_manifest.h"

static void a_provider_is_a_name_and_texts_for_people(void **state)
{
    (void)state;
    struct emco_metadata provider = clusterprovider_unpack(
        arena, spec_body_of(&clusterprovider_kind,
                            "{'metadata':{'name':'a'},'spec':{'description':'d'}}"));
    assert_true(text_is(provider.name, "a"));
    assert_true(text_is(provider.description, "d"));
}

static void texts_have_their_limits(void **state)
{
    static const struct {
        const char *field;
        size_t max;
    } texts[] = {{"description", 1024}, {"userData1", 512}, {"userData2", 512}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const char *field = texts[i].field;
        const char *most = arena_printf(arena, "{'%s':'%s'}", field, letters(texts[i].max));
        const char *more = arena_printf(arena, "{'%s':'%s'}", field, letters(texts[i].max + 1));
        assert_findings(&clusterprovider_kind,
                        manifest_of(&clusterprovider_kind, "'name':'a'", most), FINDING_ERROR,
                        NULL);
        assert_findings(&clusterprovider_kind,
                        manifest_of(&clusterprovider_kind, "'name':'a'", more), FINDING_ERROR,
                        arena_printf(arena, "spec.%s: must have at most %zu octets, has %zu", field,
                                     texts[i].max, texts[i].max + 1));
    }
}

static void its_object_has_the_name_that_its_own_becomes(void **state)
{
    (void)state;
    assert_findings(&clusterprovider_kind, manifest_of(&clusterprovider_kind, "'name':'a.b'", "{}"),
                    FINDING_ERROR,
                    arena_printf(arena,
                                 "metadata.name: must be %s, with a.b in annotation "
                                 "dns.homelab.mortenolsen.pro/name",
                                 emco_object_name(arena, TEXT("a.b"))));
    assert_findings(&clusterprovider_kind,
                    manifest_of(&clusterprovider_kind,
                                "'name':'a','annotations':{'dns.homelab.mortenolsen.pro/name':'b'}",
                                "{}"),
                    FINDING_ERROR,
                    "metadata.name: must be b, with b in annotation "
                    "dns.homelab.mortenolsen.pro/name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_provider_is_a_name_and_texts_for_people),
        UNIT(texts_have_their_limits),
        UNIT(its_object_has_the_name_that_its_own_becomes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
