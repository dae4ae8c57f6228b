#include "kinds/dns/dns_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/test_arena.h"

static struct value *object_of(const char *spec)
{
    return quote(arena, arena_printf(arena,
                                     "{'apiVersion':'operator.openshift.io/v1','kind':'DNS',"
                                     "'metadata':{'name':'default'},'spec':{%s}}",
                                     spec));
}

static struct value *server_of(const char *members)
{
    return object_of(arena_printf(arena, "'servers':[{%s}]", members));
}

static const struct text cluster_ips[] = {{"172.30.0.10", 11}, {"fd02::a", 7}};
static const struct dns_context cluster = {
    .cluster_domain = {"cluster.local", 13},
    .cluster_ips = cluster_ips,
    .cluster_ip_count = COUNT_OF(cluster_ips),
    .has_version = true,
    .version = {1, 12, 4},
};

// All faults of the object, each as "reason path text", a line each; warnings begin with '?'.
static const char *faults_of(const struct value *object, struct dns_server_check *check)
{
    AUTO_BUFFER out = {0};
    struct dns_spec spec;
    struct dns_faults faults = {.arena = arena};
    dns_decode(arena, object, &spec);
    for (size_t i = 0; i < spec.server_count; i++)
        dns_check_server(&spec.servers[i], &cluster, &faults, check);
    (void)dns_check_resolvers(&spec.resolvers, &cluster, &faults);
    for (size_t i = 0; i < faults.count; i++)
        buffer_printf(&out, "%s%s %s %s\n", faults.items[i].is_warning ? "?" : "",
                      reason_name(faults.items[i].reason), faults.items[i].path,
                      faults.items[i].text);
    return arena_copy(arena, out.at, out.len);
}

static const char *admission_errors_of(const struct value *object)
{
    AUTO_BUFFER out = {0};
    struct findings findings = {.arena = arena};
    dns_kind.validate(object, &findings);
    for (size_t i = 0; i < findings.count; i++)
        if (findings.items[i].level == FINDING_ERROR)
            buffer_printf(&out, "%s\n", finding_text(arena, &findings.items[i]));
    return arena_copy(arena, out.at, out.len);
}

#define LABEL_61 "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-0123456"
#define LABEL_63 LABEL_61 "89"
#define GOOD "'forwardPlugin':{'upstreams':['192.0.2.53']}"
#define ZONED "'zones':['corp.example']"

// A server, the reason of its only fault, and what the line of that begins with.
static const struct rule {
    const char *server;
    const char *line; // "": none
} rules[] = {
    {"'name':'x'," ZONED "," GOOD, ""},
    // 1
    {GOOD, "NoZones spec.servers[0] has no zones"},
    {"'zones':[]," GOOD, "NoZones spec.servers[0] has no zones"},
    // 2
    {"'zones':['*.corp.example']," GOOD, "InvalidZone spec.servers[0].zones[0] *.corp.example is"},
    {"'zones':['a','_tcp.corp.example']," GOOD, "InvalidZone spec.servers[0].zones[1] _tcp"},
    {"'zones':['-a.example']," GOOD, "InvalidZone "},
    {"'zones':['a..example']," GOOD, "InvalidZone "},
    {"'zones':['']," GOOD, "InvalidZone "},
    {"'zones':['abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl.example']," GOOD,
     "InvalidZone "},
    {"'zones':['B\xc3\x9c"
     "cher.example.']," GOOD,
     "InvalidZone spec.servers[0].zones[0] must be written with A-labels: xn--bcher-kva.example\n"},
    {"'zones':['*.b\xc3\xbc.example']," GOOD, // whose A-labels would be refused as well
     "InvalidZone spec.servers[0].zones[0] *.b\xc3\xbc.example is no zone"},
    {"'zones':['_\xc3\xbc.example']," GOOD,
     "InvalidZone spec.servers[0].zones[0] _\xc3\xbc.example is no zone"},
    {"'zones':['a\xe3\x80\x82" // U+3002
     "example']," GOOD,
     "InvalidZone "},
    {"'zones':['a..']," GOOD, "InvalidZone "},
    {"'zones':['a.example:53']," GOOD, "InvalidZone "},
    {"'zones':['" LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_61 ".']," GOOD, ""},
    {"'zones':['" LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_61 "a']," GOOD, "InvalidZone "},
    {"'zones':['Corp.EXAMPLE.']," GOOD, ""},
    // 3
    {"'zones':['10.0.0.0/23','2001:db8::/32']," GOOD, ""},
    {"'zones':['10.0.0.0/20','10.1.0.16/28','2001:DB8::/61','2001:db8::/65']," GOOD, ""},
    {"'zones':['10.0.0.0/25']," GOOD, "InvalidZone "},
    {"'zones':['0.0.0.0/0']," GOOD, "ShadowsCluster "},
    {"'zones':['::/0']," GOOD, "ShadowsCluster "},
    {"'zones':['10.0.0.0/33']," GOOD, "InvalidZone spec.servers[0].zones[0] 10.0.0.0/33 is no"},
    {"'zones':['10.0.0.0/19']," GOOD,
     "InvalidZone spec.servers[0].zones[0] 10.0.0.0/19 comes to 32 reverse zones; 16 are"},
    // 4
    {"'zones':['.']," GOOD, "RootZone spec.servers[0].zones[0] the root zone is forwarded by"},
    // 5
    {"'zones':['cluster.local']," GOOD, "ShadowsCluster "},
    {"'zones':['svc.Cluster.Local.']," GOOD, "ShadowsCluster "},
    {"'zones':['local']," GOOD, "ShadowsCluster "},
    {"'zones':['my-cluster.local','notlocal']," GOOD, ""},
    {"'zones':['in-addr.arpa']," GOOD, "ShadowsCluster "},
    {"'zones':['ip6.arpa']," GOOD, "ShadowsCluster "},
    {"'zones':['arpa']," GOOD, "ShadowsCluster "},
    // 6
    {"'zones':['30.172.in-addr.arpa']," GOOD,
     "?ShadowsReverse spec.servers[0].zones[0] 30.172.in-addr.arpa covers 172.30.0.10"},
    {"'zones':['172.30.0.0/24']," GOOD, "?ShadowsReverse "},
    {"'zones':['2.0.d.f.ip6.arpa']," GOOD, "?ShadowsReverse "},
    {"'zones':['31.172.in-addr.arpa']," GOOD, ""},
    // 7
    {"'zones':['version.bind']," GOOD, "ReservedZone "},
    {"'zones':['Hostname.BIND.']," GOOD, "ReservedZone "},
    {"'zones':['bind']," GOOD, ""},
    // 9
    {ZONED, "NoUpstreams spec.servers[0].forwardPlugin.upstreams must name 1 to 15 servers"},
    {ZONED ",'forwardPlugin':{'upstreams':['192.0.2.1','192.0.2.2','192.0.2.3','192.0.2.4',"
           "'192.0.2.5','192.0.2.6','192.0.2.7','192.0.2.8','192.0.2.9','192.0.2.10',"
           "'192.0.2.11','192.0.2.12','192.0.2.13','192.0.2.14','192.0.2.15','192.0.2.16']}",
     "TooManyUpstreams spec.servers[0].forwardPlugin.upstreams has 16 servers; 15 are"},
};

