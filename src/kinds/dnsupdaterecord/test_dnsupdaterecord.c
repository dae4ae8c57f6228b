#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/dnsupdaterecord/dnsupdaterecord_names.h"
#include "kinds/dnsupdaterecord/test_record.h"
#include "kinds/emco_name.h"

#define PARAMETERS_AT "spec.external-dns-parameters."

// The example of EMCO's documentation, without its comments.
static const char example[] =
    "{'provider':'coredns','external-dns-parameters':{'oneOf':[{'aws-zone-type':'public',"
    "'aws-zone-tags':'zone tags',"
    "'aws-assume-role':'arn:aws:iam::123455567:role/external-dns',"
    "'aws-batch-change-size':1000,'aws-batch-change-interval':'1s',"
    "'aws-evaluate-target-health':true,'no-aws-evaluate-target-health':true,"
    "'aws-api-retries':3,'aws-prefer-cname':true},"
    "{'azure-config-file':'/etc/kubernetes/azure.json',"
    "'azure-resource-group':'resource group','azure-subscription-id':'subscription id',"
    "'azure-user-assigned-identity-client-id':'client id'},{'coredns-prefix':'skydns'},"
    "{'rfc2136-host':'host.sample.com','rfc2136-zone':'','rfc2136-insecure':false,"
    "'rfc2136-tsig-keyname':'tsig key','rfc2136-tsig-secret':'tsig secret',"
    "'rfc2136-tsig-secret-alg':'tsig secret alg','rfc2136-tsig-axfr':'axfr',"
    "'request-timeout':'30s'}],'contour-load-balancer':'heptio-contour/contour',"
    "'fqdn-template':'template','combine-fqdn-annotation':true,"
    "'ignore-hostname-annotation':true,'compatibility':'mate',"
    "'publish-internal-services':true,'publish-host-ip':true,'service-type-filter':'all',"
    "'domain-filter':'example.com','exclude-domains':'example.com',"
    "'zone-id-filter':'zone filter','tls-ca':'tls ca path',"
    "'tls-client-cert':'tls client cert path',"
    "'tls-client-cert-key':'tls client cert key path','policy':'sync','registry':'txt',"
    "'txt-owner-id':'default','txt-prefix':'custom string','txt-cache-interval':'30s',"
    "'interval':'30s','once':true,'dry-run':true,'log-format':'text',"
    "'metrics-address':':7979','log-level':'info'}}";

static void the_documented_example_has_two_errors(void **state)
{
    (void)state;
    const struct value *object = object_of(quote(arena, example));
    assert_string_equal(errors_of(object), PARAMETERS_AT
                        "txt-prefix: \"custom string\" may hold only a-z 0-9 . _ - and "
                        "%{record_type}; " PARAMETERS_AT
                        "once: would restart for ever in a Deployment: remove it or set false");
    static const char *const warned[] = {
        "oneOf: only the element of provider coredns is taken",
        "oneOf[3].rfc2136-tsig-secret: is not used, and is no secret here",
        "oneOf[2].coredns-prefix: is taken as /skydns/",
        "contour-load-balancer: has no effect",
        "fqdn-template: has no effect",
        "tls-ca: has no effect",
        "exclude-domains: FilterAdmitsNothing",
        "no entry sets ETCD_URLS",
    };
    for (size_t i = 0; i < COUNT_OF(warned); i++)
        check_holds(warnings_of(object), warned[i]);
    assert_null(strstr(warnings_of(object), "tsig secret"));
}

// A record that is plain but for what stands here, and one of its errors.
struct rule {
    const char *provider;
    const char *fields; // of the spec
    const char *text;   // NULL: none
};

static void check_rules(const struct rule *rules, size_t count, enum finding_level level)
{
    for (size_t i = 0; i < count; i++) {
        struct value *object = record_with(rules[i].provider, NULL, NULL, rules[i].fields);
        const char *found = findings_of(object, level);
        check_holds(found, rules[i].text);
        if (!rules[i].text)
            assert_string_equal(found, "");
    }
}

#define WITH(parameters) "'external-dns-parameters':{" parameters "}"

