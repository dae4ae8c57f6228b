#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "commands/intent/intent_subject.h"
#include "io/address.h"
#include "store/cluster/bearers.h"

enum { CIDRS_MAX = 64, ADDRESS_BITS = 128, IPV4_BITS = 32, BITS = 8 };

struct cidr {
    uint8_t address[ADDRESS_OCTETS];
    unsigned bits; // of the 128
};
struct intent_access_rules {
    enum intent_auth auth;
    struct cidr gateways[CIDRS_MAX];
    size_t gateway_count;
    struct bearers *bearers; // KUBERNETES
};

// ---- the gateway --------------------------------------------------------------------------------

static bool read_cidr(struct arena *arena, const char *text, struct cidr *out)
{
    struct text rest = text_of(text);
    struct text host;
    int64_t bits = -1;
    text_cut(&rest, '/', &host);
    if (!address_read(arena_copy(arena, host.at, host.len), out->address))
        return false;
    int64_t most = address_is_ipv4(out->address) ? IPV4_BITS : ADDRESS_BITS;
    if (!rest.at)
        bits = most;
    else if (!text_to_int64(rest, &bits) || bits < 0 || bits > most)
        return false;
    out->bits = (unsigned)(ADDRESS_BITS - most + bits);
    return true;
}

static bool is_in_cidr(const struct cidr *cidr, const uint8_t address[ADDRESS_OCTETS])
{
    unsigned octets = cidr->bits / BITS;
    unsigned rest = cidr->bits % BITS;
    unsigned mask = rest ? 0xffU << (BITS - rest) & 0xffU : 0;
    return !memcmp(cidr->address, address, octets) &&
           (!mask || (cidr->address[octets] & mask) == (address[octets] & mask));
}

static bool load_gateways(struct intent_access_rules *rules, const struct invocation *invocation,
                          struct error *err)
{
    const char **items;
    size_t count = option_list(invocation, "intent-gateway-cidr", &items);
    if (rules->auth != INTENT_AUTH_GATEWAY)
        return true;
    if (!count || count > CIDRS_MAX)
        return error_set(err, FAULT_SPEC, "",
                         "--intent-auth=gateway needs 1 to %d networks in --intent-gateway-cidr",
                         CIDRS_MAX);
    for (size_t i = 0; i < count; i++)
        if (!read_cidr(invocation->arena, items[i], &rules->gateways[rules->gateway_count++]))
            return error_set(err, FAULT_SPEC, "",
                             "--intent-gateway-cidr: %s is no network such as 10.0.0.0/8",
                             items[i]);
    return true;
}

static enum intent_judgement judge_gateway(const struct intent_access_rules *rules,
                                           const struct intent_access *access)
{
    uint8_t address[ADDRESS_OCTETS];
    if (!access->remote_user || !*access->remote_user || !address_read(access->peer, address))
        return INTENT_UNKNOWN;
    for (size_t i = 0; i < rules->gateway_count; i++)
        if (is_in_cidr(&rules->gateways[i], address))
            return INTENT_ALLOWED;
    return INTENT_UNKNOWN;
}

// Whoever runs programs here may do everything, but no page that a browser here happens to show.
static enum intent_judgement judge_local(const struct intent_access *access)
{
    return access->origin ? INTENT_FORBIDDEN : INTENT_ALLOWED;
}

// ---- accounts of the cluster --------------------------------------------------------------------

static void handle_reply(void *asker, enum bearer_result result)
{
    static const enum intent_judgement judgements[] = {
        [BEARER_ALLOWED] = INTENT_ALLOWED,
        [BEARER_UNKNOWN] = INTENT_UNKNOWN,
        [BEARER_FORBIDDEN] = INTENT_FORBIDDEN,
        [BEARER_UNSURE] = INTENT_UNSURE,
    };
    intent_api_judged(asker, judgements[result]);
}

static void judge_bearer(struct intent_access_rules *rules, const struct intent_access *access,
                         void *asker)
{
    static const char scheme[] = "bearer ";
    struct text header = text_of(access->authorization);
    struct bearer bearer = {.access = {.verb = access->verb,
                                       .group = access->kind->group,
                                       .resource = access->kind->plural,
                                       .namespace_ = access->namespace_,
                                       .name = access->name}};
    if (header.len < sizeof scheme - 1 ||
        !text_equal_nocase((struct text){header.at, sizeof scheme - 1}, TEXT(scheme))) {
        intent_api_judged(asker, INTENT_UNKNOWN);
        return;
    }
    bearer.token =
        text_trim((struct text){header.at + sizeof scheme - 1, header.len - sizeof scheme + 1});
    address_read(access->peer, bearer.source);
    bearers_ask(rules->bearers, &bearer, handle_reply, asker);
}

// ---- public -------------------------------------------------------------------------------------

struct intent_access_rules *intent_access_new(const struct invocation *invocation,
                                              const struct intent_config *config,
                                              const struct world *world, struct api *api,
                                              struct error *err)
{
    struct intent_access_rules *rules = mem_new_of(struct intent_access_rules);
    rules->auth = config->auth;
    if (!load_gateways(rules, invocation, err)) {
        free(rules);
        return NULL;
    }
    if (rules->auth == INTENT_AUTH_KUBERNETES)
        rules->bearers = bearers_new(world, api, NULL);
    return rules;
}

void intent_access_free(struct intent_access_rules *rules)
{
    if (!rules)
        return;
    bearers_free(rules->bearers);
    free(rules);
}

void intent_access_judge(struct intent_access_rules *rules, const struct intent_access *access,
                         void *asker)
{
    if (rules->auth == INTENT_AUTH_KUBERNETES)
        judge_bearer(rules, access, asker);
    else if (rules->auth == INTENT_AUTH_GATEWAY)
        intent_api_judged(asker, judge_gateway(rules, access));
    else
        intent_api_judged(asker, judge_local(access));
}

void intent_access_forget(struct intent_access_rules *rules, const void *asker)
{
    if (rules->bearers)
        bearers_forget(rules->bearers, asker);
}