#define UPSTREAM(address) ZONED ",'forwardPlugin':{'upstreams':['" address "']}"
#define REFUSED_UPSTREAM "InvalidUpstream spec.servers[0].forwardPlugin.upstreams[0] "

static const struct rule upstream_rules[] = {
    // 10
    {UPSTREAM("192.0.2.1:5353"), ""},
    {UPSTREAM("2001:db8::1"), ""},
    {UPSTREAM("[2001:db8::1]"), ""},
    {UPSTREAM("[2001:db8::1]:53"), ""},
    {UPSTREAM("192.0.2.1:0"), REFUSED_UPSTREAM},
    {UPSTREAM("192.0.2.1:abc"), REFUSED_UPSTREAM},
    {UPSTREAM("192.0.2.1:99999"), REFUSED_UPSTREAM},
    {UPSTREAM("192.0.2.1:"), REFUSED_UPSTREAM},
    {UPSTREAM("192.0.2.1:053x"), REFUSED_UPSTREAM},
    {UPSTREAM("[192.0.2.1]:53"), REFUSED_UPSTREAM},
    {UPSTREAM("[2001:db8::1"), REFUSED_UPSTREAM},
    {UPSTREAM("[2001:db8::1]53"), REFUSED_UPSTREAM},
    {UPSTREAM("192.0.2"), REFUSED_UPSTREAM},
    {UPSTREAM("dns.example"), REFUSED_UPSTREAM},
    {UPSTREAM("/etc/resolv.conf"), REFUSED_UPSTREAM},
    {UPSTREAM("tls://192.0.2.1"), REFUSED_UPSTREAM},
    {UPSTREAM(""), REFUSED_UPSTREAM},
    {UPSTREAM("192.0.2.01"), REFUSED_UPSTREAM},
    {UPSTREAM("192.0.2.1:+53"), REFUSED_UPSTREAM},
    {UPSTREAM("[2001:db8::1]:0"), REFUSED_UPSTREAM},
    {UPSTREAM("fe80::1%eth0"), "UnsafeText "},
    // 11
    {UPSTREAM("172.30.0.10:53"), "UpstreamLoop spec.servers[0].forwardPlugin.upstreams[0] 172.30"},
    {UPSTREAM("[fd02:0::a]"), "UpstreamLoop "},
    {UPSTREAM("::ffff:172.30.0.10"), "UpstreamLoop "},
    {UPSTREAM("[::ffff:ac1e:a]:53"), "UpstreamLoop "},
    {UPSTREAM("::ffff:0.0.0.0"), REFUSED_UPSTREAM},
    {UPSTREAM("::ffff:224.0.0.1"), REFUSED_UPSTREAM},
    {UPSTREAM("::ffff:192.0.2.1"), ""},
    {UPSTREAM("239.255.255.255"), REFUSED_UPSTREAM},
    {UPSTREAM("255.255.255.255"), REFUSED_UPSTREAM},
    {UPSTREAM("240.0.0.53"), ""},
    {UPSTREAM("0.0.0.0"), REFUSED_UPSTREAM "0.0.0.0 is the unspecified"},
    {UPSTREAM("::"), REFUSED_UPSTREAM},
    {UPSTREAM("224.0.0.1"), REFUSED_UPSTREAM "224.0.0.1 is a multicast"},
    {UPSTREAM("ff02::1"), REFUSED_UPSTREAM},
    // 12
    {ZONED ",'forwardPlugin':{'upstreams':['192.0.2.53'],'policy':'random'}",
     "InvalidPolicy spec.servers[0].forwardPlugin.policy must be Random, RoundRobin or"},
    {ZONED ",'forwardPlugin':{'upstreams':['192.0.2.53'],'policy':''}", "InvalidPolicy "},
    {ZONED ",'forwardPlugin':{'upstreams':['192.0.2.53'],'policy':null}", ""},
    {ZONED ",'forwardPlugin':{'upstreams':['192.0.2.53'],'protocolStrategy':''}", ""},
    {ZONED ",'forwardPlugin':{'upstreams':['192.0.2.53'],'protocolStrategy':'tcp'}",
     "InvalidProtocolStrategy "},
    {ZONED ",'forwardPlugin':{'upstreams':['192.0.2.53'],'protocolStrategy':'UDP'}",
     "InvalidProtocolStrategy spec.servers[0].forwardPlugin.protocolStrategy must be TCP"},
    // 13
    {"'name':'a\\nb'," ZONED "," GOOD, "UnsafeText spec.servers[0].name must have no control"},
    {"'name':'a\xe2\x80\xa8" // U+2028
     "b'," ZONED "," GOOD,
     "UnsafeText "},
    {"'name':'a\xc2\x85" // U+0085
     "b'," ZONED "," GOOD,
     "UnsafeText "},
    {"'name':'for {people} #1'," ZONED "," GOOD, ""},
    {"'zones':['a.example {']," GOOD, "UnsafeText spec.servers[0].zones[0] must have no blank"},
    {"'zones':['{$HOME}.example']," GOOD, "UnsafeText "},
    {UPSTREAM("192.0.2.1#53"), "UnsafeText "},
    {UPSTREAM("192.0.2.1\\n"), "UnsafeText "},
};

