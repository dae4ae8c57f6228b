#include <string.h>

#include "base/secret.h"
#include "base/url.h"
#include "kinds/dnsclass/dnsclass_body.h"

enum {
    TTL_DEFAULT_S = 300,
    TIMEOUT_DEFAULT_S = 30,
    TIMEOUT_MAX_S = 300,
    IN_FLIGHT_DEFAULT = 4,
    IN_FLIGHT_MAX = 32,
};

// Fields that are read by later versions. `off` is the one value that asks for nothing.
static const struct {
    const char *path;
    const char *choice; // the field that `off` stands in
    const char *off;
} unbuilt[] = {
    {"spec.tokenAuth", NULL, NULL},
    {"spec.tls.clientCertSecretRef", NULL, NULL},
    {"spec.namespaceSelector", NULL, NULL},
    {"spec.domains", NULL, NULL},
    {"spec.verify", NULL, NULL},
    {"spec.drift", "spec.drift.policy", "Off"},
};

static bool is_asked_for(const struct value *object, size_t row)
{
    const struct value *found = value_at(object, unbuilt[row].path, NULL);
    if (!found || found->type == VALUE_NULL || (found->type == VALUE_LIST && found->count == 0))
        return false;
    const char *choice = unbuilt[row].choice;
    return !choice || !text_is(value_text_at(object, choice), unbuilt[row].off);
}

static unsigned unsupported_of(const struct value *object)
{
    unsigned found = 0;
    for (size_t i = 0; i < COUNT_OF(unbuilt); i++)
        found |= is_asked_for(object, i) ? 1U << i : 0;
    return found;
}

static struct text text_or(const struct value *spec, const char *path, const char *fallback)
{
    struct text found = value_text_at(spec, path);
    return found.len ? found : text_of(fallback);
}

static void hmac_decode(const struct value *hmac, struct dnsclass *out)
{
    const struct value *ref = value_find(hmac, "secretRef");
    out->has_hmac = hmac && hmac->type != VALUE_NULL;
    out->has_secret_ref = ref && ref->type != VALUE_NULL;
    out->secret_name = value_text_at(ref, "name");
    out->secret_namespace = value_text_at(ref, "namespace");
    out->secret_key = value_text_at(ref, "key");
    out->secret = value_text_at(hmac, "secret");
    out->algorithm = text_or(hmac, "algorithm", "SHA256");
}

void dnsclass_decode(struct arena *arena, const struct value *object, struct dnsclass *out)
{
    (void)arena;
    const struct value *spec = value_find(object, "spec");
    int64_t timeout_s = value_int_at(spec, "timeoutSeconds", TIMEOUT_DEFAULT_S);
    *out = (struct dnsclass){
        .server = value_text_at(spec, "server"),
        .default_ttl_s = value_int_at(spec, "defaultTTL", TTL_DEFAULT_S),
        .timeout_s = timeout_s > TIMEOUT_MAX_S ? TIMEOUT_MAX_S : timeout_s,
        .is_timeout_capped = timeout_s > TIMEOUT_MAX_S,
        .signed_path = text_or(spec, "signedPath", "Auto"),
        .metadata_style = text_or(spec, "metadataStyle", "Object"),
        .preflight = value_text_at(spec, "preflight"),
        .ca_bundle = value_text_at(spec, "tls.caBundle"),
        .tls_server_name = value_text_at(spec, "tls.serverName"),
        .max_in_flight = value_int_at(spec, "maxInFlight", IN_FLIGHT_DEFAULT),
        .unsupported = unsupported_of(object),
    };
    hmac_decode(value_find(spec, "hmacAuth"), out);
}

// User info is refused as part of the server, but it may hold a password all the same.
// A user with a password, or a token in the query, is refused, but stands in the object until then.
bool dnsclass_has_secret(const struct value *object)
{
    struct text server = value_text_at(object, "spec.server");
    return value_text_at(object, "spec.hmacAuth.secret").len > 0 ||
           (server.len &&
            (memchr(server.at, '@', server.len) || memchr(server.at, '?', server.len)));
}

struct text dnsclass_server(struct arena *arena, const struct dnsclass *dnsclass)
{
    struct url url;
    AUTO_BUFFER out = {0};
    if (!url_parse(&url, dnsclass->server, NULL))
        return (struct text){0};
    url_write(&out, &url);
    return (struct text){arena_copy(arena, out.at, out.len), out.len};
}

enum { DNSCLASS_TEXTS = 11 };

enum {
    FLAG_HMAC = 1 << 0,
    FLAG_SECRET_REF = 1 << 1,
    FLAG_TIMEOUT_CAPPED = 1 << 2,
};

// One list for both directions, so that they can't part.
static void texts_of(struct dnsclass *dnsclass, struct text *out[DNSCLASS_TEXTS])
{
    struct text *const all[] = {
        &dnsclass->server,          &dnsclass->secret_name,    &dnsclass->secret_namespace,
        &dnsclass->secret_key,      &dnsclass->secret,         &dnsclass->algorithm,
        &dnsclass->signed_path,     &dnsclass->metadata_style, &dnsclass->ca_bundle,
        &dnsclass->tls_server_name, &dnsclass->preflight,
    };
    memcpy(out, all, sizeof all);
}

