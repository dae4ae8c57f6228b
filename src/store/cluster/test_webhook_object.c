#include "store/cluster/webhook_object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_arena.h"

static struct value *parsed(const char *json)
{
    struct error err;
    char *text = arena_copy_text(arena, json);
    for (char *at = text; *at; at++)
        if (*at == '\'')
            *at = '"';
    struct value *tree = value_read_json(arena, text_of(text), &value_reply_limits, &err);
    if (!tree)
        fail_msg("%s: %s", err.text, text);
    return tree;
}

static struct x509_pair pair(const char *certificate, const char *key)
{
    return (struct x509_pair){mem_copy_text(certificate), secret_new(key, strlen(key))};
}

static struct webhook_keys some_keys(void)
{
    return (struct webhook_keys){.ca = pair("ca", "ca key"),
                                 .leaf = pair("leaf", "leaf key"),
                                 .rotated = mem_copy_text("1")};
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    AUTO_BUFFER body = {0};
    struct webhook_keys keys = some_keys();
    struct webhook_keys back;
    webhook_keys_write_new(&body, "dns", "signpost-webhook-cert", &keys);
    const struct value *tree = parsed(body.at);
    assert_true(text_is(value_text_at(tree, "metadata.name"), "signpost-webhook-cert"));
    assert_true(text_is(value_text_at(tree, "metadata.namespace"), "dns"));
    assert_true(text_is(value_text_at(tree, "type"), "kubernetes.io/tls"));
    assert_int_equal(value_count(value_find(tree, "data")), 4);
    webhook_keys_read(tree, &back);
    assert_string_equal(back.ca.certificate_pem, "ca");
    assert_true(secret_equal(back.ca.key_pem, keys.ca.key_pem));
    assert_string_equal(back.leaf.certificate_pem, "leaf");
    assert_true(secret_equal(back.leaf.key_pem, keys.leaf.key_pem));
    assert_null(back.next.certificate_pem);
    assert_null(back.next.key_pem);
    assert_string_equal(back.rotated, "1");
    assert_null(back.rotate);
    webhook_keys_done(&keys);
    webhook_keys_done(&back);
}

static void a_patch_wants_its_version_and_takes_away_what_is_gone(void **state)
{
    (void)state;
    AUTO_BUFFER body = {0};
    struct webhook_keys keys = some_keys();
    webhook_keys_write_patch(&body, "17", &keys);
    const struct value *tree = parsed(body.at);
    assert_true(text_is(value_text_at(tree, "metadata.resourceVersion"), "17"));
    assert_int_equal(value_count(value_find(tree, "data")), 6);
    const struct value *data = value_find(tree, "data");
    assert_int_equal(value_find(data, "ca-next.crt")->type, VALUE_NULL);
    assert_int_equal(value_find(data, "ca-next.key")->type, VALUE_NULL);
    assert_true(webhook_secret_is_ours(tree)); // from now on: it may have been prepared empty
    webhook_keys_done(&keys);
}

static void what_is_no_base64_is_left_out(void **state)
{
    (void)state;
    struct webhook_keys keys;
    webhook_keys_read(parsed("{'data':{'tls.crt':'!','tls.key':'!','ca.crt':'AAAA','ca.key':7},"
                             "'metadata':{'annotations':"
                             "{'dns.homelab.mortenolsen.pro/rotate-ca':'now'}}}"),
                      &keys);
    assert_null(keys.leaf.certificate_pem);
    assert_null(keys.leaf.key_pem);
    assert_null(keys.ca.certificate_pem);
    assert_null(keys.ca.key_pem);
    assert_string_equal(keys.rotate, "now");
    webhook_keys_done(&keys);
    webhook_keys_read(parsed("{}"), &keys);
    assert_null(keys.ca.certificate_pem);
    webhook_keys_done(&keys);
}

static const char *const host_names[] = {"s.n.svc", "door.example"};
static const struct webhook_hosts hosts = {host_names, COUNT_OF(host_names)};
#define OURS "'service':{'name':'s','namespace':'n'}"
#define THEIRS "'service':{'name':'s','namespace':'other'}"

static struct webhook_bundle bundle_of(const char *json)
{
    struct webhook_bundle out;
    webhook_bundle_read(arena, json ? parsed(json) : NULL, &hosts, &out);
    return out;
}

