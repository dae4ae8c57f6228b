#include <arpa/inet.h>
#include <string.h>

#include "base/digest.h"
#include "base/secret.h"
#include "base/when.h"
#include "kinds/dnsupdaterecord/external_dns.h"
#include "kinds/dnsupdaterecord/external_dns_private.h"

enum {
    PORT_MAX = 65535,
    PART_MAX = 32,
    HOURS_A_DAY = 24,
    HOURS_A_WEEK = 168,
    NS_A_SECOND = 1000000000
};

const char *const external_dns_zone_types[] = {"", "public", "private", NULL};
const char *const external_dns_algorithms[] = {"hmac-sha1",   "hmac-sha224", "hmac-sha256",
                                               "hmac-sha384", "hmac-sha512", NULL};
const char *const external_dns_axfr_words[] = {"true", "false", "axfr", NULL};
const char *const external_dns_compatibilities[] = {"", "mate", "molecule", NULL};
const char *const external_dns_service_types[] = {"all",          "ClusterIP",    "NodePort",
                                                  "LoadBalancer", "ExternalName", NULL};
const char *const external_dns_policies[] = {"sync", "upsert-only", "create-only", NULL};
const char *const external_dns_registries[] = {"txt", "noop", "aws-sd", "dynamodb", "crd", NULL};
const char *const external_dns_log_formats[] = {"text", "json", NULL};
const char *const external_dns_log_levels[] = {"panic", "debug", "info", "warning",
                                               "error", "fatal", NULL};
const char *const external_dns_strategies[] = {"disabled", "round-robin", "random", NULL};
const char *const external_dns_record_types[] = {"A",   "AAAA", "CNAME", "NS",  "SRV",
                                                 "TXT", "MX",   "NAPTR", "PTR", NULL};

// ---- durations ----------------------------------------------------------------------------------

static bool is_number_char(char c)
{
    return (c >= '0' && c <= '9') || c == '.';
}

// The first number with its unit; *rest moves behind it.
static struct text take_part(struct text *rest)
{
    size_t len = 0;
    while (len < rest->len && is_number_char(rest->at[len]))
        len++;
    while (len < rest->len && !is_number_char(rest->at[len]))
        len++;
    struct text part = {rest->at, len};
    *rest = (struct text){rest->at + len, rest->len - len};
    return part;
}

// Go's library has no days and weeks: they are that many hours.
static bool read_part(struct text part, int64_t *ns)
{
    struct error err;
    char hours[PART_MAX];
    int64_t scale = text_ends(part, "w") ? HOURS_A_WEEK : text_ends(part, "d") ? HOURS_A_DAY : 1;
    if (scale == 1)
        return duration_parse_ns(part, ns, &err);
    if (part.len >= PART_MAX)
        return false;
    memcpy(hours, part.at, part.len);
    hours[part.len - 1] = 'h';
    return duration_parse_ns((struct text){hours, part.len}, ns, &err) &&
           !__builtin_mul_overflow(*ns, scale, ns);
}

bool external_dns_duration_ns(struct text text, int64_t *ns)
{
    bool is_negative = text_starts(text, "-");
    size_t sign = is_negative || text_starts(text, "+");
    struct text rest = {text.at + sign, text.len - sign};
    int64_t total = 0;
    int64_t part = 0;
    if (!rest.len || !is_number_char(*rest.at))
        return false;
    while (rest.len)
        if (!read_part(take_part(&rest), &part) || __builtin_add_overflow(total, part, &total))
            return false;
    *ns = is_negative ? -total : total;
    return true;
}

#define NO_DURATION "is not a duration: write it as 300ms, 90s, 1h30m or 1d"

const char *external_dns_check_duration(struct text text)
{
    int64_t ns;
    if (!external_dns_duration_ns(text, &ns))
        return NO_DURATION;
    return ns < 0 ? "must not be negative" : NULL;
}

const char *external_dns_check_positive_duration(struct text text)
{
    int64_t ns;
    if (!external_dns_duration_ns(text, &ns))
        return NO_DURATION;
    return ns <= 0 ? "must be more than 0s" : NULL;
}

// Providers limit how often they are called, and each synchronization reads all of a zone.
const char *external_dns_check_interval(struct text text)
{
    int64_t ns;
    if (!external_dns_duration_ns(text, &ns))
        return NO_DURATION;
    return ns < NS_A_SECOND ? "must be at least 1s" : NULL;
}