static void parameters_are_judged_together(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"rfc2136", "", NULL},
        {"coredns", WITH("'aws-zone-type':'public'"),
         "aws-zone-type: is a parameter of another provider than coredns"},
        {"aws", WITH("'aws-evaluate-target-health':true,'no-aws-evaluate-target-health':false"),
         "must not stand beside aws-evaluate-target-health"},
        {"aws", WITH("'txt-prefix':'a','txt-suffix':'b'"), "txt-suffix: must not stand beside"},
        {"aws", WITH("'ignore-hostname-annotation':true,'fqdn-template':'x'"), NULL},
        {"aws", WITH("'registry':'aws-sd'"), "aws-sd is for provider aws-sd only"},
        {"aws", WITH("'registry':'crd'"), NULL},
        {"aws", "'version':'v0.21.0'," WITH("'registry':'crd'"), "crd needs external-dns v0.22.0"},
        {"coredns", "'version':'v0.20.0'," WITH("'coredns-strictly-owned':true"),
         "needs external-dns v0.21.0 or newer"},
        {"aws", "'version':'v0.19.0'," WITH("'annotation-prefix':'a/'"),
         "needs external-dns v0.20.0 or newer"},
        {"aws", "'adoptOwner':'default'," WITH("'txt-owner-id':'default'"), NULL},
        {"aws", "'adoptOwner':'a'," WITH("'txt-owner-id':'b'"), "is another owner than"},
        {"aws", "'adoptOwner':'a,b'", "spec.adoptOwner: must not have any of"},
        {"aws", WITH("'txt-owner-id':''"), "txt-owner-id: must not be empty"},
        {"aws", WITH("'metrics-address':'localhost:1'"), "must not be a loopback"},
        {"aws", WITH("'metrics-address':'[::1]:1'"), "must not be a loopback"},
        {"aws", WITH("'metrics-address':'7979'"), "must be [host]:port"},
        {"aws", "'provider':'google'", "spec.provider must be"},
    };
    check_rules(rules, COUNT_OF(rules), FINDING_ERROR);
}

static void messages_are_signed_or_not(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"rfc2136", WITH("'rfc2136-insecure':true"),
         "tsig-keyname: must not stand beside rfc2136-insecure"},
        {"rfc2136", WITH("'rfc2136-insecure':true"),
         "tsig-secret: must not stand beside rfc2136-insecure"},
        {"rfc2136",
         WITH("'rfc2136-insecure':true,'rfc2136-tsig-keyname':null") ",'secretRefs':null", NULL},
        {"rfc2136", WITH("'rfc2136-tsig-keyname':null"), "rfc2136-tsig-keyname: is required"},
        {"rfc2136", "'secretRefs':null", "rfc2136-tsig-secret: is required"},
        {"rfc2136",
         WITH("'rfc2136-tsig-keyname':null") ",'secretRefs':null,"
                                             "'extraArgs':[{'name':'rfc2136-gss-tsig'}]",
         NULL},
        {"rfc2136", WITH("'rfc2136-insecure':true") ",'extraArgs':[{'name':'rfc2136-gss-tsig'}]",
         "rfc2136-insecure: must not stand beside rfc2136-gss-tsig"},
        {"rfc2136", WITH("'rfc2136-tsig-secret':'?!'"), "rfc2136-tsig-secret: must be base64"},
        {"rfc2136", WITH("'rfc2136-tsig-secret':''"), "rfc2136-tsig-secret: must not be empty"},
        {"rfc2136", WITH("'rfc2136-host':[]"), "rfc2136-host: is required"},
        {"rfc2136", WITH("'tls-client-cert':null"), "tls-client-cert: is missing"},
        {"rfc2136", WITH("'tls-client-cert-key':null"), "tls-client-cert-key: is missing"},
    };
    check_rules(rules, COUNT_OF(rules), FINDING_ERROR);
}

static void what_is_odd_is_warned_of(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"aws", "", NULL},
        {"aws", WITH("'domain-filter':null"), "all zones that the provider shows are updated"},
        {"aws",
         WITH("'domain-filter':'a.example.org,.B.org','exclude-domains':'example.org,b.org'"),
         "exclude-domains: FilterAdmitsNothing"},
        {"aws", WITH("'exclude-domains':'ample.org'"), NULL},
        {"aws", WITH("'registry':'noop'"), "with policy sync noop"},
        {"aws", WITH("'registry':'noop','policy':'upsert-only'"), NULL},
        {"aws", "'version':'v0.23.0'", "is newer than what Signpost knows"},
        {"rfc2136", WITH("'rfc2136-zone':''"), "the root zone is updated"},
        {"rfc2136", WITH("'rfc2136-tsig-secret-alg':'hmac-sha1'"), "hmac-sha1 is weak"},
        {"rfc2136", WITH("'rfc2136-tsig-axfr':'axfr'"), "\"axfr\" is taken as true"},
        {"rfc2136", WITH("'rfc2136-tsig-axfr':'false'"), "none is ever removed"},
        {"rfc2136", "", "a file has no Secret"},
        {"aws", WITH("'provider':'aws'"), "parameters.provider: is not used, spec.provider"},
        {"coredns", "", NULL},
        {"coredns", WITH("'coredns-prefix':'/skydns/'"), NULL},
        {"coredns", "'env':null", "no entry sets ETCD_URLS"},
        {"coredns", "'env':null,'secretRefs':[{'target':'env:ETCD_URLS','name':'a','key':'b'}]",
         NULL},
        {"azure", "'secretRefs':null", "a file has no Secret"},
        {"azure",
         "'provider':'azure-private-dns','secretRefs':null," WITH("'azure-config-file':''"), NULL},
    };
    check_rules(rules, COUNT_OF(rules), FINDING_WARNING);
}