static void the_bundle_of_all_webhooks_is_read(void **state)
{
    (void)state;
    assert_false(bundle_of(NULL).is_there);
    assert_false(bundle_of("{'webhooks':[]}").is_there);
    struct webhook_bundle none = bundle_of("{'webhooks':[{'clientConfig':{" OURS "}}]}");
    assert_true(none.is_there && !none.is_left && !none.is_mixed && !none.pem.len);
    struct webhook_bundle one =
        bundle_of("{'webhooks':[{'clientConfig':{" OURS ",'caBundle':'Y2E='}},"
                  "{'clientConfig':{'url':'https://door.example/x','caBundle':'Y2E='}}]}");
    assert_true(text_is(one.pem, "ca") && !one.is_mixed);
    assert_true(bundle_of("{'webhooks':[{'clientConfig':{" OURS ",'caBundle':'Y2E='}},"
                          "{'clientConfig':{" OURS "}}]}")
                    .is_mixed);
    assert_true(bundle_of("{'metadata':{'annotations':{'cert-manager.io/inject-ca-from':'a/b'}},"
                          "'webhooks':[{'clientConfig':{" OURS "}}]}")
                    .is_left);
}

static void a_webhook_that_leads_elsewhere_is_somebody_elses(void **state)
{
    (void)state;
    AUTO_BUFFER body = {0};
    static const char mixed[] = "{'webhooks':[{'name':'a','clientConfig':{" THEIRS
                                ",'caBundle':'b2xk'}},{'name':'b','clientConfig':{" OURS "}},"
                                "{'name':'c','clientConfig':{'url':'https://else.example/'}}]}";
    struct webhook_bundle bundle = bundle_of(mixed);
    assert_true(bundle.is_there && !bundle.is_mixed && !bundle.pem.len);
    assert_false(bundle_of("{'webhooks':[{'name':'a','clientConfig':{" THEIRS "}},{}]}").is_there);
    webhook_bundle_write_patch(&body, parsed(mixed), &hosts, "ca");
    assert_string_equal(
        body.at,
        "[{\"op\":\"test\",\"path\":\"/webhooks/1/name\",\"value\":\"b\"},"
        "{\"op\":\"add\",\"path\":\"/webhooks/1/clientConfig/caBundle\",\"value\":\"Y2E=\"}]");
}

static void a_secret_without_our_label_is_somebody_elses_unless_it_is_empty(void **state)
{
    (void)state;
    assert_true(webhook_secret_is_ours(parsed("{'metadata':{}}")));
    assert_true(webhook_secret_is_ours(parsed("{'data':{}}")));
    assert_true(webhook_secret_is_ours(
        parsed("{'metadata':{'labels':{'app.kubernetes.io/managed-by':'signpost'}},"
               "'data':{'tls.crt':'!'}}")));
    assert_false(webhook_secret_is_ours(parsed("{'data':{'tls.crt':'AAAA'}}")));
}

static void a_bundle_is_patched_only_where_all_is_as_it_was_read(void **state)
{
    (void)state;
    AUTO_BUFFER body = {0};
    webhook_bundle_write_patch(&body,
                               parsed("{'webhooks':[{'name':'a','clientConfig':{" OURS
                                      ",'caBundle':'b2xk'}}"
                                      ",{'name':'b','clientConfig':{" OURS "}}]}"),
                               &hosts, "ca");
    assert_string_equal(
        body.at,
        "[{\"op\":\"test\",\"path\":\"/webhooks/0/name\",\"value\":\"a\"},"
        "{\"op\":\"test\",\"path\":\"/webhooks/0/clientConfig/caBundle\",\"value\":\"b2xk\"},"
        "{\"op\":\"add\",\"path\":\"/webhooks/0/clientConfig/caBundle\",\"value\":\"Y2E=\"},"
        "{\"op\":\"test\",\"path\":\"/webhooks/1/name\",\"value\":\"b\"},"
        "{\"op\":\"add\",\"path\":\"/webhooks/1/clientConfig/caBundle\",\"value\":\"Y2E=\"}]");
}

int main(void)
{
#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        UNIT(what_is_written_reads_back),
        UNIT(a_patch_wants_its_version_and_takes_away_what_is_gone),
        UNIT(what_is_no_base64_is_left_out),
        UNIT(the_bundle_of_all_webhooks_is_read),
        UNIT(a_webhook_that_leads_elsewhere_is_somebody_elses),
        UNIT(a_secret_without_our_label_is_somebody_elses_unless_it_is_empty),
        UNIT(a_bundle_is_patched_only_where_all_is_as_it_was_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