#define FORWARD(members) ZONED ",'forwardPlugin':{'upstreams':['192.0.2.53']," members "}"
#define TRANSPORT "spec.servers[0].forwardPlugin.transportConfig"

static const struct rule forward_rules[] = {
    {FORWARD("'transportConfig':{'transport':'TLS','tls':{'serverName':'DNS.corp.example'}}"), ""},
    {FORWARD("'transportConfig':{'transport':'Cleartext'}"), ""},
    // 14
    {FORWARD("'transportConfig':{'transport':'','tls':{'serverName':'a'}}"),
     "?TLSIgnored " TRANSPORT " TLS must not be configured when using an empty or cleartext "
     "transport\n"},
    // 15
    {FORWARD("'transportConfig':{'transport':'TLS'}"),
     "TLSServerNameMissing " TRANSPORT
     " transportConfig requires a serverName when transport is TLS\n"},
    {FORWARD("'transportConfig':{'transport':'TLS','tls':{'serverName':'a_b'}}"),
     "InvalidTransport " TRANSPORT ".tls.serverName must be a DNS name"},
    {FORWARD("'transportConfig':{'transport':'TLS','tls':{'serverName':''}}"),
     "TLSServerNameMissing "},
    {FORWARD("'transportConfig':{'transport':'TLS','tls':{'serverName':'a.example.'}}"),
     "InvalidTransport "},
    {FORWARD("'transportConfig':{'transport':'TLS','tls':{'serverName':'a\\n}'}}"),
     "UnsafeText " TRANSPORT ".tls.serverName must have no blank"},
    {FORWARD("'transportConfig':{'transport':'TLS','tls':{'serverName':'a','caBundle':{"
             "'name':'x y'}}}"),
     "UnsafeText " TRANSPORT ".tls.caBundle.name "},
    {FORWARD("'transportConfig':{'transport':'TLS','tls':{'serverName':'a','caBundle':{"
             "'name':'../x'}}}"),
     "CABundleInvalid " TRANSPORT ".tls.caBundle.name must be the name of a ConfigMap"},
    // 16
    {ZONED ",'forwardPlugin':{'upstreams':['dns.example'],'transportConfig':{'transport':'TLS',"
           "'tls':{'serverName':'a'}}}",
     "TLSNonIP spec.servers[0].forwardPlugin.upstreams[0] Only IP addresses are allowed when "
     "configuring TLS as the DNS Transport\n"},
#define BY_TLS(address)                                                                            \
    ZONED ",'forwardPlugin':{'upstreams':['" address "'],'transportConfig':{'transport':'TLS',"    \
          "'tls':{'serverName':'a'}}}"
    {BY_TLS("tls://192.0.2.1"), "TLSNonIP "},
    {BY_TLS("192.0.2.1:0"), REFUSED_UPSTREAM "192.0.2.1:0 must be"},
    {BY_TLS("[2001:db8::1]:x"), REFUSED_UPSTREAM},
    // 19
    {FORWARD("'transportConfig':{'transport':'tls'}"),
     "InvalidTransport " TRANSPORT ".transport unknown transport\n"},
    {FORWARD("'transportConfig':{'transport':'QUIC'}"),
     "InvalidTransport " TRANSPORT ".transport unknown transport\n"},
    // additions
    {FORWARD("'options':{'except':['a.corp.example'],'preferUDP':true,'expire':'20s',"
             "'maxFails':0,'healthCheck':{'interval':'0.5s','domain':'a.example'},"
             "'maxConcurrent':1000}"),
     ""},
    {FORWARD("'options':{'failover':['SERVFAIL']}"),
     "UnsupportedByVersion spec.servers[0].forwardPlugin.options.failover needs CoreDNS 1.13.0"},
    {FORWARD("'options':{'except':['a b']}"), "UnsafeText "},
    {FORWARD("'options':{'except':['_msdcs.corp.example','10.0.0.0/24','A.Corp.example.']}"), ""},
    {FORWARD("'options':{'except':['a','']}"),
     "InvalidOption spec.servers[0].forwardPlugin.options.except[1] must be a domain name"},
    {FORWARD("'options':{'except':['a..b']}"), "InvalidOption "},
    {FORWARD("'options':{'except':['10.0.0.0/33']}"), "InvalidOption "},
    {FORWARD("'options':{'except':['b\xc3\xbc.example']}"), "InvalidOption "},
    {FORWARD("'options':{'expire':'-1s'}"),
     "InvalidOption spec.servers[0].forwardPlugin.options.expire must be a duration"},
    {FORWARD("'options':{'maxFails':4294967296}"), "InvalidOption "},
    {FORWARD("'options':{'maxConcurrent':-1}"), "InvalidOption "},
    {FORWARD("'options':{'healthCheck':{}}"),
     "InvalidOption spec.servers[0].forwardPlugin.options.healthCheck.interval must say"},
    {FORWARD("'options':{'healthCheck':{'interval':''}}"), "InvalidOption "},
    {FORWARD("'options':{'healthCheck':{'interval':'soon'}}"), "InvalidOption "},
    {FORWARD("'options':{'healthCheck':{'interval':'1s','domain':''}}"), ""},
    {FORWARD("'options':{'healthCheck':{'interval':'1s','domain':'a..b'}}"),
     "InvalidOption spec.servers[0].forwardPlugin.options.healthCheck.domain must be"},
    {ZONED "," GOOD ",'cache':{'positiveTTL':'5'}",
     "InvalidOption spec.servers[0].cache.positiveTTL must be a duration"},
    {ZONED "," GOOD ",'cache':{'positiveTTL':'0','serveStale':'1h'}", ""},
};

