#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "providers/pihole/explain.h"
#include "providers/pihole/instance.h"

enum {
    HOSTS_QUIET_MS = 25,
    HOSTS_MOST_MS = 75,
    RESTART_QUIET_MS = 1000,
    RESTART_MOST_MS = 5000,
    RESTART_MIN_DEFAULT_S = 10,
    RESTART_MIN_MAX_S = 3600,
    PIN_OCTETS = 32,
};

static void wipe_password(struct pihole_instance *instance)
{
    secret_unref(instance->password);
    secret_wipe(instance->sid, sizeof instance->sid);
}

static void pihole_close(void *at)
{
    struct pihole_instance *instance = at;
    wipe_password(instance);
    line_set_done(&instance->strangers);
    free(instance->unanswered.keys);
    free(instance->refused_line);
    free(instance->refused_text);
    free(instance->base);
    free(instance->ca_pem);
    free(instance->server_name);
    free(instance->pin);
    free(instance->owner_id);
    free(instance->place);
    free(instance->user_agent);
    free(instance);
}

// ---- configuration ------------------------------------------------------------------------------

struct choice {
    const char *word;
    int number;
};

// The first is the default. Words end with NULL.
static bool choose(const struct value *config, const char *key, const struct choice *choices,
                   int *out, struct error *err)
{
    struct text word = value_text_at(config, key);
    if (!word.len)
        word = text_of(choices[0].word);
    for (const struct choice *choice = choices; choice->word; choice++) {
        if (text_is(word, choice->word)) {
            *out = choice->number;
            return true;
        }
    }
    return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION, "%s: \"%.*s\" is not one of its words",
                     key, TEXT_ARGS(word));
}

static bool take_words(struct pihole_instance *instance, const struct value *config,
                       struct error *err)
{
    static const struct choice dialects[] = {
        {"auto", DIALECT_AUTO}, {"v6", DIALECT_V6}, {"legacy", DIALECT_LEGACY}, {NULL, 0}};
    static const struct choice ownerships[] = {{"comment", 1}, {"annotation", 0}, {NULL, 0}};
    static const struct choice ways[] = {{"auto", REVISION_AUTO},
                                         {"patch", REVISION_BY_PATCH},
                                         {"element", REVISION_BY_ELEMENT},
                                         {NULL, 0}};
    static const struct choice adoptions[] = {{"managed", 1}, {"none", 0}, {NULL, 0}};
    int dialect = 0, has_tags = 0, way = 0, adopts = 0;
    if (!choose(config, "dialect", dialects, &dialect, err) ||
        !choose(config, "ownership", ownerships, &has_tags, err) ||
        !choose(config, "write", ways, &way, err) ||
        !choose(config, "adopt", adoptions, &adopts, err))
        return false;
    instance->dialect = (enum dialect)dialect;
    instance->has_tags = has_tags;
    instance->way = (enum revision_way)way;
    instance->may_adopt = adopts;
    return true;
}

static bool take_url(struct pihole_instance *instance, const struct value *config,
                     struct error *err)
{
    struct url url;
    struct buffer out = {0};
    if (!url_parse(&url, value_text_at(config, "url"), err))
        return provider_refuse_key(err, "url");
    url_write(&out, &url);
    instance->base = buffer_steal(&out);
    return true;
}

static bool take_number(struct pihole_instance *instance, const struct value *config,
                        struct error *err)
{
    int64_t seconds = value_int_at(config, "restartMinSeconds", RESTART_MIN_DEFAULT_S);
    if (seconds < 0 || seconds > RESTART_MIN_MAX_S)
        return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION,
                         "restartMinSeconds: between 0 and %d", RESTART_MIN_MAX_S);
    instance->restart_min_ms = 1000 * seconds;
    return true;
}

static char *dup_or_null(struct text text)
{
    return text.len ? text_dup(text) : NULL;
}

static bool pin_is_valid(struct text pin)
{
    AUTO_BUFFER octets = {0};
    const size_t head = sizeof "sha256//" - 1;
    return text_starts(pin, "sha256//") &&
           base64_decode(&octets, (struct text){pin.at + head, pin.len - head}, NULL) &&
           octets.len == PIN_OCTETS;
}

static bool take_tls(struct pihole_instance *instance, const struct value *config,
                     struct error *err)
{
    struct text pin = value_text_at(config, "tls.pin");
    instance->ca_pem = dup_or_null(value_text_at(config, "tls.caPem"));
    instance->server_name = dup_or_null(value_text_at(config, "tls.serverName"));
    instance->is_unverified = value_bool_at(config, "tls.skipVerify", false);
    if (instance->ca_pem && !strstr(instance->ca_pem, "-----BEGIN CERTIFICATE-----"))
        return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION,
                         "tls.caPem: no PEM certificate in it");
    instance->learns_pin = text_is(pin, "learn");
    if (!pin.len || instance->learns_pin)
        return true;
    if (!pin_is_valid(pin))
        return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION,
                         "tls.pin: write sha256// and the base64 of 32 octets, or learn");
    instance->pin = text_dup(pin);
    return true;
}

// A file's last line end is no part of a password.
static struct text password_of(const struct secret *secret)
{
    struct text text = secret ? secret_expose(secret) : TEXT("");
    while (text.len && (text.at[text.len - 1] == '\n' || text.at[text.len - 1] == '\r'))
        text.len--;
    return text;
}

static bool has_control(struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] < ' ' || text.at[i] == '\x7f')
            return true;
    return false;
}