static void a_native_record_has_zones_and_a_key(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"aws", "'engine':'native'", "spec.engine: native is for provider rfc2136 only"},
        {"rfc2136", WITH("'rfc2136-zone':'example.org'") ",'engine':'native'", NULL},
        {"rfc2136",
         WITH("'rfc2136-insecure':true,'rfc2136-tsig-keyname':null") ",'secretRefs':null,"
                                                                     "'engine':'native'",
         "rfc2136-tsig-keyname: is required by engine: native, which signs"},
        {"rfc2136", WITH("'rfc2136-zone':''") ",'engine':'native'",
         "rfc2136-zone: is required by engine"},
        {"rfc2136", WITH("'rfc2136-zone':'.'") ",'engine':'native'",
         "\".\" is no zone that engine: native"},
        {"rfc2136", WITH("'rfc2136-zone':['a.test','a..b']") ",'engine':'native'",
         "\"a..b\" is no zone"},
        {"rfc2136",
         WITH("'rfc2136-zone':['a','b','c','d','e','f','g','h','i.test']") ",'engine':'native'",
         "lists 9 zones, and engine: native takes 8"},
        {"rfc2136", WITH("'rfc2136-zone':'.'"), NULL},
    };
    check_rules(rules, COUNT_OF(rules), FINDING_ERROR);
}

static void what_stands_beside_parameters_is_judged(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"aws", "'secretRefs':[{'target':'env:AWS_SECRET_ACCESS_KEY','name':'a','key':'b'}]", NULL},
        {"aws", "'secretRefs':[{'target':'webhook-provider-token','name':'a','key':'b'}]", NULL},
        {"aws", "'secretRefs':[{'target':'env:HOME','name':'a','key':'b'}]",
         "spec.secretRefs[0].target: env:HOME is no variable"},
        {"aws", "'secretRefs':[{'target':'interval','name':'a','key':'b'}]",
         "interval is neither a file, nor a secret"},
        {"aws", "'secretRefs':[{'target':'my secret','name':'a','key':'b'}]",
         "my secret is neither a file, nor a secret"},
        {"aws", "'secretRefs':[{'target':'azure-config-file','name':'a','key':'b'}]",
         "azure-config-file is a parameter of another provider"},
        {"rfc2136",
         "'secretRefs':[{'target':'rfc2136-tsig-secret','name':'a','key':'b'},"
         "{'target':'rfc2136-tsig-secret','name':'a','key':'c'}]",
         "spec.secretRefs[1].target: rfc2136-tsig-secret stands in the list before"},
        {"aws", "'env':[{'name':'AWS_REGION','value':'eu'}]", NULL},
        {"aws", "'env':[{'name':'AWS_REGION','value':'a'},{'name':'AWS_REGION','value':'b'}]",
         "spec.env[1].name: AWS_REGION is set twice"},
        {"aws",
         "'env':[{'name':'AWS_REGION','value':'a'}],'secretRefs':[{'target':"
         "'env:AWS_REGION','name':'a','key':'b'}]",
         "spec.env[0].name: AWS_REGION is set twice"},
        {"aws", "'env':[{'name':'ETCD_URLS','value':'a'}]", "ETCD_URLS may not be set for"},
        {"aws", "'env':[{'name':'AWS_SECRET_ACCESS_KEY','value':'s3cret'}]",
         "AWS_SECRET_ACCESS_KEY comes out of a Secret"},
        {"coredns", "'env':[{'name':'ETCD_CA_FILE','value':'/ca'}]", "comes out of a Secret"},
        {"aws", "'extraArgs':[{'name':'zone-name-filter','value':'a'},{'name':'no-create-ptr'}]",
         NULL},
        {"aws", "'extraArgs':[{'name':'--x'}]", "--x is no flag"},
        {"aws", "'extraArgs':[{'name':'a=b'}]", "is no flag"},
        {"aws", "'extraArgs':[{'name':'policy'}]", "policy is a parameter"},
        {"aws", "'extraArgs':[{'name':'rfc2136-axfr'}]", "rfc2136-axfr is a parameter"},
        {"aws", "'extraArgs':[{'name':'cloudflare-api-token'}]", "holds a secret"},
        {"aws", "'extraArgs':[{'name':'source'}]", "source is set by Signpost"},
        {"aws", "'extraArgs':[{'name':'no-events'}]", "no-events is set by Signpost"},
        {"aws", "'extraArgs':[{'name':'no-once'}]", "no-once is set by Signpost"},
        {"aws", "'extraArgs':[{'name':'help-long'}]", "help-long would end external-dns"},
        {"aws", "'extraArgs':[{'name':'completion-bash'}]",
         "completion-bash would end external-dns"},
        {"aws", "'extraArgs':[{'name':'version'}]", "version would end external-dns"},
        {"rfc2136", "'extraArgs':[{'name':'rfc2136-gss-tsig','value':'false'}]",
         "spec.extraArgs[0].value: rfc2136-gss-tsig is a switch"},
        {"aws", "'extraArgs':[{'name':'crd-source-kind'}]", "is set by Signpost"},
        {"aws", "'extraArgs':[{'name':'migrate-from-txt-owner'}]", "is set by Signpost"},
        {"aws", "'extraArgs':[{'name':'a','value':'b\\u0000c'}]",
         "spec.extraArgs[0].value: must not have control characters"},
        {"aws", "'env':[{'name':'AWS_REGION','value':'\\n'}]", "spec.env[0].value: must not"},
        {"aws", "'adoptOwner':'a\\u007f'", "spec.adoptOwner: must not have control"},
        {"aws", WITH("'zone-id-filter':'a\\u001b[1mb'"),
         "zone-id-filter: \"a [1mb\" must not have control"},
        {"aws", "'version':'v0.22.0-\\n'", "spec.version: must not have control"},
        {"aws", "'image':'x:v0.21.0-\\n','version':'v0.22.0'", "spec.image: has another release"},
        {"aws", "'version':'0.22'", "spec.version: must be a release"},
        {"aws", "'version':'v0.22.0-a b'", "spec.version: must be a release"},
        {"aws", "'version':'v0.22.0-a\\u0000b'", "spec.version: must be a release"},
        {"aws", "'version':'v0.22.0-'", "spec.version: must be a release"},
        {"aws", "'version':'v0.22.0-rc.1'", NULL},
        {"aws", "'version':'v0.18.0'", "v0.18.0 is not supported: take v0.19.0 or newer"},
        {"aws", "'image':'x:latest'", "spec.image: must not have the tag latest"},
        {"aws", "'image':'x:v0.21.0','version':'v0.22.0'", "make them agree"},
        {"aws", "'allowedProjects':['Edge_Shop']", NULL},
        {"aws", "'allowedProjects':['a','-b']", "spec.allowedProjects[1]: must be the name"},
        {"aws", "'verify':{'servers':['192.0.2.53','[2001:db8::53]:5353','2001:db8::53']}", NULL},
        {"aws", "'verify':{'servers':['ns.example.org']}", "spec.verify.servers[0]: must be an"},
        {"aws", "'ttl':0", "spec.ttl: must be between 1 and"},
        {"aws",
         "'resources':{'limits':{'cpu':1}},'nodeSelector':{'a':'b'},'tolerations':[{"
         "'operator':'Exists'}],'imagePullSecrets':[{'name':'a'}],"
         "'serviceAccountAnnotations':{'a/b':'c'}",
         NULL},
    };
    check_rules(rules, COUNT_OF(rules), FINDING_ERROR);
}