static void check_rules(const struct rule *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct dns_server_check check;
        const char *faults = faults_of(server_of(items[i].server), &check);
        const char *end = strchr(faults, '\n');
        bool is_one = *items[i].line ? end && !end[1] : !*faults;
        if (!is_one || strncmp(faults, items[i].line, strlen(items[i].line)) != 0)
            fail_msg("%s gave:\n%s", items[i].server, faults);
    }
}

static void each_rule_about_zones_names_its_field_and_reason(void **state)
{
    (void)state;
    check_rules(rules, COUNT_OF(rules));
}

static void each_rule_about_upstreams_names_its_field_and_reason(void **state)
{
    (void)state;
    check_rules(upstream_rules, COUNT_OF(upstream_rules));
}

static void each_rule_about_forwarding_names_its_field_and_reason(void **state)
{
    (void)state;
    check_rules(forward_rules, COUNT_OF(forward_rules));
}

#define SYSTEM_4 "{'type':''},{'type':''},{'type':''},{'type':''}"
#define NETWORK "{'type':'Network','address':'192.0.2.1'}"

static const struct rule resolver_rules[] = {
    {"", ""},
    {"'upstreams':[{'type':''},{'type':'SystemResolvConf','port':53},"
     "{'type':'Network','address':'2001:DB8::1','port':5353}]",
     ""},
    {"'upstreams':[{'address':'192.0.2.1'}]",
     "InvalidUpstream spec.upstreamResolvers.upstreams[0] must have a type"},
    {"'upstreams':[{'type':'Other'}]",
     "InvalidUpstream spec.upstreamResolvers.upstreams[0].type must be SystemResolvConf or"},
    {"'upstreams':[{'type':'SystemResolvConf','address':'192.0.2.1'}]", "InvalidUpstream "},
    {"'upstreams':[{'type':'','port':54}]", "InvalidUpstream "},
    {"'upstreams':[{'type':'Network','address':'192.0.2.1:53'}]",
     "InvalidUpstream spec.upstreamResolvers.upstreams[0].address must be an IP address"},
    {"'upstreams':[{'type':'Network','address':'192.0.2.1','port':65536}]", "InvalidUpstream "},
    {"'upstreams':[{'type':'Network','address':'172.30.0.10'}]", "UpstreamLoop "},
    // 17
    {"'transportConfig':{'transport':'TLS','tls':{'serverName':'a'}}",
     "TLSSystemResolvConf spec.upstreamResolvers SystemResolvConf is not allowed when TLS is "
     "configured as the transport\n"},
    {"'upstreams':[" NETWORK ",{'type':''}],'transportConfig':{'transport':'TLS',"
     "'tls':{'serverName':'a'}}",
     "TLSSystemResolvConf "},
    // 18
    {"'upstreams':[{'type':'Network','address':''}]", "AddressMissing "},
    {"'upstreams':[{'type':'Network'}]",
     "AddressMissing spec.upstreamResolvers.upstreams[0] The address field is mandatory for "
     "upstream of type Network, but was not provided\n"},
    {"'policy':'Any'", "InvalidPolicy spec.upstreamResolvers.policy must be"},
    {"'policy':''", "InvalidPolicy "},
    {"'protocolStrategy':'UDP'", "InvalidProtocolStrategy spec.upstreamResolvers.protocolStrategy"},
    {"'upstreams':[{'type':'network','address':'192.0.2.1'}]", "InvalidUpstream "},
    {"'upstreams':[{'type':'Network','address':'192.0.2.1','port':0}]", "InvalidUpstream "},
    {"'upstreams':[{'type':'Network','address':'fe80::1%eth0'}]", "UnsafeText "},
    {"'upstreams':[{'type':'Network','address':'224.0.0.1'}]", "InvalidUpstream "},
    {"'upstreams':[" SYSTEM_4 "," SYSTEM_4 "," SYSTEM_4 "," SYSTEM_4 "]",
     "TooManyUpstreams spec.upstreamResolvers.upstreams has 16 servers; 15 are the most\n"},
    // 14, 15, 16, 19
    {"'upstreams':[" NETWORK "],'transportConfig':{'tls':{'serverName':'a'}}",
     "?TLSIgnored spec.upstreamResolvers.transportConfig TLS must not be configured when"},
    {"'upstreams':[" NETWORK "],'transportConfig':{'transport':'TLS'}",
     "TLSServerNameMissing spec.upstreamResolvers.transportConfig transportConfig requires"},
    {"'upstreams':[{'type':'Network','address':'dns.example'}],'transportConfig':{"
     "'transport':'TLS','tls':{'serverName':'a'}}",
     "TLSNonIP spec.upstreamResolvers.upstreams[0].address Only IP addresses are allowed when "
     "configuring TLS as the DNS Transport\n"},
    {"'transportConfig':{'transport':'QUIC'}",
     "InvalidTransport spec.upstreamResolvers.transportConfig.transport unknown transport\n"},
};