void dnsclass_pack_spec(const struct value *object, struct pack_writer *out)
{
    struct dnsclass dnsclass;
    struct text *texts[DNSCLASS_TEXTS];
    dnsclass_decode(NULL, object, &dnsclass);
    pack_number(out, (dnsclass.has_hmac ? FLAG_HMAC : 0) |
                         (dnsclass.has_secret_ref ? FLAG_SECRET_REF : 0) |
                         (dnsclass.is_timeout_capped ? FLAG_TIMEOUT_CAPPED : 0));
    pack_number(out, dnsclass.unsupported);
    pack_signed(out, dnsclass.default_ttl_s);
    pack_signed(out, dnsclass.timeout_s);
    pack_signed(out, dnsclass.max_in_flight);
    texts_of(&dnsclass, texts);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        pack_text(out, *texts[i]);
}

const char *const dnsclass_condition_types[] = {"Ready", NULL};

static const char *const known_keys[] = {"server", "capabilities", "signedPath"};

static void pack_known(const struct value *status, struct pack_writer *out)
{
    AUTO_BUFFER text = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *known = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < COUNT_OF(known_keys); i++) {
        const struct value *item = value_find(status, known_keys[i]);
        if (item && item->type != VALUE_NULL)
            value_set(known, text_of(known_keys[i]), value_copy(arena, item));
    }
    if (known->count)
        value_write_json(&text, known);
    pack_text(out, buffer_text(&text));
}

void dnsclass_pack_managed(const struct value *object, struct pack_writer *out)
{
    struct conditions conditions;
    const struct value *status = value_find(object, "status");
    conditions_decode(&conditions, value_find(status, "conditions"), dnsclass_condition_types);
    conditions_pack(out, &conditions, dnsclass_condition_types, 0);
    pack_signed(out, status_time_at(status, "lastHealthCheck"));
    pack_signed(out, value_int_at(status, "observedGeneration", 0));
    pack_known(status, out);
}

static void unpack_managed(struct text spec, struct text ours, struct dnsclass_managed *out)
{
    *out = (struct dnsclass_managed){0};
    if (ours.len == 0)
        return;
    struct pack_reader in = pack_open_behind(spec, ours);
    conditions_unpack(&in, &out->conditions, dnsclass_condition_types, 0);
    out->last_health_check_s = unpack_signed(&in);
    out->observed_generation = unpack_signed(&in);
    out->known = unpack_text(&in);
}

void dnsclass_unpack(struct arena *arena, struct text spec, struct text ours, struct dnsclass *out,
                     struct dnsclass_managed *out_managed)
{
    (void)arena;
    struct text *texts[DNSCLASS_TEXTS];
    struct pack_reader in = pack_open(spec);
    unsigned flags = (unsigned)unpack_number(&in);
    *out = (struct dnsclass){
        .has_hmac = flags & FLAG_HMAC,
        .has_secret_ref = flags & FLAG_SECRET_REF,
        .is_timeout_capped = flags & FLAG_TIMEOUT_CAPPED,
    };
    out->unsupported = (unsigned)unpack_number(&in);
    out->default_ttl_s = unpack_signed(&in);
    out->timeout_s = unpack_signed(&in);
    out->max_in_flight = unpack_signed(&in);
    texts_of(out, texts);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        *texts[i] = unpack_text(&in);
    if (out_managed)
        unpack_managed(spec, ours, out_managed);
}

static void check_range(struct findings *findings, const char *path, int64_t number, int64_t min,
                        int64_t max)
{
    if (number < min || number > max)
        findings_add(findings, FINDING_ERROR, path, "%s must be between %lld and %lld", path,
                     (long long)min, (long long)max);
}

static void check_choice(struct findings *findings, const char *path, struct text text,
                         const char *a, const char *b, const char *c)
{
    if (!text_is(text, a) && !text_is(text, b) && !(c && text_is(text, c)))
        findings_add(findings, FINDING_ERROR, path, "%s must be %s%s%s or %s", path, a,
                     c ? ", " : "", c ? b : "", c ? c : b);
}

static void check_server(const struct dnsclass *dnsclass, struct findings *findings)
{
    struct url url;
    struct error err;
    if (dnsclass->server.len == 0)
        findings_add(findings, FINDING_ERROR, "spec.server", "spec.server is required");
    else if (!url_parse(&url, dnsclass->server, &err))
        findings_add(findings, FINDING_ERROR, "spec.server",
                     "spec.server must be a valid HTTP or HTTPS URL: %s", err.text);
    else if (!url.is_https && (dnsclass->ca_bundle.len || dnsclass->tls_server_name.len))
        findings_add(findings, FINDING_WARNING, "spec.tls",
                     "spec.tls: is not used, spec.server is a plain http URL");
}

