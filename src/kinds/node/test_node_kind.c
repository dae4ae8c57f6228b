#include "kinds/node/node_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/test_arena.h"

static const char full[] =
    "{'metadata':{'labels':{'kubernetes.io/os':'linux','pool':'infra','empty':''}},"
    "'spec':{'unschedulable':true,'taints':[{'key':'k','value':'v','effect':'NoSchedule'},"
    "{'key':'node-role.kubernetes.io/master','effect':'NoExecute','timeAdded':'x'}]},"
    "'status':{'conditions':[{'type':'DiskPressure','status':'True'},{'type':'Ready','status':"
    "'%s','lastHeartbeatTime':'%s'}],'images':[{'names':['a']}]}}";

static struct text body_of(const char *ready, const char *heartbeat)
{
    AUTO_BUFFER json = {0};
    buffer_printf(&json, full, ready, heartbeat);
    return spec_body_of(&node_kind, json.at);
}

static void readiness_and_taints_are_kept(void **state)
{
    struct node node;
    (void)state;
    node_unpack(arena, body_of("True", "1"), &node);
    assert_true(node.is_ready);
    assert_true(node.is_unschedulable);
    assert_int_equal(node.taint_count, 2);
    assert_true(text_is(node.taints[0].value, "v"));
    assert_true(text_is(node.taints[0].effect, "NoSchedule"));
    assert_true(text_is(node.taints[1].key, "node-role.kubernetes.io/master"));
    assert_null(node.taints[1].value.at);
    node_unpack(arena, body_of("Unknown", "1"), &node);
    assert_false(node.is_ready);
    node_unpack(arena, spec_body_of(&node_kind, "{}"), &node);
    assert_false(node.is_ready || node.is_unschedulable || node.taint_count);
}

static void addresses_are_kept(void **state)
{
    struct node node;
    (void)state;
    node_unpack(arena,
                spec_body_of(&node_kind, "{'status':{'addresses':[{'type':'InternalIP','address':"
                                         "'10.0.0.1'},{'type':'ExternalIP','address':'192.0.2.1'}"
                                         "]}}"),
                &node);
    assert_int_equal(node.address_count, 2);
    assert_true(text_is(node.addresses[1].type, "ExternalIP"));
    assert_true(text_is(node.addresses[1].address, "192.0.2.1"));
    node_unpack(arena, spec_body_of(&node_kind, "{}"), &node);
    assert_int_equal(node.address_count, 0);
}

static void a_heartbeat_changes_nothing(void **state)
{
    (void)state;
    assert_true(text_equal(body_of("True", "1"), body_of("True", "2")));
    assert_false(text_equal(body_of("True", "1"), body_of("False", "1")));
}

static bool has(const char *json)
{
    size_t count;
    const struct text_pair *labels = text_map_make(arena, quote(arena, json), &count);
    return node_has_labels(body_of("True", "1"), labels, count);
}

static void a_selector_asks_for_all_of_its_labels(void **state)
{
    (void)state;
    assert_true(has("{}"));
    assert_true(has("{'pool':'infra','kubernetes.io/os':'linux'}"));
    assert_true(has("{'empty':''}"));
    assert_false(has("{'pool':'infra','kubernetes.io/os':'windows'}"));
    assert_false(has("{'absent':''}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(readiness_and_taints_are_kept),
        UNIT(addresses_are_kept),
        UNIT(a_heartbeat_changes_nothing),
        UNIT(a_selector_asks_for_all_of_its_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