static void secret_refs_have_names_of_secrets_and_of_keys(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"aws", "'secretRefs':[{'target':'env:AWS_SESSION_TOKEN','name':'a.b-c','key':'B_c.d'}]",
         NULL},
        {"aws", "'secretRefs':[{'target':'env:AWS_SECRET_ACCESS_KEY','name':'A','key':'b'}]",
         "spec.secretRefs[0].name: must match " KIND_NAME_PATTERN},
        {"aws", "'secretRefs':[{'target':'env:AWS_SECRET_ACCESS_KEY','name':'a','key':'b/c'}]",
         "spec.secretRefs[0].key: must match " KIND_KEY_PATTERN},
        {"aws", "'imagePullSecrets':[{'name':'a..b'}]",
         "spec.imagePullSecrets[0].name: must match " KIND_NAME_PATTERN},
    };
    check_rules(rules, COUNT_OF(rules), FINDING_ERROR);
}

static void flags_that_end_external_dns_are_refused(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"aws",
         "'extraArgs':[{'name':'exclude-target-net','value':'a'},{'name':'exclude-target-net',"
         "'value':'b'},{'name':'aws-sd-create-tag','value':'a=b'},{'name':'aws-sd-create-tag',"
         "'value':'c=d'}]",
         NULL},
        {"aws", "'extraArgs':[{'name':'min-ttl','value':'1s'},{'name':'min-ttl','value':'2s'}]",
         "spec.extraArgs[1].name: min-ttl stands in the list before, and external-dns takes it "
         "only "
         "once: remove one"},
        {"aws", "'extraArgs':[{'name':'create-ptr'},{'name':'no-create-ptr'}]",
         "spec.extraArgs[1].name: no-create-ptr stands in the list before"},
        {"aws", "'extraArgs':[{'name':'no-prefer-alias'},{'name':'prefer-alias'}]",
         "spec.extraArgs[1].name: prefer-alias stands in the list before"},
        {"aws", "'extraArgs':[{'name':'create-ptr','value':'true'}]",
         "spec.extraArgs[0].value: create-ptr is a switch"},
        {"aws", "'extraArgs':[{'name':'min-ttl'}]",
         "spec.extraArgs[0].value: min-ttl needs a value"},
        {"aws", "'extraArgs':[{'name':'min-ttl','value':''}]", NULL},
        {"aws", "'extraArgs':[{'name':'no-min-ttl'}]",
         "no-min-ttl is no flag of external-dns v0.22"},
        {"aws", "'extraArgs':[{'name':'exclude-target-nets','value':'a'}]",
         "spec.extraArgs[0].name: exclude-target-nets is no flag of external-dns v0.22, which "
         "would "
         "end at once; did you mean exclude-target-net?"},
        {"aws", "'version':'v0.20.0','extraArgs':[{'name':'create-ptr'}]",
         "create-ptr is a flag of external-dns v0.21 and newer, not of v0.20"},
        {"aws", "'version':'v0.22.0','extraArgs':[{'name':'cf-username','value':'a'}]",
         "cf-username is a flag of external-dns v0.20 and older, not of v0.22"},
        {"aws", "'version':'v0.20.1','extraArgs':[{'name':'cf-username','value':'a'}]", NULL},
        {"aws", "'extraArgs':[{'name':'cf-username','value':'a'}]", NULL},
        {"aws", "'version':'v0.23.0','extraArgs':[{'name':'brand-new','value':'a'}]", NULL},
        {"aws",
         "'version':'v0.21.0','extraArgs':[{'name':'target-template','value':'a'},"
         "{'name':'target-template','value':'b'}]",
         "spec.extraArgs[1].name: target-template stands in the list before"},
        {"aws",
         "'version':'v0.22.0','extraArgs':[{'name':'target-template','value':'a'},"
         "{'name':'target-template','value':'b'}]",
         NULL},
    };
    static const struct rule warned[] = {
        {"aws", "'version':'v0.23.0','extraArgs':[{'name':'brand-new','value':'a'}]",
         "spec.extraArgs[0].name: brand-new is no flag that Signpost knows"},
        {"aws", "'extraArgs':[{'name':'cf-username','value':'a'}]",
         "cf-username is a flag of external-dns v0.20 and older, not of v0.22"},
    };
    check_rules(rules, COUNT_OF(rules), FINDING_ERROR);
    check_rules(warned, COUNT_OF(warned), FINDING_WARNING);
}

