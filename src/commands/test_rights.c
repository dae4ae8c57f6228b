#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "commands/enabled_controllers.h"
#include "commands/rights.h"

static int make_arena(void **state)
{
    *state = arena_new();
    return 0;
}

static int drop_arena(void **state)
{
    arena_free(*state);
    return 0;
}

static bool has_word(const char *const *words, const char *word)
{
    for (; words && *words; words++)
        if (!strcmp(*words, word))
            return true;
    return false;
}

static bool may(const struct kube_right *rights, const char *verb, const char *group,
                const char *resource)
{
    for (; rights->resource; rights++)
        if (!strcmp(rights->group, group) && !strcmp(rights->resource, resource) &&
            has_word(rights->verbs, verb))
            return true;
    return false;
}

static void controllers_may_watch_what_they_gather_and_write_what_they_want(void **state)
{
    (void)state;
    for (size_t i = 0; i < controller_count; i++) {
        const struct controller *controller = controllers[i];
        const struct kind *kind = controller->kind;
        assert_true(may(controller->rights, "watch", kind->group, kind->plural));
        assert_true(may(controller->rights, "list", kind->group, kind->plural));
        const char *written =
            kind->has_status ? arena_printf(*state, "%s/status", kind->plural) : kind->plural;
        assert_true(may(controller->rights, "patch", kind->group, written));
        if (controller->finalizer)
            assert_true(may(controller->rights, "patch", kind->group, kind->plural));
        for (size_t j = 0; j < controller->input_count; j++) {
            const struct kind *other = controller->inputs[j].kind;
            assert_true(may(controller->rights, "watch", other->group, other->plural));
        }
    }
}

static void who_does_without_a_kind_does_without_the_rights_to_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < controller_count; i++)
        for (size_t j = 0; j < controllers[i]->input_count; j++) {
            const struct input *input = &controllers[i]->inputs[j];
            for (const struct kube_right *right = controllers[i]->rights; right->resource; right++)
                if (!strcmp(right->resource, input->kind->plural) &&
                    !strcmp(right->group, input->kind->group) && has_word(right->verbs, "watch"))
                    assert_int_equal(right->is_dispensable,
                                     input->is_optional || controller_does_without(controllers[i]));
        }
}

static void secrets_are_never_listed(void **state)
{
    const struct rights_needs needs = {
        .controllers = controllers,
        .controller_count = controller_count,
        .lease_name = "signpost",
        .keeps_certificates = true,
    };
    const struct kube_right *rights = rights_make(*state, &needs);
    assert_true(may(rights, "get", "", "secrets"));
    assert_false(may(rights, "list", "", "secrets"));
}

static void each_right_is_there_once_and_says_what_it_is_for(void **state)
{
    const struct rights_needs needs = {
        .controllers = controllers, .controller_count = controller_count, .lease_name = "x"};
    size_t classes = 0;
    for (const struct kube_right *right = rights_make(*state, &needs); right->resource; right++) {
        classes += !strcmp(right->resource, "dnsclasses");
        assert_true(right->why && right->verbs && right->verbs[0]);
    }
    assert_int_equal(classes, 1);
}

static void only_what_is_used_is_asked_for(void **state)
{
    struct rights_needs needs = {.lease_name = "mine", .has_owner_id = true};
    const struct kube_right *rights = rights_make(*state, &needs);
    assert_string_equal(rights[0].resource, "leases");
    assert_string_equal(rights[0].names[0], "mine");
    assert_false(may(rights, "get", "", "namespaces"));
    assert_false(may(rights, "patch", "", "secrets"));
    assert_false(may(rights, "create", "authentication.k8s.io", "tokenreviews"));
    needs = (struct rights_needs){.lease_name = "mine", .keeps_certificates = true};
    rights = rights_make(*state, &needs);
    assert_true(may(rights, "get", "", "namespaces"));
    assert_true(may(rights, "patch", "", "secrets"));
    needs = (struct rights_needs){.lease_name = "mine", .judges_bearers = true};
    rights = rights_make(*state, &needs);
    assert_true(may(rights, "create", "authentication.k8s.io", "tokenreviews"));
    assert_true(may(rights, "create", "authorization.k8s.io", "subjectaccessreviews"));
}

static bool is_careful(const void *settings)
{
    return *(const bool *)settings;
}

static void a_right_is_asked_for_where_the_settings_need_it(void **state)
{
    bool careful = true, careless = false;
    const struct kube_right rows[] = {
        {.group = "",
         .resource = "pods",
         .verbs = (const char *const[]){"create", NULL},
         .is_needed = is_careful},
        {0},
    };
    const struct controller one = {.name = "one", .rights = rows};
    const struct controller *const controllers_[] = {&one};
    struct rights_needs needs = {
        .controllers = controllers_, .controller_count = 1, .lease_name = "x"};
    assert_true(may(rights_make(*state, &needs), "create", "", "pods"));
    needs.settings = (void *const[]){&careful};
    assert_true(may(rights_make(*state, &needs), "create", "", "pods"));
    needs.settings = (void *const[]){&careless};
    assert_false(may(rights_make(*state, &needs), "create", "", "pods"));
}

static void config_maps_are_kept_by_those_who_have_ledgers_alone(void **state)
{
    const struct controller plain = {.name = "plain"};
    const struct controller keeper = {.name = "keeper", .keeps_ledgers = true};
    const struct controller *one = &plain;
    struct rights_needs needs = {.controllers = &one, .controller_count = 1, .lease_name = "x"};
    assert_false(may(rights_make(*state, &needs), "list", "", "configmaps"));
    one = &keeper;
    const struct kube_right *rights = rights_make(*state, &needs);
    for (const char *const *verb = (const char *const[]){"list", "create", "patch", "delete", NULL};
         *verb; verb++)
        assert_true(may(rights, *verb, "", "configmaps"));
    for (; rights->resource; rights++)
        assert_true(strcmp(rights->resource, "configmaps") != 0 ||
                    rights->scope == RIGHT_OWN_NAMESPACE);
}

#define row(name) cmocka_unit_test_setup_teardown(name, make_arena, drop_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        row(controllers_may_watch_what_they_gather_and_write_what_they_want),
        row(who_does_without_a_kind_does_without_the_rights_to_it),
        row(secrets_are_never_listed),
        row(each_right_is_there_once_and_says_what_it_is_for),
        row(only_what_is_used_is_asked_for),
        row(a_right_is_asked_for_where_the_settings_need_it),
        row(config_maps_are_kept_by_those_who_have_ledgers_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
