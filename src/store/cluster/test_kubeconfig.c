#include "store/cluster/kubeconfig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/must.h"
#include "io/disk.h"
#include "io/test_folder.h"

struct bench {
    char folder[TEST_FOLDER_MAX];
    struct arena *arena;
    struct kube_source source;
    struct kube_access *access;
    struct error err;
};

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    test_folder_make(bench->folder);
    bench->arena = arena_new();
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    kube_access_free(bench->access);
    test_folder_remove(bench->folder);
    arena_free(bench->arena);
    free(bench);
    return 0;
}

static const char *put(struct bench *bench, const char *name, const char *content)
{
    const char *path = arena_printf(bench->arena, "%s/%s", bench->folder, name);
    must(disk_replace(disk_system(), path, text_of(content), 0600, false, NULL));
    return path;
}

static void make_folder(struct bench *bench, const char *name)
{
    must(disk_make_folder(disk_system(), arena_printf(bench->arena, "%s/%s", bench->folder, name),
                          0700, NULL));
}

static bool load(struct bench *bench)
{
    kube_access_free(bench->access);
    error_clear(&bench->err);
    bench->access = kube_access_load(&bench->source, &bench->err);
    assert_int_equal(bench->err.fault, bench->access ? FAULT_NONE : FAULT_SPEC);
    return bench->access;
}

// A file with these lines (flow style) in its cluster and user.
static const char *config_of(struct bench *bench, const char *cluster, const char *user)
{
    return arena_printf(bench->arena,
                        "apiVersion: v1\n"
                        "kind: Config\n"
                        "current-context: c\n"
                        "contexts:\n"
                        "- {name: c, context: {cluster: k, user: u, namespace: n}}\n"
                        "clusters:\n"
                        "- name: k\n"
                        "  cluster: {%s}\n"
                        "users:\n"
                        "- name: u\n"
                        "  user: {%s}\n",
                        cluster, user);
}

#define SERVER "server: 'https://kube.example:6443'"

static bool load_with(struct bench *bench, const char *cluster, const char *user)
{
    bench->source.kubeconfig = put(bench, "config", config_of(bench, cluster, user));
    return load(bench);
}

static void assert_refused(struct bench *bench, const char *cluster, const char *user,
                           const char *place, const char *text)
{
    assert_false(load_with(bench, cluster, user));
    const char *expected =
        arena_printf(bench->arena, "%s/config:%s: %s", bench->folder, place, text);
    assert_string_equal(bench->err.text, expected);
}

static void assert_secret(const struct secret *secret, const char *expected)
{
    assert_non_null(secret);
    assert_string_equal(secret_expose(secret).at, expected);
}

static void assert_in_folder(const struct bench *bench, const char *path, const char *name)
{
    char expected[512];
    snprintf(expected, sizeof expected, "%s/%s", bench->folder, name);
    assert_string_equal(path, expected);
}

// ---- order --------------------------------------------------------------------------------------

static void a_home_config_alone_never_names_a_cluster(void **state)
{
    (void)state;
    struct kube_source source = {.home = "/home/me"};
    assert_false(kube_source_names_cluster(&source));
    source.env_service_host = "10.0.0.1";
    assert_false(kube_source_names_cluster(&source));
    source.env_service_port = "443";
    assert_true(kube_source_names_cluster(&source));
    source = (struct kube_source){.env_kubeconfig = "/a"};
    assert_true(kube_source_names_cluster(&source));
    source = (struct kube_source){.env_kubeconfig = ""};
    assert_false(kube_source_names_cluster(&source));
    source = (struct kube_source){.kubeconfig = "/a"};
    assert_true(kube_source_names_cluster(&source));
    source = (struct kube_source){.context = "c"};
    assert_true(kube_source_names_cluster(&source));
}

static const char *put_server(struct bench *bench, const char *name, const char *host)
{
    return put(bench, name,
               config_of(bench, arena_printf(bench->arena, "server: 'https://%s'", host), ""));
}

