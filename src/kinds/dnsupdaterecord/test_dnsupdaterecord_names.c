#include "kinds/dnsupdaterecord/dnsupdaterecord_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/dnsupdaterecord/test_record.h"

#define L60 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const char *fault_of(const struct value *object, const char *name, const char *type)
{
    const char *text = "";
    enum reason reason =
        update_record_name_fault(arena, record_of(object), text_of(name), text_of(type), &text);
    return reason ? reason_name(reason) : "";
}

// As the DomainFilter of external-dns does.
static void filters_admit_names_as_those_of_external_dns_do(void **state)
{
    static const struct {
        const char *filters;
        const char *excludes;
        const char *name;
        bool is_admitted;
    } rows[] = {
        {"''", "''", "www.example.net", true},
        {"'example.org'", "''", "www.example.org", true},
        {"'example.org'", "''", "example.org", true},
        {"'example.org'", "''", "*.example.org", true},
        {"'example.org'", "''", "myexample.org", false},
        {"'example.org'", "''", "org", false},
        {"'.example.org'", "''", "example.org", false},
        {"'.example.org'", "''", "a.b.example.org", true},
        {"'Example.ORG.'", "''", "www.example.org", true},
        {"'.Example.org.'", "''", "www.example.org", true},
        {"'m\xc3\xbcnchen.example'", "''", "www.xn--mnchen-3ya.example", true},
        {"'xn--mnchen-3ya.example'", "''", "www.xn--mnchen-3ya.example", true},
        {"'a.example.org, b.example.org'", "''", "www.b.example.org", true},
        {"['a.example.org','b.example.org']", "''", "www.c.example.org", false},
        {"'*.example.org'", "''", "www.example.org", false},
        {"'example.org'", "'shop.example.org'", "shop.example.org", false},
        {"'example.org'", "'shop.example.org'", "a.shop.example.org", false},
        {"'example.org'", "'shop.example.org'", "workshop.example.org", true},
        {"'example.org'", "'.shop.example.org'", "shop.example.org", true},
        {"'example.org'", "'Shop.example.org.'", "a.shop.example.org", false},
        {"''", "'example.org'", "www.example.org", false},
        {"''", "'example.org'", "www.example.net", true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value *object = record_with("aws", "domain-filter", rows[i].filters, NULL);
        value_set(value_at(object, "spec.external-dns-parameters", NULL), TEXT("exclude-domains"),
                  quote(arena, rows[i].excludes));
        const char *fault = fault_of(object, rows[i].name, "A");
        if (strcmp(fault, rows[i].is_admitted ? "" : "OutsideDomainFilter") != 0)
            fail_msg("%s by %s and not %s: %s", rows[i].name, rows[i].filters, rows[i].excludes,
                     fault);
    }
}

static void filters_in_any_spelling_may_admit_nothing(void **state)
{
    (void)state;
    check_holds(warnings_of(record_with("aws", "exclude-domains", "'Example.ORG.'", NULL)),
                "FilterAdmitsNothing");
}

static void a_name_has_room_for_the_one_of_its_owner(void **state)
{
    static const struct {
        const char *parameter;
        const char *json;
        const char *type;
        const char *fault;
    } rows[] = {
        {NULL, NULL, "A", ""},
        {NULL, NULL, "AAAA", "NameTooLongForRegistry"},
        {"txt-prefix", "'x-'", "A", "NameTooLongForRegistry"},
        {"txt-prefix", "'x.'", "A", ""},
        {"txt-suffix", "'-x'", "A", "NameTooLongForRegistry"},
        {"registry", "'noop'", "CNAME", ""},
        {"registry", "'aws-sd'", "CNAME", ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(fault_of(record_with("aws", rows[i].parameter, rows[i].json, NULL),
                                     L60 ".example.org", rows[i].type),
                            rows[i].fault);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(filters_admit_names_as_those_of_external_dns_do),
        UNIT(filters_in_any_spelling_may_admit_nothing),
        UNIT(a_name_has_room_for_the_one_of_its_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