static void each_rule_about_resolvers_names_its_field_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(resolver_rules); i++) {
        struct dns_server_check check;
        const struct value *object =
            object_of(arena_printf(arena, "'upstreamResolvers':{%s}", resolver_rules[i].server));
        const char *faults = faults_of(object, &check);
        if (*resolver_rules[i].line
                ? strncmp(faults, resolver_rules[i].line, strlen(resolver_rules[i].line)) != 0
                : *faults)
            fail_msg("%s gave:\n%s", resolver_rules[i].server, faults);
    }
}

static void additions_need_the_release_that_has_them(void **state)
{
    static const struct {
        struct coredns_version version;
        const char *options;
        enum reason reason;
    } rows[] = {
        {{1, 6, 7}, "'maxConcurrent':9", REASON_UNSUPPORTED_BY_VERSION},
        {{1, 6, 8}, "'maxConcurrent':9", REASON_NONE},
        {{1, 12, 4}, "'failover':['SERVFAIL']", REASON_UNSUPPORTED_BY_VERSION},
        {{1, 13, 0}, "'failover':['servfail','Refused']", REASON_NONE},
        {{1, 13, 0}, "'failover':['NoError']", REASON_INVALID_OPTION},
        {{1, 13, 0}, "'failover':['']", REASON_INVALID_OPTION},
        {{1, 6, 7},
         "'except':['a.example'],'preferUDP':true,'expire':'20s','maxFails':3,"
         "'healthCheck':{'interval':'1s','noRecursion':true,'domain':'a.example'}",
         REASON_NONE},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct dns_context context = {.has_version = true, .version = rows[i].version};
        struct dns_faults faults = {.arena = arena};
        struct dns_server_check check;
        struct dns_spec spec;
        dns_decode(arena,
                   server_of(arena_printf(
                       arena, ZONED ",'forwardPlugin':{'upstreams':['192.0.2.53'],'options':{%s}}",
                       rows[i].options)),
                   &spec);
        dns_check_server(&spec.servers[0], &context, &faults, &check);
        if (check.reason != rows[i].reason)
            fail_msg("%s gave: %s", rows[i].options, check.text);
    }
}