static void no_secret_stands_in_a_finding(void **state)
{
    (void)state;
    struct value *object = record_with("rfc2136", "rfc2136-tsig-secret", "'c2VjcmV0'", NULL);
    assert_null(strstr(errors_of(object), "c2VjcmV0"));
    assert_true(dnsupdaterecord_kind.has_secret(object));
    assert_true(dnsupdaterecord_kind.has_secret(object_of(quote(arena, example))));
    assert_false(dnsupdaterecord_kind.has_secret(record_with("rfc2136", NULL, NULL, NULL)));
}

static void what_must_come_out_of_a_secret_is_known_as_one(void **state)
{
    (void)state;
    static const struct {
        const char *more;
        bool has_secret;
    } rows[] = {
        {"'env':[{'name':'AWS_SECRET_ACCESS_KEY','value':'a'}]", true},
        {"'env':[{'name':'AZURE_CLIENT_SECRET','value':'of another provider'}]", true},
        {"'env':[{'name':'CF_API_TOKEN','value':'of one that nobody knows'}]", true},
        {"'env':[{'name':'CF_API_TOKEN','value':''},{'name':'AWS_REGION','value':'a'}]", false},
        {"'extraArgs':[{'name':'pihole-password','value':'a'}]", true},
        {"'extraArgs':[{'name':'create-ptr','value':'a'}]", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(
            dnsupdaterecord_kind.has_secret(record_with("aws", NULL, NULL, rows[i].more)),
            rows[i].has_secret);
}

static void a_password_in_the_urls_of_etcd_is_refused_and_never_shown(void **state)
{
    (void)state;
    static const char *const urls[] = {
        "http://root:hunter2@etcd:2379",
        "http://a:2379,https://root:hunter2@b:2379",
        "root:hun/ter2@etcd:2379",
    };
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        const struct value *object =
            record_with("coredns", NULL, NULL,
                        arena_printf(arena, "'env':[{'name':'ETCD_URLS','value':'%s'}]", urls[i]));
        check_holds(errors_of(object), "spec.env[0].value: must hold no user and password, which "
                                       "would stay in the object's history");
        check_holds(errors_of(object), "target env:ETCD_USERNAME and one with target "
                                       "env:ETCD_PASSWORD");
        assert_null(strstr(errors_of(object), "ter2"));
        assert_null(strstr(warnings_of(object), "ter2"));
        assert_true(dnsupdaterecord_kind.has_secret(object));
    }
    const struct value *plain = record_with("coredns", NULL, NULL, NULL);
    assert_string_equal(errors_of(plain), "");
    assert_false(dnsupdaterecord_kind.has_secret(plain));
}

static void a_value_behind_a_name_is_not_shown(void **state)
{
    (void)state;
    static const char *const fields[] = {
        "'extraArgs':[{'name':'--x-token=hidden'}]",
        "'env':[{'name':'AWS_SECRET_ACCESS_KEY=hidden','value':'a'}]",
        "'secretRefs':[{'target':'env:A=hidden','name':'a','key':'b'}]",
    };
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const char *errors = errors_of(record_with("aws", NULL, NULL, fields[i]));
        assert_true(*errors);
        assert_null(strstr(errors, "hidden"));
    }
}

