#include "io/http_proxy.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum { ADDRESS_OCTETS = 16, MAPPED_BITS = 96 };

struct target {
    struct text host;
    uint16_t port;
    bool is_address;
    unsigned char address[ADDRESS_OCTETS]; // IPv4 as ::ffff:a.b.c.d
};

static bool parse_address(struct text text, unsigned char out[ADDRESS_OCTETS])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    char copy[INET6_ADDRSTRLEN];
    if (text.len == 0 || text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    if (inet_pton(AF_INET6, copy, out) == 1)
        return true;
    memcpy(out, mapped, sizeof(mapped));
    return inet_pton(AF_INET, copy, out + sizeof(mapped)) == 1;
}

static bool is_mapped(const unsigned char address[ADDRESS_OCTETS])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(address, mapped, sizeof(mapped)) == 0;
}

static bool is_loopback(const unsigned char address[ADDRESS_OCTETS])
{
    static const unsigned char loopback[ADDRESS_OCTETS] = {[15] = 1};
    if (is_mapped(address))
        return address[12] == 127;
    return memcmp(address, loopback, sizeof(loopback)) == 0;
}

static bool has_prefix(const unsigned char *address, const unsigned char *prefix, unsigned bits)
{
    if (memcmp(address, prefix, bits / 8) != 0)
        return false;
    if (bits % 8 == 0)
        return true;
    unsigned char mask = (unsigned char)(0xff << (8 - bits % 8));
    return ((address[bits / 8] ^ prefix[bits / 8]) & mask) == 0;
}

// ADDRESS/BITS; false when the rule is something else.
static bool parse_cidr(struct text rule, unsigned char prefix[ADDRESS_OCTETS], unsigned *bits)
{
    const char *slash = memchr(rule.at, '/', rule.len);
    if (!slash)
        return false;
    size_t at = (size_t)(slash - rule.at);
    int64_t count;
    if (!parse_address((struct text){rule.at, at}, prefix) ||
        !text_to_int64((struct text){slash + 1, rule.len - at - 1}, &count))
        return false;
    bool is_ipv4 = !memchr(rule.at, ':', at);
    if (count < 0 || count > (is_ipv4 ? 32 : 128))
        return false;
    *bits = (unsigned)count + (is_ipv4 ? MAPPED_BITS : 0);
    return true;
}

// HOST, HOST:PORT, [V6], [V6]:PORT and bare V6.
static bool split_port(struct text rule, struct text *host, struct text *port)
{
    if (!rule.at)
        return false;
    *host = rule;
    *port = (struct text){NULL, 0};
    const char *colon = memrchr(rule.at, ':', rule.len);
    const char *bracket = memrchr(rule.at, ']', rule.len);
    bool is_bare_ipv6 = colon && !bracket && memchr(rule.at, ':', (size_t)(colon - rule.at));
    if (colon && !is_bare_ipv6 && (!bracket || colon == bracket + 1)) {
        host->len = (size_t)(colon - rule.at);
        *port = (struct text){colon + 1, rule.len - host->len - 1};
    }
    if (host->len >= 2 && host->at[0] == '[' && host->at[host->len - 1] == ']')
        *host = (struct text){host->at + 1, host->len - 2};
    return host->len > 0;
}

static bool domain_matches(struct text rule, struct text host)
{
    if (text_starts(rule, "*."))
        rule = (struct text){rule.at + 1, rule.len - 1};
    bool is_below_only = rule.at[0] == '.';
    if (is_below_only)
        rule = (struct text){rule.at + 1, rule.len - 1};
    if (!is_below_only && text_equal_nocase(rule, host))
        return true;
    if (host.len <= rule.len || host.at[host.len - rule.len - 1] != '.')
        return false;
    return text_equal_nocase(rule, (struct text){host.at + host.len - rule.len, rule.len});
}

static bool rule_matches(struct text rule, const struct target *target)
{
    unsigned char address[ADDRESS_OCTETS];
    unsigned bits;
    if (text_is(rule, "*"))
        return true;
    if (parse_cidr(rule, address, &bits))
        return target->is_address && has_prefix(target->address, address, bits);
    struct text host, port;
    int64_t number;
    if (!split_port(rule, &host, &port))
        return false;
    if (port.len > 0 && (!text_to_int64(port, &number) || number != target->port))
        return false;
    if (parse_address(host, address))
        return target->is_address && memcmp(address, target->address, sizeof(address)) == 0;
    return !target->is_address && domain_matches(host, target->host);
}

static bool is_excepted(const char *exceptions, const struct target *target)
{
    struct text rest = text_of(exceptions), piece;
    while (text_cut(&rest, ',', &piece)) {
        piece = text_trim(piece);
        if (piece.len > 0 && rule_matches(piece, target))
            return true;
    }
    return false;
}

static const char *either(const char *upper, const char *lower)
{
    const char *value = getenv(upper);
    if (!value || !*value)
        value = getenv(lower);
    return value && *value ? value : NULL;
}

// Go takes a proxy without scheme for an HTTP one, and lets every SOCKS proxy resolve names.
char *http_proxy_copy(const char *value)
{
    if (!value || !*value)
        return value ? mem_copy_text("") : NULL;
    AUTO_BUFFER url = {0};
    static const char socks5[] = "socks5://";
    if (strncmp(value, socks5, sizeof(socks5) - 1) == 0)
        buffer_printf(&url, "socks5h://%s", value + sizeof(socks5) - 1);
    else
        buffer_printf(&url, "%s%s", strstr(value, "://") ? "" : "http://", value);
    return buffer_steal(&url);
}

void http_proxies_init(struct http_proxies *proxies)
{
    const char *exceptions = either("NO_PROXY", "no_proxy");
    *proxies = (struct http_proxies){
        .http = http_proxy_copy(either("HTTP_PROXY", "http_proxy")),
        .https = http_proxy_copy(either("HTTPS_PROXY", "https_proxy")),
        .exceptions = exceptions ? mem_copy_text(exceptions) : NULL,
    };
}

void http_proxies_done(struct http_proxies *proxies)
{
    free(proxies->http);
    free(proxies->https);
    free(proxies->exceptions);
    *proxies = (struct http_proxies){0};
}

const char *http_proxies_find(const struct http_proxies *proxies, bool is_https, const char *host,
                              uint16_t port)
{
    const char *proxy = is_https ? proxies->https : proxies->http;
    struct target target = {.host = text_of(host), .port = port};
    if (!proxy || text_equal_nocase(target.host, TEXT("localhost")))
        return NULL;
    target.is_address = parse_address(target.host, target.address);
    if (target.is_address && is_loopback(target.address))
        return NULL;
    return is_excepted(proxies->exceptions, &target) ? NULL : proxy;
}