static void words_for_statuses_are_those_of_openshift(void **state)
{
    struct dns_server_check check;
    struct dns_spec spec;
    struct dns_faults faults = {.arena = arena};
    (void)state;
    faults_of(server_of(FORWARD("'transportConfig':{'transport':'TLS'}")), &check);
    assert_int_equal(check.reason, REASON_TLS_SERVER_NAME_MISSING);
    assert_string_equal(check.text, TRANSPORT ": The ServerName field is mandatory when "
                                              "configuring TLS as the DNS Transport");
    dns_decode(arena,
               object_of("'upstreamResolvers':{'transportConfig':{'transport':'TLS',"
                         "'tls':{'serverName':'a'}}}"),
               &spec);
    assert_string_equal(
        dns_check_resolvers(&spec.resolvers, &cluster, &faults)->status_text,
        "Using system resolv config is not allowed when configuring TLS as the DNS Transport");
}

static void a_placement_that_no_pod_could_have_is_refused(void **state)
{
    static const struct {
        const char *placement;
        const char *error; // "": none
    } rows[] = {
        {"'nodeSelector':{'node-role.kubernetes.io/infra':''}", ""},
        {"'nodeSelector':{'bad key':'x'}", "nodeSelector.bad key: must be a label"},
        {"'nodeSelector':{'a':'b c'}", "nodeSelector.a: must be a label"},
        {"'tolerations':[{'operator':'Exists'},{'key':'a'},{'key':'a','operator':'Exists',"
         "'effect':'NoExecute','tolerationSeconds':5}]",
         ""},
        {"'tolerations':[{'operator':'Exists'},{}]", "tolerations[1]: must have the operator"},
        {"'tolerations':[{'operator':'Equal','value':'a'}]", "tolerations[0]: must have the"},
        {"'tolerations':[{'key':'a','operator':'Exists','value':'b'}]", "must have no value"},
        {"'tolerations':[{'key':'a b'}]", "has a key that no taint can have"},
        {"'tolerations':[{'key':'a','value':'b c'}]", "has a value that no taint can have"},
        {"'tolerations':[{'key':'a','effect':'NoSchedule','tolerationSeconds':5}]",
         "must have the effect NoExecute"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *errors = admission_errors_of(
            object_of(arena_printf(arena, "'nodePlacement':{%s}", rows[i].placement)));
        if (*rows[i].error ? !strstr(errors, rows[i].error) : *errors)
            fail_msg("%s gave:\n%s", rows[i].placement, errors);
    }
}

static void a_bad_zone_leaves_the_others_of_its_entry(void **state)
{
    struct dns_server_check check;
    (void)state;
    faults_of(server_of("'zones':['Good.example.','bad_.example','192.0.2.0/24']," GOOD), &check);
    assert_int_equal(check.reason, REASON_NONE);
    assert_int_equal(check.zone_count, 3);
    assert_true(text_is(check.zones[0].name, "good.example"));
    assert_int_equal(check.zones[0].reason, REASON_NONE);
    assert_int_equal(check.zones[1].reason, REASON_INVALID_ZONE);
    assert_true(text_is(check.zones[2].name, "2.0.192.in-addr.arpa"));
    assert_int_equal(check.zones[2].reason, REASON_NONE);
}

static void all_faults_of_all_entries_are_reported_at_once(void **state)
{
    (void)state;
    const char *errors = admission_errors_of(
        object_of("'servers':[{'zones':['a_b']," GOOD "},{" ZONED "," GOOD "},{'zones':['c'],"
                  "'forwardPlugin':{'upstreams':['x'],'policy':'y'}},{'zones':['CORP.example.'],"
                  "'forwardPlugin':{'upstreams':['192.0.2.1']}}],"
                  "'upstreamResolvers':{'upstreams':[{'type':'Network'}]}"));
    assert_non_null(strstr(errors, "spec.servers[0].zones[0]"));
    assert_null(strstr(errors, "spec.servers[1]: "));
    assert_non_null(strstr(errors, "spec.servers[2].forwardPlugin.upstreams[0]"));
    assert_non_null(strstr(errors, "spec.servers[2].forwardPlugin.policy"));
    assert_non_null(strstr(errors, "spec.servers[3].zones[0]: corp.example is forwarded by "
                                   "spec.servers[1] already"));
    assert_non_null(strstr(errors, "spec.upstreamResolvers.upstreams[0]"));
}

static void admission_refuses_tls_without_its_transport(void **state)
{
    (void)state;
    const char *errors =
        admission_errors_of(server_of(FORWARD("'transportConfig':{'tls':{'serverName':'a'}}")));
    assert_non_null(strstr(errors, "TLS must not be configured"));
    assert_string_equal(admission_errors_of(server_of(FORWARD("'transportConfig':{'tls':null}"))),
                        "");
}

// They are served all the same.
static void names_that_openshift_would_not_have_are_told_to_their_writer(void **state)
{
    static const struct {
        const char *name;
        bool is_usual;
    } rows[] = {{"", true},        {"data-centre", true}, {"abcdefghijklmn1", true},
                {"a--b", false},   {"a-", false},         {"abcdefghijklmno1", false},
                {"53", false},     {"a.b", false},        {"-a", false},
                {"for you", false}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct findings findings = {.arena = arena};
        dns_kind.validate(
            server_of(arena_printf(arena, "'name':'%s'," ZONED "," GOOD, rows[i].name)), &findings);
        if (findings.count != !rows[i].is_usual)
            fail_msg("%s has %zu findings", rows[i].name, findings.count);
        if (findings.count)
            assert_string_equal(finding_text(arena, findings.items),
                                "spec.servers[0].name: is no service name of RFC 6335 (at most 15 "
                                "letters, digits and single hyphens)");
        assert_int_equal(findings_errors(&findings), 0);
    }
}

static void the_cache_of_all_zones_is_judged_too(void **state)
{
    (void)state;
    assert_string_equal(admission_errors_of(object_of("'cache':{'positiveTTL':'0.5h10m'}")), "");
    const char *errors =
        admission_errors_of(object_of("'cache':{'positiveTTL':'soon','negativeTTL':'-1s'}"));
    assert_non_null(strstr(errors, "spec.cache.positiveTTL: must be a duration"));
    assert_non_null(strstr(errors, "spec.cache.negativeTTL: must be a duration"));
}

static void both_spellings_of_the_first_draft_are_read(void **state)
{
    struct dns_spec spec;
    (void)state;
    dns_decode(arena,
               object_of("'servers':[{" ZONED "," GOOD "}],'pluginConfig':{"
                         "'forwardPlugin':[{'domain':'c.example','nameservers':['192.0.2.3']}],"
                         "'forwardPlugins':[{'domain':'b.example','nameServers':['192.0.2.2:54'],"
                         "'policy':'Sequential'}]}"),
               &spec);
    assert_int_equal(spec.server_count, 3);
    assert_string_equal(spec.servers[1].path, "spec.pluginConfig.forwardPlugins[0]");
    assert_true(text_is(spec.servers[1].zones[0], "b.example"));
    assert_true(text_is(spec.servers[1].name, "b.example"));
    assert_true(text_is(spec.servers[1].forward.upstreams[0], "192.0.2.2:54"));
    assert_true(text_is(spec.servers[1].forward.policy, "Sequential"));
    assert_string_equal(spec.servers[2].path, "spec.pluginConfig.forwardPlugin[0]");
    assert_true(text_is(spec.servers[2].forward.upstreams[0], "192.0.2.3"));
}

static void two_lists_of_servers_that_differ_are_refused(void **state)
{
    (void)state;
    static const char both[] = "'pluginConfig':{'forwardPlugins':[{'domain':'b.example',"
                               "'nameServers':['192.0.2.2'],'nameservers':['192.0.2.%s']}]}";
    struct dns_server_check check;
    char spec[sizeof both];
    snprintf(spec, sizeof spec, both, "2");
    assert_string_equal(faults_of(object_of(spec), &check), "");
    snprintf(spec, sizeof spec, both, "3");
    assert_non_null(strstr(faults_of(object_of(spec), &check), "both nameservers and nameServers"));
}

static void a_spec_survives_packing(void **state)
{
    (void)state;
    struct bodies bodies;
    struct dns_spec spec;
    struct value *object = object_of("'servers':[{'name':'x'," ZONED "," GOOD
                                     ",'filterAAAA':true,'cache':{'negativeTTL':'1m'}}],"
                                     "'logLevel':'Debug','nodePlacement':{'nodeSelector':"
                                     "{'a':'b'},'tolerations':[{'operator':'Exists'}]},"
                                     "'upstreamResolvers':{'policy':'Random'}");
    bodies = bodies_of(&dns_kind, object);
    dns_unpack(arena, bodies.spec, &spec);
    assert_int_equal(spec.server_count, 1);
    assert_true(spec.servers[0].filters_aaaa);
    assert_true(text_is(spec.servers[0].cache.negative, "1m"));
    assert_true(text_is(spec.log_level, "Debug"));
    assert_true(text_is(value_text_at(spec.node_selector, "a"), "b"));
    assert_int_equal(value_count(spec.tolerations), 1);
    assert_true(spec.resolvers.is_given);
    assert_true(text_is(spec.resolvers.policy, "Random"));
}

// A member that the schema does not know is dropped by an API server without a word.
static void check_members(const struct value *map, const char *path)
{
    value_each (member, map) {
        bool is_known = false;
        const char *wanted = arena_printf(arena, "%s.%.*s", path, TEXT_ARGS(member->key));
        for (size_t i = 0; i < dns_kind.field_count; i++)
            is_known |= !strcmp(dns_kind.fields[i].path, wanted);
        if (!is_known)
            fail_msg("%s is in no schema", wanted);
    }
}

static void what_a_status_remembers_survives_packing(void **state)
{
    (void)state;
    struct dns_status written = {
        .cluster_ip = TEXT("172.30.0.10"),
        .observed_generation = 7,
        .config = {.id = TEXT("0123456789abcdef"),
                   .mode = TEXT("owned"),
                   .since_s = 1767088800,
                   .refused = TEXT("fedcba9876543210"),
                   .refusal = TEXT("Corefile:3 - no"),
                   .proved = {TEXT("aaaaaaaaaaaaaaaa"), TEXT("bbbbbbbbbbbbbbbb")},
                   .proved_count = 2,
                   .copies = (const struct text[]){TEXT("a/b-0123456789abcdef")},
                   .copy_count = 1},
        .forwarders_total = 3,
        .has_pods = true,
        .pods = {.desired = 2, .stale = {TEXT("dns-x")}, .stale_count = 1},
    };
    struct dns_status read;
    struct value *object = object_of("");
    conditions_set(&written.conditions, NULL,
                   (struct condition){.type = "Converged",
                                      .status = CONDITION_TRUE,
                                      .reason = REASON_ACCEPTED,
                                      .message = "m"},
                   1767088801);
    value_set(object, TEXT("status"), value_copy(arena, dns_status_encode(arena, &written)));
    assert_null(schema_errors_of(&dns_kind, object));
    check_members(value_find(object, "status"), "status");
    check_members(value_at(object, "status.config", NULL), "status.config");
    check_members(value_at(object, "status.pods", NULL), "status.pods");
    struct bodies bodies = bodies_of(&dns_kind, object);
    dns_status_unpack(arena, bodies.spec, bodies.ours, &read);
    assert_int_equal(read.observed_generation, 7);
    assert_true(text_is(read.config.id, "0123456789abcdef"));
    assert_true(text_is(read.config.mode, "owned"));
    assert_int_equal(read.config.since_s, 1767088800);
    assert_true(text_is(read.config.refusal, "Corefile:3 - no"));
    assert_int_equal(read.config.proved_count, 2);
    assert_true(text_is(read.config.copies[0], "a/b-0123456789abcdef"));
    assert_true(text_is(read.config.proved[1], "bbbbbbbbbbbbbbbb"));
    assert_int_equal(conditions_find(&read.conditions, "Converged")->transition_s, 1767088801);
}

static void durations_are_rounded_half_up_to_seconds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t seconds;
    } rows[] = {{NULL, 30},     {"", 30},
                {"0", 30},      {"-5s", 30},
                {"soon", 30},   {"1m", 60},
                {"1.4s", 1},    {"1.5s", 2},
                {"499ms", 30},  {"500ms", 1},
                {"1h1m", 3660}, {"2.5us", 30},
                {"1m0.5s", 61}, {"2000000h", UINT32_MAX}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (dns_seconds(text_of(rows[i].text), 30) != rows[i].seconds)
            fail_msg("%s is %u", rows[i].text, dns_seconds(text_of(rows[i].text), 30));
}