static void the_flag_goes_before_the_environment_the_pod_and_the_home(void **state)
{
    struct bench *bench = *state;
    struct kube_source *source = &bench->source;
    make_folder(bench, ".kube");
    put_server(bench, ".kube/config", "home.example");
    source->home = bench->folder;
    source->service_account = bench->folder;
    put(bench, "token", "t");
    put(bench, "ca.crt", "CA");
    assert_false(load(bench));
    source->is_cluster = true;
    assert_true(load(bench));
    assert_string_equal(bench->access->server.host, "home.example");
    source->env_service_host = "pod.example";
    source->env_service_port = "443";
    assert_true(load(bench));
    assert_string_equal(bench->access->server.host, "pod.example");
    source->env_kubeconfig = put_server(bench, "env", "env.example");
    assert_true(load(bench));
    assert_string_equal(bench->access->server.host, "env.example");
    source->kubeconfig = put_server(bench, "flag", "flag.example");
    assert_true(load(bench));
    assert_string_equal(bench->access->server.host, "flag.example");
}

static void a_context_asks_for_a_kubeconfig_even_in_a_pod(void **state)
{
    struct bench *bench = *state;
    struct kube_source *source = &bench->source;
    make_folder(bench, ".kube");
    put_server(bench, ".kube/config", "home.example");
    source->home = bench->folder;
    source->context = "c";
    source->env_service_host = "pod.example";
    source->env_service_port = "443";
    assert_true(load(bench));
    assert_string_equal(bench->access->server.host, "home.example");
}

// ---- KUBECONFIG ---------------------------------------------------------------------------------

static void the_first_file_to_name_something_wins(void **state)
{
    struct bench *bench = *state;
    const char *first = put(bench, "one",
                            "current-context: a\n"
                            "clusters: [{name: k, cluster: {server: 'https://one.example'}}]\n");
    const char *second =
        put(bench, "two",
            "current-context: b\n"
            "contexts:\n"
            "- {name: a, context: {cluster: k, user: u}}\n"
            "- {name: b, context: {cluster: k2}}\n"
            "clusters: [{name: k, cluster: {server: 'https://two.example', proxy-url: x}}]\n"
            "users: [{name: u, user: {token: t}}]\n");
    bench->source.env_kubeconfig =
        arena_printf(bench->arena, ":%s/absent:%s:%s", bench->folder, first, second);
    assert_true(load(bench));
    assert_string_equal(bench->access->server.host, "one.example");
    assert_secret(bench->access->token, "t");
    assert_null(bench->access->proxy);
    assert_string_equal(bench->access->source,
                        arena_printf(bench->arena, "kubeconfig %s, context a", second));
}

static void an_explicit_file_must_exist_and_one_of_the_list_too(void **state)
{
    struct bench *bench = *state;
    bench->source.kubeconfig = "/nonexistent/config";
    assert_false(load(bench));
    assert_true(text_starts(text_of(bench->err.text), "kubeconfig: cannot read /nonexistent/"));
    bench->source.kubeconfig = NULL;
    bench->source.env_kubeconfig = "/nonexistent/a:/nonexistent/b";
    assert_false(load(bench));
    assert_string_equal(bench->err.text,
                        "KUBECONFIG: none of its files exists: /nonexistent/a:/nonexistent/b");
}

static void paths_are_relative_to_the_file_that_names_them(void **state)
{
    struct bench *bench = *state;
    make_folder(bench, "sub");
    put(bench, "sub/ca.pem", "CA");
    put(bench, "sub/token", "t");
    const char *first = put(bench, "one",
                            "current-context: c\n"
                            "contexts: [{name: c, context: {cluster: k, user: u}}]\n");
    const char *second = put(bench, "sub/two",
                             "clusters:\n"
                             "- {name: k, cluster: {" SERVER ", certificate-authority: ca.pem}}\n"
                             "users: [{name: u, user: {tokenFile: ./token}}]\n");
    bench->source.env_kubeconfig = arena_printf(bench->arena, "%s:%s", first, second);
    assert_true(load(bench));
    assert_in_folder(bench, bench->access->ca_file, "sub/ca.pem");
    assert_in_folder(bench, bench->access->token_file, "sub/./token");
}