static void one_of_takes_the_element_of_the_provider(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {"coredns", WITH("'oneOf':[{'aws-zone-type':''},{'coredns-prefix':'/a/'}]"), NULL},
        {"coredns", WITH("'oneOf':[{'provider':'coredns','coredns-prefix':'/a/'}]"), NULL},
        {"coredns", WITH("'oneOf':[{'aws-zone-type':''},{}]"),
         "oneOf: no element has parameters of provider coredns alone"},
        {"coredns", WITH("'oneOf':[{'coredns-prefix':'/a/'},{'coredns-prefix':'/b/'}]"),
         "oneOf: several elements have"},
        {"coredns", WITH("'oneOf':[{'coredns-prefix':'/a/'}],'coredns-prefix':'/b/'"),
         "oneOf[0].coredns-prefix: stands beside oneOf, too"},
        {"coredns", WITH("'oneOf':[{'coredns-prefix':1}]"),
         "oneOf[0].coredns-prefix: expected text"},
        {"aws", WITH("'oneOf':[{'aws-api-retries':1.5}]"), "expected a number, found a fraction"},
        {"coredns", WITH("'oneOf':{}"), "oneOf: expected a list, found a map"},
    };
    check_rules(rules, COUNT_OF(rules), FINDING_ERROR);
}

static void all_faults_come_at_once(void **state)
{
    (void)state;
    struct value *object = record_with(
        "aws", NULL, NULL,
        WITH("'policy':'x','interval':'0s','once':true") ",'engine':'native','version':'1'");
    struct findings findings = {.arena = arena};
    dnsupdaterecord_kind.validate(object, &findings);
    assert_int_equal(findings_errors(&findings), 5);
    assert_string_equal(findings.items[0].path, "spec.external-dns-parameters.policy");
}

#define PINNED_AT "metadata.annotations[" PINNED_ANNOTATION "]"

static struct value *pinned_record(const char *json, const char *parameters)
{
    struct value *object = record_with("aws", NULL, NULL, parameters);
    value_put_text(arena, object, PINNED_AT, json);
    return object;
}

static void a_broken_pin_is_not_passed_over(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "",
        "{}",
        "{",
        "[1]",
        "{\"txt-owner-id\":\"\",\"txt-prefix\":\"\",\"annotation-prefix\":\"a/\"}",
        "{\"txt-owner-id\":1,\"txt-prefix\":\"\",\"annotation-prefix\":\"a/\"}",
        "{\"txt-owner-id\":\"o\",\"txt-prefix\":1,\"annotation-prefix\":\"a/\"}",
        "{\"txt-owner-id\":\"o\",\"annotation-prefix\":\"a/\"}",
        "{\"txt-owner-id\":\"o\",\"txt-prefix\":\"\",\"annotation-prefix\":\"\"}",
    };
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        const struct value *object = pinned_record(broken[i], NULL);
        check_holds(errors_of(object), PINNED_AT ": must be JSON with txt-owner-id");
        assert_false(record_of(object)->has_pinned);
        assert_true(record_of(object)->has_broken_pin);
    }
    assert_false(record_of(record_with("aws", NULL, NULL, NULL))->has_broken_pin);
}

static void what_is_pinned_is_judged_like_a_parameter(void **state)
{
    (void)state;
    static const char *const pins[][4] = {
        {"o", "p.%{record_type}", "a/", ""},
        {"a,b", "", "a/", PINNED_AT ": txt-owner-id \"a,b\" must not have any of , = \""},
        {"a=b", "", "a/", "txt-owner-id \"a=b\" must not have"},
        {"a\\\"b", "", "a/", "txt-owner-id \"a\"b\" must not have"},
        {"a\\u0007b", "", "a/", "must not have control characters"},
        {"o", "custom string", "a/", PINNED_AT ": txt-prefix \"custom string\" may hold only"},
        {"o", "", "a", PINNED_AT ": annotation-prefix \"a\" must end with a slash"},
    };
    for (size_t i = 0; i < COUNT_OF(pins); i++) {
        const char *json = arena_printf(
            arena, "{\"txt-owner-id\":\"%s\",\"txt-prefix\":\"%s\",\"annotation-prefix\":\"%s\"}",
            pins[i][0], pins[i][1], pins[i][2]);
        const char *errors = errors_of(pinned_record(json, NULL));
        check_holds(errors, pins[i][3]);
        assert_int_equal(!*errors, !*pins[i][3]);
    }
}