static bool take_password(struct pihole_instance *instance, const struct session_setup *setup,
                          struct error *err)
{
    struct text password = password_of(setup->secret);
    instance->has_no_password = value_bool_at(setup->config, "noPassword", false);
    if (!password.len && !instance->has_no_password)
        return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION,
                         "no password: give one, or say that Pi-hole has none (noPassword)");
    if (has_control(password) || !utf8_is_valid(password))
        return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION,
                         "the password has a control character in it, or is no UTF-8");
    if (instance->has_no_password)
        password = TEXT("");
    instance->password = secret_new(password.at, password.len);
    return true;
}

void instance_write_mark(const struct pihole_instance *instance, struct buffer *out)
{
    buffer_printf(out, "(%s%s)", instance->owner_id, instance->is_visitor ? " visits" : "");
}

static bool take_owner(struct pihole_instance *instance, const char *owner_id, struct error *err)
{
    struct buffer out = {0};
    if (!owner_id || !*owner_id)
        return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION,
                         "no owner id: nothing could be marked as ours");
    instance->owner_id = mem_copy_text(owner_id);
    buffer_printf(&out, "signpost/%s ", SIGNPOST_VERSION);
    if (instance->place)
        buffer_printf(&out, "%s ", instance->place);
    instance_write_mark(instance, &out);
    instance->user_agent = buffer_steal(&out);
    return true;
}

static bool pihole_open(const struct session_setup *setup, void **out, struct error *err)
{
    struct pihole_instance *instance = mem_new_of(struct pihole_instance);
    instance->seats_in_use = -1;
    instance->is_visitor = value_bool_at(setup->config, "isVisitor", false);
    instance->place = dup_or_null(value_text_at(setup->config, "place"));
    if (!take_url(instance, setup->config, err) || !take_words(instance, setup->config, err) ||
        !take_number(instance, setup->config, err) || !take_tls(instance, setup->config, err) ||
        !take_password(instance, setup, err) || !take_owner(instance, setup->owner_id, err)) {
        pihole_close(instance);
        return false;
    }
    *out = instance;
    return true;
}

// ---- the instance -------------------------------------------------------------------------------

bool instance_restarts(const struct pihole_instance *instance, enum list_part part)
{
    return instance->dialect != DIALECT_LEGACY &&
           (part == LIST_CNAMES || instance->hosts_restart || instance->hosts_are_local);
}

bool instance_is_blocked(const struct pihole_instance *instance)
{
    return instance->is_read_only || instance->lacks_app_sudo ||
           (instance->is_forced[LIST_HOSTS] && instance->is_forced[LIST_CNAMES]);
}

void instance_forget_session(struct pihole_instance *instance)
{
    secret_wipe(instance->sid, sizeof instance->sid);
    instance->is_in = instance->is_app = instance->is_swept = false;
    instance->seats_in_use = -1;
    instance->preflight = PREFLIGHT_HOSTS;
}

static int64_t pihole_ready_ms(const void *at, enum record_type type, int64_t first_ms,
                               int64_t last_ms)
{
    const struct pihole_instance *instance = at;
    bool restarts = instance_restarts(instance, list_part_of(type));
    int64_t quiet_ms = last_ms + (restarts ? RESTART_QUIET_MS : HOSTS_QUIET_MS);
    int64_t most_ms = first_ms + (restarts ? RESTART_MOST_MS : HOSTS_MOST_MS);
    int64_t ready_ms = quiet_ms < most_ms ? quiet_ms : most_ms;
    int64_t rested_ms = instance->restarted_ms + instance->restart_min_ms;
    return restarts && instance->restarted_ms && rested_ms > ready_ms ? rested_ms : ready_ms;
}

struct list_rules instance_rules(const struct pihole_instance *instance,
                                 const struct ledger_view *ledger)
{
    return (struct list_rules){
        .owner_id = instance->owner_id,
        .has_tags = instance->has_tags && instance->dialect != DIALECT_LEGACY,
        .ledger = ledger,
        .strangers = &instance->strangers,
    };
}

static bool pihole_entry(const void *at, const struct record_set *set, struct buffer *out)
{
    const struct list_rules rules = instance_rules(at, NULL);
    return list_entry(&rules, set, out);
}

// Hosts lines carry no TTL.
static void pihole_fingerprint(const void *at, const struct record_set *set,
                               uint8_t out[FINGERPRINT_OCTETS])
{
    const struct pihole_instance *instance = at;
    uint8_t full[DIGEST_MAX];
    CLEANUP(arena) struct arena *arena = arena_new();
    struct digest_state *state = digest_begin(DIGEST_SHA256);
    uint32_t ttl_s = set->type == RECORD_CNAME ? set->ttl_s : 0;
    digest_add(state, instance->base, strlen(instance->base) + 1);
    digest_add(state, &ttl_s, sizeof ttl_s);
    for (size_t i = 0; i < set->value_count; i++) {
        struct text value = record_value_canonical(arena, set->type, set->values[i]);
        digest_add(state, value.at, value.len);
        digest_add(state, "\n", 1);
    }
    digest_end(state, full);
    memcpy(out, full, FINGERPRINT_OCTETS);
}

const struct provider pihole_provider = {
    .name = "pihole",
    .title = "Pi-hole",
    .unreachable = "PiholeUnreachable",
    .max_changes = PIHOLE_CHANGES_MAX,
    .is_serial = true,
    .lists = true,
    .has_ledger = true,
    .leaves = true,
    .shares = true,
    .ready_ms = pihole_ready_ms,
    .entry = pihole_entry,
    .open = pihole_open,
    .close = pihole_close,
    .fingerprint = pihole_fingerprint,
    .begin = pihole_begin,
    .ask = pihole_ask,
    .handle_reply = pihole_handle_reply,
    .end = pihole_end,
    .explain = pihole_explain,
    .write_metrics = pihole_write_metrics,
};