static void a_context_is_chosen_by_name_or_must_be_set(void **state)
{
    struct bench *bench = *state;
    bench->source.kubeconfig = put(bench, "config",
                                   "contexts:\n"
                                   "- {name: a, context: {cluster: k}}\n"
                                   "- {name: b, context: {cluster: k, namespace: nb}}\n"
                                   "clusters: [{name: k, cluster: {" SERVER "}}]\n");
    assert_false(load(bench));
    assert_non_null(strstr(bench->err.text, "current-context is not set"));
    bench->source.context = "b";
    assert_true(load(bench));
    assert_string_equal(bench->access->namespace_, "nb");
    bench->source.context = "d";
    assert_false(load(bench));
    assert_non_null(strstr(bench->err.text, "there is no context d (contexts: a, b)"));
}

static void what_a_context_refers_to_must_be_there_once(void **state)
{
    struct bench *bench = *state;
    bench->source.context = "c";
    bench->source.kubeconfig = put(bench, "config",
                                   "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                                   "clusters: [{name: k, cluster: {" SERVER "}}]\n");
    assert_false(load(bench));
    assert_non_null(
        strstr(bench->err.text,
               "/config:1:50: contexts[0].context.user: users has no entry of the name u"));
    put(bench, "config",
        "contexts: [{name: c, context: {cluster: k}}]\n"
        "clusters: [{name: k, cluster: {}}, {name: k, cluster: {}}]\n");
    assert_false(load(bench));
    assert_non_null(
        strstr(bench->err.text, "/config:2:36: clusters[1].name: this name is taken by"));
    put(bench, "config", "contexts: [{name: c, context: {}}]\n");
    assert_false(load(bench));
    assert_non_null(
        strstr(bench->err.text, "/config:1:31: contexts[0].context.cluster: is not set"));
}

static void what_is_no_kubeconfig_is_told_with_its_place(void **state)
{
    static const char *const rows[][2] = {
        {"a: [", ":"},
        {"[]", ":1:1: not a kubeconfig: expected a map"},
        {"kind: Pod", ":1:7: kind: not a kubeconfig: expected Config"},
        {"apiVersion: v2", ":1:13: apiVersion: not a kubeconfig: expected v1"},
        {"current-context: 7", ":1:18: current-context: expected a text, found a number: quote it"},
        {"current-context: c\ncontexts: {}", ":2:11: contexts: expected a list"},
        {"current-context: c\ncontexts: [7]", ":2:12: contexts[0]: expected a map"},
        {"", ": current-context is not set: name a context with --context"},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bench->source.kubeconfig = put(bench, "config", rows[i][0]);
        assert_false(load(bench));
        const char *expected =
            arena_printf(bench->arena, "%s%s", bench->source.kubeconfig, rows[i][1]);
        assert_true(text_starts(text_of(bench->err.text), expected));
    }
}

static void unknown_keys_are_passed_over(void **state)
{
    struct bench *bench = *state;
    assert_true(load_with(bench, SERVER ", novelty: {a: 1}", "novelty: [1], token: t"));
    assert_secret(bench->access->token, "t");
}

// ---- clusters -----------------------------------------------------------------------------------

// PEM in base64, as far as anybody looks here: "-----BEGIN X-----".
#define PEM "LS0tLS1CRUdJTiBYLS0tLS0="

static void a_cluster_is_read_as_a_whole(void **state)
{
    struct bench *bench = *state;
    put(bench, "ca", "CA");
    assert_true(load_with(bench,
                          "server: 'https://[::1]:7443/k8s/', tls-server-name: other, "
                          "certificate-authority: ca, proxy-url: 'socks5://u:p@proxy:1080', "
                          "disable-compression: true",
                          "token: t"));
    const struct kube_access *access = bench->access;
    assert_string_equal(access->server.host, "::1");
    assert_int_equal(access->server.port, 7443);
    assert_string_equal(access->server.path, "/k8s");
    assert_string_equal(access->tls_server_name, "other");
    assert_in_folder(bench, access->ca_file, "ca");
    assert_string_equal(access->proxy, "socks5://u:p@proxy:1080");
    assert_string_equal(access->namespace_, "n");
    assert_false(access->is_unverified);
}

static void inline_data_goes_before_files(void **state)
{
    struct bench *bench = *state;
    assert_true(
        load_with(bench, SERVER ", certificate-authority: absent, certificate-authority-data: " PEM,
                  "client-certificate: absent, client-certificate-data: " PEM
                  ", client-key: absent, client-key-data: " PEM));
    const struct kube_access *access = bench->access;
    assert_secret(access->ca, "-----BEGIN X-----");
    assert_secret(access->certificate, "-----BEGIN X-----");
    assert_secret(access->key, "-----BEGIN X-----");
    assert_null(access->ca_file);
    assert_null(access->certificate_file);
    assert_null(access->key_file);
}

static void each_wrong_cluster_key_is_told_with_its_place(void **state)
{
    static const char *const rows[][3] = {
        {"", "8:12", "server: is not set: give the API server's URL"},
        {"server: 7", "8:21", "server: expected a text, found a number: quote it"},
        {"server: kube.example", "8:21", "server: it must start with http:// or https://"},
        {SERVER ", tls-server-name: {}", "8:67", "tls-server-name: expected a text, found a map"},
        {SERVER ", insecure-skip-tls-verify: 'yes'", "8:76",
         "insecure-skip-tls-verify: expected a boolean, found a text"},
        {SERVER ", insecure-skip-tls-verify: true, certificate-authority-data: " PEM, "8:76",
         "insecure-skip-tls-verify: cannot be combined with a certificate authority: remove one of "
         "them"},
        {SERVER ", certificate-authority-data: 'se cret!'", "8:78",
         "certificate-authority-data: expected the base64 of PEM"},
        {SERVER ", certificate-authority-data: c2VjcmV0", "8:78",
         "certificate-authority-data: expected the base64 of PEM"},
        {SERVER ", proxy-url: 'ftp://u:secret@p'", "8:61",
         "proxy-url: must start with http://, https:// or socks5://"},
        {SERVER ", disable-compression: 1", "8:71",
         "disable-compression: expected a boolean, found a number"},
        {SERVER ", extensions: 1", "8:62", "extensions: expected a list"},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_refused(bench, rows[i][0], "", rows[i][1],
                       arena_printf(bench->arena, "clusters[0].cluster%s%s",
                                    rows[i][2][0] ? "." : "", rows[i][2]));
}

static void a_ca_file_must_be_readable(void **state)
{
    struct bench *bench = *state;
    assert_false(load_with(bench, SERVER ", certificate-authority: absent", ""));
    assert_non_null(strstr(
        bench->err.text, "/config:8:73: clusters[0].cluster.certificate-authority: cannot read "));
    put(bench, "absent", " ");
    assert_false(load(bench));
    assert_non_null(strstr(bench->err.text, "/absent is empty"));
}

// ---- users --------------------------------------------------------------------------------------

static void a_user_is_read_as_a_whole(void **state)
{
    struct bench *bench = *state;
    put(bench, "crt", "CRT");
    put(bench, "key", "KEY");
    put(bench, "tok", "TOK");
    assert_true(load_with(bench, SERVER,
                          "client-certificate: crt, client-key: key, token: t, tokenFile: tok, "
                          "as: jane, as-uid: '7', as-groups: [g1, g2], "
                          "as-user-extra: {scopes: [a, b], x: [c]}"));
    const struct kube_access *access = bench->access;
    assert_in_folder(bench, access->certificate_file, "crt");
    assert_in_folder(bench, access->key_file, "key");
    assert_secret(access->token, "t");
    assert_in_folder(bench, access->token_file, "tok");
    assert_string_equal(access->as, "jane");
    assert_string_equal(access->as_uid, "7");
    assert_string_equal(access->as_groups[1], "g2");
    assert_null(access->as_groups[2]);
    static const char *const pairs[] = {"scopes", "a", "scopes", "b", "x", "c"};
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        assert_string_equal(access->as_extra[i], pairs[i]);
    assert_null(access->as_extra[COUNT_OF(pairs)]);
}

static void a_name_and_password_are_read_but_not_beside_a_token(void **state)
{
    struct bench *bench = *state;
    assert_true(load_with(bench, SERVER, "username: joe, password: secret"));
    assert_string_equal(bench->access->username, "joe");
    assert_secret(bench->access->password, "secret");
    assert_refused(bench, SERVER, "username: joe, token: secret", "11:20",
                   "users[0].user.username: cannot be combined with a token: remove one of them");
}

static void each_wrong_user_key_is_told_with_its_place(void **state)
{
    static const char *const rows[][3] = {
        {"token: 12345", "11:17", "token: expected a text, found a number: quote it"},
        {"token: \"secret\\n\"", "11:17", "token: control characters are not allowed"},
        {"client-certificate-data: " PEM, "11:9",
         "client-key: is not set: certificate and key belong together"},
        {"client-key-data: " PEM, "11:9",
         "client-certificate: is not set: certificate and key belong together"},
        {"client-key-data: secret!", "11:27", "client-key-data: expected the base64 of PEM"},
        {"password: secret", "11:9", "username: is not set, but a password is"},
        {"username: 'a:b'", "11:20", "username: a colon is not allowed"},
        {"as-uid: '7'", "11:9", "as: is not set, but as-uid, as-groups or as-user-extra is"},
        {"as: a, as-groups: [7]", "11:29", "as-groups: expected a text, found a number: quote it"},
        {"as: a, as-user-extra: {k: v}", "11:36", "as-user-extra.k: expected a list, found a text"},
        {"as: a, as-user-extra: {k: [a, b], \"k\\0\": []}", "11:51",
         "as-user-extra.k: a NUL is not allowed"},
        {"as: \"a\\r\"", "11:14", "as: control characters are not allowed"},
        {"auth-provider: {name: oidc}", "11:25",
         "auth-provider: auth providers are not supported: use exec with a credential plugin"},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_refused(bench, SERVER, rows[i][0], rows[i][1],
                       arena_printf(bench->arena, "users[0].user.%s", rows[i][2]));
}

static void a_token_file_must_be_readable_unless_a_token_stands_beside_it(void **state)
{
    struct bench *bench = *state;
    assert_false(load_with(bench, SERVER, "tokenFile: absent"));
    assert_non_null(
        strstr(bench->err.text, "/config:11:21: users[0].user.tokenFile: cannot read "));
    assert_true(load_with(bench, SERVER, "tokenFile: absent, token: t"));
}

// ---- exec ---------------------------------------------------------------------------------------

#define V1 "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, "

static void an_exec_plugin_is_read_as_a_whole(void **state)
{
    struct bench *bench = *state;
    assert_true(load_with(
        bench,
        SERVER ", extensions: [{name: x}, {name: client.authentication.k8s.io/exec, "
               "extension: {audience: me}}]",
        "exec: {" V1 "command: bin/plug, args: [a, '7'], env: [{name: A, value: b}, {name: C}], "
        "provideClusterInfo: true, installHint: 'get it'}"));
    const struct kube_exec *exec = &bench->access->exec;
    assert_in_folder(bench, exec->command, "bin/plug");
    assert_string_equal(exec->args[0], "a");
    assert_string_equal(exec->args[1], "7");
    assert_null(exec->args[2]);
    assert_string_equal(exec->env[0], "A=b");
    assert_string_equal(exec->env[1], "C=");
    assert_null(exec->env[2]);
    assert_string_equal(exec->api_version, "client.authentication.k8s.io/v1");
    assert_true(exec->provides_cluster_info);
    assert_string_equal(exec->install_hint, "get it");
    assert_string_equal(exec->cluster_config, "{\"audience\":\"me\"}");
}

static void an_exec_command_without_a_slash_is_looked_for_in_path(void **state)
{
    struct bench *bench = *state;
    assert_true(load_with(
        bench, SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: plug}"));
    assert_string_equal(bench->access->exec.command, "plug");
    assert_false(bench->access->exec.provides_cluster_info);
}

static void each_wrong_exec_key_is_told_with_its_place(void **state)
{
    static const char *const versions = "apiVersion: must be client.authentication.k8s.io/v1 or "
                                        "client.authentication.k8s.io/v1beta1";
    const char *const rows[][3] = {
        {"command: a", "11:16", versions},
        {"apiVersion: client.authentication.k8s.io/v1alpha1", "11:29", versions},
        {"apiVersion: client.authentication.k8s.io/v1", "11:16",
         "interactiveMode: is required: Never or IfAvailable"},
        {"apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always", "11:79",
         "interactiveMode: Always is refused: there is no terminal to ask at"},
        {"apiVersion: client.authentication.k8s.io/v1, interactiveMode: x", "11:79",
         "interactiveMode: must be Never or IfAvailable"},
        {V1 "args: []", "11:16", "command: is not set"},
        {V1 "command: a, args: [7]", "11:105", "args: expected a text, found a number: quote it"},
        {V1 "command: a, env: {}", "11:103", "env: expected a list"},
        {V1 "command: a, env: [7]", "11:104", "env[0]: expected a map of name and value"},
        {V1 "command: a, env: [{value: secret}]", "11:104",
         "env[0].name: must be set, without a \"=\""},
        {V1 "command: a, provideClusterInfo: 'no'", "11:118",
         "provideClusterInfo: expected a boolean, found a text"},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_refused(bench, SERVER, arena_printf(bench->arena, "exec: {%s}", rows[i][0]),
                       rows[i][1], arena_printf(bench->arena, "users[0].user.exec.%s", rows[i][2]));
}

static void more_arguments_than_may_be_are_refused(void **state)
{
    struct bench *bench = *state;
    AUTO_BUFFER user = {0};
    buffer_add_text(&user, "exec: {" V1 "command: a, args: [a");
    for (int i = 0; i < KUBE_ARGS_MAX; i++)
        buffer_add_text(&user, ", a");
    buffer_add_text(&user, "]}");
    assert_refused(bench, SERVER, user.at, "11:104",
                   "users[0].user.exec.args: more than 64 entries");
}

// ---- in cluster ---------------------------------------------------------------------------------

static void a_pod_enters_with_its_service_account(void **state)
{
    struct bench *bench = *state;
    bench->source.service_account = bench->folder;
    bench->source.env_service_host = "fd00::1";
    bench->source.env_service_port = "6443";
    put(bench, "token", "t");
    assert_false(load(bench));
    put(bench, "ca.crt", "CA");
    assert_true(load(bench));
    assert_null(bench->access->namespace_);
    put(bench, "namespace", "dns\n");
    assert_true(load(bench));
    const struct kube_access *access = bench->access;
    assert_true(access->server.is_https && access->server.is_ipv6);
    assert_string_equal(access->server.host, "fd00::1");
    assert_int_equal(access->server.port, 6443);
    assert_in_folder(bench, access->token_file, "token");
    assert_in_folder(bench, access->ca_file, "ca.crt");
    assert_string_equal(access->namespace_, "dns");
    assert_string_equal(access->source, "service account of the pod");
}

static void a_pods_address_must_be_one(void **state)
{
    struct bench *bench = *state;
    bench->source.env_service_host = "10.0.0.1";
    bench->source.env_service_port = "many";
    assert_false(load(bench));
    assert_true(text_starts(text_of(bench->err.text),
                            "KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
        ROW(a_home_config_alone_never_names_a_cluster),
        ROW(the_flag_goes_before_the_environment_the_pod_and_the_home),
        ROW(a_context_asks_for_a_kubeconfig_even_in_a_pod),
        ROW(the_first_file_to_name_something_wins),
        ROW(an_explicit_file_must_exist_and_one_of_the_list_too),
        ROW(paths_are_relative_to_the_file_that_names_them),
        ROW(a_context_is_chosen_by_name_or_must_be_set),
        ROW(what_a_context_refers_to_must_be_there_once),
        ROW(what_is_no_kubeconfig_is_told_with_its_place),
        ROW(unknown_keys_are_passed_over),
        ROW(a_cluster_is_read_as_a_whole),
        ROW(inline_data_goes_before_files),
        ROW(each_wrong_cluster_key_is_told_with_its_place),
        ROW(a_ca_file_must_be_readable),
        ROW(a_user_is_read_as_a_whole),
        ROW(a_name_and_password_are_read_but_not_beside_a_token),
        ROW(each_wrong_user_key_is_told_with_its_place),
        ROW(a_token_file_must_be_readable_unless_a_token_stands_beside_it),
        ROW(an_exec_plugin_is_read_as_a_whole),
        ROW(an_exec_command_without_a_slash_is_looked_for_in_path),
        ROW(each_wrong_exec_key_is_told_with_its_place),
        ROW(more_arguments_than_may_be_are_refused),
        ROW(a_pod_enters_with_its_service_account),
        ROW(a_pods_address_must_be_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