static void check_secret_ref(const struct dnsclass *dnsclass, struct findings *findings)
{
    const struct {
        const char *name;
        struct text text;
    } parts[] = {{"name", dnsclass->secret_name},
                 {"namespace", dnsclass->secret_namespace},
                 {"key", dnsclass->secret_key}};
    for (size_t i = 0; dnsclass->has_secret_ref && i < COUNT_OF(parts); i++) {
        if (parts[i].text.len)
            continue;
        const char *path =
            arena_printf(findings->arena, "spec.hmacAuth.secretRef.%s", parts[i].name);
        findings_add(findings, FINDING_ERROR, path, "hmacAuth.secretRef.%s is required",
                     parts[i].name);
    }
}

static void check_hmac(const struct dnsclass *dnsclass, struct findings *findings)
{
    bool has_secret = dnsclass->secret.at != NULL;
    if (!dnsclass->has_hmac)
        return;
    if (!dnsclass->has_secret_ref && !has_secret)
        findings_add(findings, FINDING_ERROR, "spec.hmacAuth",
                     "hmacAuth must have either secretRef or secret");
    if (dnsclass->has_secret_ref && has_secret)
        findings_add(findings, FINDING_ERROR, "spec.hmacAuth",
                     "hmacAuth cannot have both secretRef and secret");
    if (has_secret && dnsclass->secret.len == 0)
        findings_add(findings, FINDING_ERROR, "spec.hmacAuth.secret",
                     "hmacAuth must have either secretRef or secret: the secret is empty");
    if (has_secret && dnsclass->secret.len)
        findings_add(findings, FINDING_WARNING, "spec.hmacAuth.secret",
                     "hmacAuth.secret: is readable by everyone who may read the class, "
                     "use secretRef");
    if (dnsclass->secret.len && dnsclass->secret.len < SECRET_OCTETS_GOOD)
        findings_add(findings, FINDING_WARNING, "spec.hmacAuth.secret",
                     "hmacAuth.secret: is short; 32 random octets are good");
    if (!text_is(dnsclass->algorithm, "SHA256") && !text_is(dnsclass->algorithm, "SHA512"))
        findings_add(findings, FINDING_ERROR, "spec.hmacAuth.algorithm",
                     "hmacAuth.algorithm must be SHA256 or SHA512");
    check_secret_ref(dnsclass, findings);
}

static void check_ca_bundle(const struct dnsclass *dnsclass, struct findings *findings)
{
    struct error err;
    AUTO_BUFFER pem = {0};
    if (dnsclass->ca_bundle.len == 0)
        return;
    if (!base64_decode(&pem, dnsclass->ca_bundle, &err))
        findings_add(findings, FINDING_ERROR, "spec.tls.caBundle",
                     "spec.tls.caBundle must be base64 of PEM certificates: %s", err.text);
    else if (!memmem(buffer_text(&pem).at, pem.len, "-----BEGIN CERTIFICATE-----", 27))
        findings_add(findings, FINDING_ERROR, "spec.tls.caBundle",
                     "spec.tls.caBundle must be base64 of PEM certificates: there is none in it");
}

static void check_unbuilt(const struct dnsclass *dnsclass, struct findings *findings)
{
    for (size_t i = 0; i < COUNT_OF(unbuilt); i++) {
        if (!(dnsclass->unsupported & 1U << i))
            continue;
        const char *path = unbuilt[i].choice ? unbuilt[i].choice : unbuilt[i].path;
        AUTO_BUFFER off = {0};
        if (unbuilt[i].off)
            value_write_yaml_text(&off, text_of(unbuilt[i].off));
        if (unbuilt[i].off)
            findings_add(findings, FINDING_ERROR, path,
                         "%s is not supported by this version: set it to %s", path, off.at);
        else
            findings_add(findings, FINDING_ERROR, path,
                         "%s is not supported by this version: remove it", path);
    }
}

void dnsclass_check(struct arena *arena, const struct dnsclass *dnsclass, struct findings *findings)
{
    (void)arena;
    check_server(dnsclass, findings);
    check_range(findings, "spec.defaultTTL", dnsclass->default_ttl_s, 1, INT32_MAX);
    check_range(findings, "spec.timeoutSeconds", dnsclass->timeout_s, 1, INT32_MAX);
    check_range(findings, "spec.maxInFlight", dnsclass->max_in_flight, 1, IN_FLIGHT_MAX);
    if (dnsclass->is_timeout_capped)
        findings_add(findings, FINDING_WARNING, "spec.timeoutSeconds",
                     "spec.timeoutSeconds: acts as %d, the longest", TIMEOUT_MAX_S);
    check_choice(findings, "spec.signedPath", dnsclass->signed_path, "Auto", "Full", "Relative");
    check_choice(findings, "spec.metadataStyle", dnsclass->metadata_style, "Object", "Inline",
                 NULL);
    if (dnsclass->preflight.len)
        check_choice(findings, "spec.preflight", dnsclass->preflight, "Off", "Warn", "Refuse");
    check_hmac(dnsclass, findings);
    check_ca_bundle(dnsclass, findings);
    check_unbuilt(dnsclass, findings);
}

void dnsclass_validate(const struct value *object, struct findings *findings)
{
    struct dnsclass dnsclass;
    dnsclass_decode(findings->arena, object, &dnsclass);
    dnsclass_check(findings->arena, &dnsclass, findings);
}