static void what_is_pinned_is_in_force(void **state)
{
    (void)state;
    static const char pin[] =
        "{\"txt-owner-id\":\"old\",\"txt-prefix\":\"p.\",\"annotation-prefix\":\"a/\"}";
    static const char *const asked[][2] = {
        {"'txt-prefix':'p.'", NULL},
        {"'txt-prefix':'p.','txt-owner-id':'default'", NULL},
        {"'txt-prefix':'p.','txt-owner-id':'old','annotation-prefix':'a/'", NULL},
        {"'txt-prefix':'q.'", PARAMETERS_AT "txt-prefix: \"p.\" is in force, not \"q.\""},
        {"'txt-prefix':''", PARAMETERS_AT "txt-prefix: \"p.\" is in force, not \"\""},
        {"'txt-owner-id':'old'", PARAMETERS_AT "txt-prefix: is left out, so that p. stays"},
        {"'txt-prefix':'p.','txt-owner-id':'new'",
         PARAMETERS_AT "txt-owner-id: \"old\" is in force, not \"new\""},
        {"'txt-prefix':'p.','annotation-prefix':'b/'",
         PARAMETERS_AT "annotation-prefix: \"a/\" is in force, not \"b/\""},
    };
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        const char *fields = arena_printf(arena, "'external-dns-parameters':{%s}", asked[i][0]);
        struct value *object = pinned_record(pin, fields);
        assert_string_equal(errors_of(object), "");
        check_holds(warnings_of(object), asked[i][1]);
        if (!asked[i][1])
            assert_string_equal(warnings_of(object), "");
        value_put_text(arena, object, "metadata.annotations[" MOVE_ANNOTATION "]", "drain");
        assert_null(strstr(warnings_of(object), "is in force, not"));
    }
    check_holds(warnings_of(pinned_record(pin, "'adoptOwner':'new'")),
                "spec.adoptOwner: \"old\" is in force, not \"new\"");
}

// What the record asks for instead comes with a move.
static void names_that_stand_are_marked_as_the_pinned_place_says(void **state)
{
    (void)state;
    const char *asked = "'external-dns-parameters':{'txt-suffix':'-new','registry':'noop'}";
    const struct update_record *record = record_of(
        pinned_record("{\"txt-owner-id\":\"old\",\"txt-prefix\":\"\",\"annotation-prefix\":\"a/\","
                      "\"place\":\"provider=aws\\nregistry=txt\\ntxt-suffix=-old\"}",
                      asked));
    assert_true(text_is(update_record_affix(record).suffix, "-old"));
    assert_true(text_is(update_record_registry(record), "txt"));
    record = record_of(record_with("aws", NULL, NULL, asked));
    assert_true(text_is(update_record_affix(record).suffix, "-new"));
    assert_true(text_is(update_record_registry(record), "noop"));
}

static void a_pinned_prefix_admits_no_suffix(void **state)
{
    (void)state;
    struct value *object = record_with("aws", "txt-suffix", "'-s'", NULL);
    value_put_text(arena, object, "metadata.annotations[" PINNED_ANNOTATION "]",
                   "{\"txt-owner-id\":\"o\",\"txt-prefix\":\"p.\",\"annotation-prefix\":\"a/\"}");
    check_holds(errors_of(object),
                "txt-suffix: must not stand beside the txt-prefix that annotation");
}

static void fields_and_annotations_come_through_the_cache(void **state)
{
    (void)state;
    struct value *object =
        record_with("rfc2136", NULL, NULL,
                    "'ttl':60,'allowPrivate':true,'allowedProjects':['a','b'],'engine':'native',"
                    "'verify':{'servers':['192.0.2.1'],'timeoutSeconds':9},"
                    "'nodeSelector':{'a':'b'},'extraArgs':[{'name':'x'},{'name':'y','value':''}]");
    value_set(object, TEXT("metadata"),
              quote(arena, "{'name':'a-b-c-cec53d90','annotations':{"
                           "'dns.homelab.mortenolsen.pro/name':'A_b.C',"
                           "'dns.homelab.mortenolsen.pro/move':'drain',"
                           "'dns.homelab.mortenolsen.pro/abandon-records':'true'}}"));
    const struct update_record *record = record_of(object);
    assert_true(text_is(record->name, "A_b.C"));
    assert_int_equal(record->provider, EXTERNAL_DNS_RFC2136);
    assert_true(record->may_move && record->may_abandon && record->is_native);
    assert_true(record->allows_private && record->is_verified && !record->has_pinned);
    assert_int_equal(record->ttl_s, 60);
    assert_int_equal(record->allowed_project_count, 2);
    assert_int_equal(record->verify_timeout_s, 9);
    assert_true(text_is(record->servers[0], "192.0.2.1"));
    assert_string_equal(json_of(record->node_selector), "{\"a\":\"b\"}");
    assert_null(record->extra_args[0].value.at);
    assert_non_null(record->extra_args[1].value.at);
    assert_false(record_of(record_with("aws", NULL, NULL, NULL))->is_verified);
}

