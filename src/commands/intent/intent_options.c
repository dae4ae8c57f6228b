#include <string.h>

#include "commands/intent/intent_subject.h"
#include "io/address.h"

enum { BODY_MIN = 1024, BODY_MAX = 16 * 1024 * 1024 };

static const char *const auths[] = {"none", "gateway", "kubernetes", NULL};
static const char *const projects[] = {"explicit", "implicit", NULL};

// Options that only `signpost run` has stand first, those that only `signpost manifests` has last.
const struct option intent_options[INTENT_OPTION_COUNT] = {
    {.name = "intent-tls-cert",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "Certificate of the REST API, in PEM; read again when it changes."},
    {.name = "intent-tls-key",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "Private key of --intent-tls-cert, in PEM."},
    {.name = "intent-listen",
     .type = OPTION_LIST,
     .placeholder = "ADDR:PORT,...",
     .doc = "Where the intent controller's REST API is served. Not given: :9015 in a cluster, "
            "127.0.0.1:9015 and [::1]:9015 on a folder."},
    {.name = "intent-auth",
     .type = OPTION_CHOICE,
     .placeholder = "HOW",
     .choices = auths,
     .doc = "Who may use the REST API: accounts of the cluster with the rights on the objects "
            "(kubernetes), whom a gateway names in X-Remote-User (gateway), or everybody on this "
            "machine (none). Not given: kubernetes in a cluster, none on a folder."},
    {.name = "intent-gateway-cidr",
     .type = OPTION_LIST,
     .placeholder = "CIDR,...",
     .doc = "From where X-Remote-User is believed, with --intent-auth=gateway."},
    {.name = "intent-projects",
     .type = OPTION_CHOICE,
     .fallback = "explicit",
     .placeholder = "HOW",
     .choices = projects,
     .doc = "Whether projects are created first (explicit), or with the first object in them "
            "(implicit)."},
    {.name = "intent-max-body",
     .type = OPTION_INT,
     .fallback = "1048576",
     .placeholder = "OCTETS",
     .min = BODY_MIN,
     .max = BODY_MAX,
     .doc = "The largest body that the REST API takes."},
    {.name = "admit-dnsendpoints",
     .type = OPTION_FLAG,
     .doc = "Have admission judge DNSEndpoints in namespaces that are projects, too: deny targets "
            "that external-dns drops with a log line alone."},
    {.name = "intent-tls-secret",
     .type = OPTION_TEXT,
     .placeholder = "NAME",
     .doc = "Secret with tls.crt and tls.key, as of type kubernetes.io/tls, with which the REST "
            "API is served over TLS; without one it is served over plain HTTP."},
};

static bool add_place(struct intent_config *out, const char *text, bool needs_ipv6,
                      struct error *err)
{
    struct intent_place *place = &out->places[out->place_count];
    if (out->place_count == INTENT_ADDRESSES_MAX)
        return error_set(err, FAULT_SPEC, "", "--intent-listen: at most %d addresses",
                         INTENT_ADDRESSES_MAX);
    if (!hostport_parse(&place->at, text_of(text), 0, false, err))
        return error_prefix(err, "--intent-listen: ");
    place->needs_ipv6 = needs_ipv6;
    out->place_count++;
    if (out->auth == INTENT_AUTH_NONE && !address_is_loopback(place->at.host))
        return error_set(err, FAULT_SPEC, "",
                         "--intent-listen: %s is not on this machine alone, and --intent-auth=none "
                         "lets everybody change everything: listen at 127.0.0.1, or choose another "
                         "--intent-auth",
                         text);
    return true;
}

static bool load_places(const struct invocation *invocation, bool is_cluster,
                        struct intent_config *out, struct error *err)
{
    const char **items;
    size_t count = option_list(invocation, "intent-listen", &items);
    for (size_t i = 0; i < count; i++)
        if (!add_place(out, items[i], false, err))
            return false;
    if (count)
        return true;
    if (is_cluster)
        return add_place(out, ":9015", false, err);
    return add_place(out, "127.0.0.1:9015", false, err) && add_place(out, "[::1]:9015", true, err);
}

static enum intent_auth auth_of(const struct invocation *invocation, bool is_cluster)
{
    const char *text = option_text(invocation, "intent-auth");
    for (unsigned i = 0; text && auths[i]; i++)
        if (!strcmp(text, auths[i]))
            return (enum intent_auth)i;
    return is_cluster ? INTENT_AUTH_KUBERNETES : INTENT_AUTH_NONE;
}

bool intent_options_load_access(const struct invocation *invocation, bool is_cluster,
                                struct intent_config *out, struct error *err)
{
    *out = (struct intent_config){
        .auth = auth_of(invocation, is_cluster),
        .makes_projects = !strcmp(option_text(invocation, "intent-projects"), "implicit"),
        .max_body = option_int(invocation, "intent-max-body"),
    };
    if (out->auth == INTENT_AUTH_KUBERNETES && !is_cluster)
        return error_set(err, FAULT_SPEC, "",
                         "--intent-auth=kubernetes needs a cluster: a folder has no accounts");
    return load_places(invocation, is_cluster, out, err);
}

bool intent_options_load(const struct invocation *invocation, bool is_cluster,
                         struct intent_config *out, struct error *err)
{
    if (!intent_options_load_access(invocation, is_cluster, out, err))
        return false;
    out->certificate = option_text(invocation, "intent-tls-cert");
    out->key = option_text(invocation, "intent-tls-key");
    return !out->certificate == !out->key ||
           error_set(err, FAULT_SPEC, "",
                     "--intent-tls-cert and --intent-tls-key are given together or not at all");
}