// ---- texts --------------------------------------------------------------------------------------

const char *external_dns_check_arn(struct text text)
{
    return text_starts(text, "arn:") ? NULL : "must be an ARN: it begins with arn:";
}

const char *external_dns_check_owner(struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (strchr(",=\"", text.at[i]))
            return "must not have any of , = \": ownership records could not be read back";
    return NULL;
}

const char *external_dns_check_plain(struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] < ' ' || text.at[i] == '\x7f')
            return "must not have control characters";
    return NULL;
}

static bool is_affix_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

const char *external_dns_check_affix(struct text text)
{
    static const char template[] = "%{record_type}";
    for (size_t i = 0; i < text.len;) {
        struct text rest = {text.at + i, text.len - i};
        if (!is_affix_char(text.at[i]) && !text_starts(rest, template))
            return "may hold only a-z 0-9 . _ - and %{record_type}";
        i += is_affix_char(text.at[i]) ? 1 : strlen(template);
    }
    return NULL;
}

const char *external_dns_check_annotation_prefix(struct text text)
{
    return text_ends(text, "/") ? NULL : "must end with a slash";
}

const char *external_dns_check_base64(struct text text)
{
    struct error err;
    AUTO_BUFFER octets = {0};
    bool is_base64 = base64_decode(&octets, text, &err);
    if (octets.at)
        secret_wipe(octets.at, octets.capacity);
    return is_base64 ? NULL : "must be base64";
}

// ---- addresses ----------------------------------------------------------------------------------

static bool read_port(struct text text, unsigned *port)
{
    int64_t number;
    if (!text_to_int64(text, &number) || number < 1 || number > PORT_MAX)
        return false;
    *port = (unsigned)number;
    return true;
}

bool external_dns_address_read(struct text address, struct text *host, unsigned *port)
{
    const char *colon = address.len ? memrchr(address.at, ':', address.len) : NULL;
    if (!colon)
        return false;
    struct text before = {address.at, (size_t)(colon - address.at)};
    struct text behind = {colon + 1, address.len - before.len - 1};
    bool is_bracketed = text_starts(before, "[") && text_ends(before, "]");
    if (is_bracketed)
        before = (struct text){before.at + 1, before.len - 2};
    else if (before.len && memchr(before.at, ':', before.len))
        return false;
    if (!read_port(behind, port))
        return false;
    *host = before;
    return true;
}

// external-dns puts brackets around an IPv6 address and the port behind the host.
const char *external_dns_check_host(struct text text)
{
    struct text host;
    unsigned port;
    return text_starts(text, "[") || external_dns_address_read(text, &host, &port)
               ? "must be a name or an address alone: the port goes into rfc2136-port, and an "
                 "IPv6 address has no brackets"
               : NULL;
}

static bool is_loopback(struct text host)
{
    return text_equal_nocase(host, TEXT("localhost")) || text_starts(host, "127.") ||
           text_is(host, "::1");
}

const char *external_dns_check_metrics_address(struct text text)
{
    struct text host;
    unsigned port;
    if (!external_dns_address_read(text, &host, &port))
        return "must be [host]:port, such as :7979";
    return is_loopback(host) ? "must not be a loopback address: probes and scrapes come from "
                               "outside the Pod"
                             : NULL;
}

// ---- lists --------------------------------------------------------------------------------------

struct entries {
    struct arena *arena;
    struct text *items;
    size_t count;
    size_t capacity;
};

static void add_entries(struct entries *entries, struct text text)
{
    struct text piece;
    for (struct text rest = text; text_cut(&rest, ',', &piece);) {
        piece = text_trim(piece);
        if (!piece.len)
            continue;
        arena_reserve(entries->arena, &entries->items, &entries->capacity, entries->count + 1);
        entries->items[entries->count++] = piece;
    }
}

const struct text *external_dns_entries(struct arena *arena, const struct value *value,
                                        size_t *count)
{
    struct entries entries = {.arena = arena};
    bool is_list = value && value->type == VALUE_LIST;
    value_each (item, is_list ? value : NULL)
        add_entries(&entries, value_text(item));
    if (!is_list)
        add_entries(&entries, value_text(value));
    *count = entries.count;
    return entries.items;
}