static void a_status_is_what_its_schema_allows(void **state)
{
    (void)state;
    static const char *const args[] = {"--source=crd"};
    static const char *const env[] = {"EXTERNAL_DNS_RFC2136_TSIG_SECRET"};
    static const char *const warnings[] = {"a warning"};
    const struct update_record_user user = {TEXT("p"), TEXT("webshop"), TEXT("v1"), TEXT("dig-1"),
                                            3};
    struct update_record_status status = {
        .observed_generation = 7,
        .users = &user,
        .user_count = 1,
        .version = TEXT("v0.22.0"),
        .args = args,
        .arg_count = 1,
        .env = env,
        .env_count = 1,
        .warnings = warnings,
        .warning_count = 1,
        .owner_id = TEXT("signpost-x"),
        .deployment = TEXT("external-dns-x"),
        .endpoints = 3,
        .last_sync_s = 1767225600,
    };
    struct update_record_status read;
    conditions_set(
        &status.conditions, NULL,
        (struct condition){
            .type = "Synced", .status = CONDITION_TRUE, .reason = REASON_SYNCED, .message = "m"},
        5);
    struct value *object = record_with("aws", NULL, NULL, NULL);
    value_set(object, TEXT("status"), update_record_status_encode(arena, &status));
    value_each (entry, value_find(object, "status"))
        assert_non_null(kind_find_field(&dnsupdaterecord_kind,
                                        arena_printf(arena, "status.%.*s", TEXT_ARGS(entry->key))));
    struct bodies bodies = bodies_of(&dnsupdaterecord_kind, object);
    update_record_status_unpack(bodies.spec, bodies.ours, &read);
    assert_int_equal(read.observed_generation, 7);
    assert_int_equal(read.endpoints, 3);
    assert_int_equal(read.last_sync_s, 1767225600);
    assert_true(text_is(read.owner_id, "signpost-x") && text_is(read.version, "v0.22.0"));
    assert_true(text_is(read.deployment, "external-dns-x"));
    assert_int_equal(conditions_find(&read.conditions, "Synced")->reason, REASON_SYNCED);
    assert_int_equal(conditions_find(&read.conditions, "Synced")->transition_s, 5);
    update_record_status_unpack(bodies.spec, (struct text){0}, &read);
    assert_int_equal(read.conditions.count, 0);
}

static void a_summary_is_one_line(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    dnsupdaterecord_kind.write_summary(record_with("aws", NULL, NULL, NULL), &out);
    assert_string_equal(out.at, "aws, 0 names");
}

static void the_schema_is_written_with_all_parameters(void **state)
{
    (void)state;
    AUTO_BUFFER crd = {0};
    kind_write_crd(&crd, &dnsupdaterecord_kind);
    for (size_t i = 0; i < PARAMETERS; i++)
        check_holds(crd.at, arena_printf(arena, " %s:\n", external_dns_parameters[i].name));
}

static void the_objects_name_is_made_of_that_of_emco(void **state)
{
    (void)state;
    struct value *object = record_with("aws", NULL, NULL, NULL);
    value_put_text(arena, object, "metadata.annotations[" EMCO_NAME_ANNOTATION "]", "A_b.C");
    check_holds(errors_of(object), "metadata.name: must be a-b-c-cec53d90");
    value_put_text(arena, object, "metadata.name", "a-b-c-cec53d90");
    assert_string_equal(errors_of(object), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(the_documented_example_has_two_errors),
        UNIT(parameters_are_judged_together),
        UNIT(messages_are_signed_or_not),
        UNIT(a_native_record_has_zones_and_a_key),
        UNIT(what_is_odd_is_warned_of),
        UNIT(what_stands_beside_parameters_is_judged),
        UNIT(secret_refs_have_names_of_secrets_and_of_keys),
        UNIT(flags_that_end_external_dns_are_refused),
        UNIT(no_secret_stands_in_a_finding),
        UNIT(what_must_come_out_of_a_secret_is_known_as_one),
        UNIT(a_password_in_the_urls_of_etcd_is_refused_and_never_shown),
        UNIT(a_value_behind_a_name_is_not_shown),
        UNIT(one_of_takes_the_element_of_the_provider),
        UNIT(all_faults_come_at_once),
        UNIT(a_broken_pin_is_not_passed_over),
        UNIT(what_is_pinned_is_judged_like_a_parameter),
        UNIT(what_is_pinned_is_in_force),
        UNIT(names_that_stand_are_marked_as_the_pinned_place_says),
        UNIT(a_pinned_prefix_admits_no_suffix),
        UNIT(fields_and_annotations_come_through_the_cache),
        UNIT(a_status_is_what_its_schema_allows),
        UNIT(a_summary_is_one_line),
        UNIT(the_schema_is_written_with_all_parameters),
        UNIT(the_objects_name_is_made_of_that_of_emco),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