static void the_schema_knows_the_fields_and_leaves_entries_to_the_rules(void **state)
{
    (void)state;
    assert_null(schema_errors_of(&dns_kind, server_of("'zones':['*'],'forwardPlugin':{'policy':"
                                                      "'x'}")));
    assert_null(schema_errors_of(
        &dns_kind, server_of("'forwardPlugin':{'transportConfig':{'transport':'x','tls':{}},"
                             "'options':{'maxFails':-1,'healthCheck':{}}}")));
    assert_null(
        schema_errors_of(&dns_kind, object_of("'upstreamResolvers':{'upstreams':[{'port':0}]}")));
    assert_non_null(schema_errors_of(&dns_kind, object_of("'server':[]")));
    assert_non_null(schema_errors_of(&dns_kind, object_of("'logLevel':'Loud'")));
    assert_non_null(schema_errors_of(&dns_kind, server_of("'zones':'corp.example'")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(each_rule_about_zones_names_its_field_and_reason),
        UNIT(each_rule_about_upstreams_names_its_field_and_reason),
        UNIT(each_rule_about_forwarding_names_its_field_and_reason),
        UNIT(each_rule_about_resolvers_names_its_field_and_reason),
        UNIT(additions_need_the_release_that_has_them),
        UNIT(words_for_statuses_are_those_of_openshift),
        UNIT(a_placement_that_no_pod_could_have_is_refused),
        UNIT(a_bad_zone_leaves_the_others_of_its_entry),
        UNIT(all_faults_of_all_entries_are_reported_at_once),
        UNIT(admission_refuses_tls_without_its_transport),
        UNIT(names_that_openshift_would_not_have_are_told_to_their_writer),
        UNIT(the_cache_of_all_zones_is_judged_too),
        UNIT(both_spellings_of_the_first_draft_are_read),
        UNIT(two_lists_of_servers_that_differ_are_refused),
        UNIT(a_spec_survives_packing),
        UNIT(what_a_status_remembers_survives_packing),
        UNIT(durations_are_rounded_half_up_to_seconds),
        UNIT(the_schema_knows_the_fields_and_leaves_entries_to_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
