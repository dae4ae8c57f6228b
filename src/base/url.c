#include "base/url.h"

#include <arpa/inet.h>
#include <string.h>

enum {
    HTTP_PORT = 80,
    HTTPS_PORT = 443,
    PORT_DIGITS_MAX = 5,
    DNS_NAME_MAX = 253,
    DNS_LABEL_MAX = 63,
};

static bool refuse(struct error *err, const char *reason, const char *why)
{
    return error_set(err, FAULT_SPEC, reason, "%s", why);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alphanumeric(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool has(struct text text, char c)
{
    return text.len && memchr(text.at, c, text.len);
}

static void skip(struct text *rest, size_t len)
{
    rest->at += len;
    rest->len -= len;
}

static void copy_lower(char *out, struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        out[i] = text.at[i] >= 'A' && text.at[i] <= 'Z' ? (char)(text.at[i] + 32) : text.at[i];
    out[text.len] = '\0';
}

// Reads an IP address and writes it in its canonical form.
static bool read_ip(int family, struct text text, char host[256])
{
    char typed[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];
    if (text.len == 0 || text.len >= sizeof typed || has(text, '\0'))
        return false;
    memcpy(typed, text.at, text.len);
    typed[text.len] = '\0';
    return inet_pton(family, typed, address) == 1 && inet_ntop(family, address, host, 256);
}

static bool is_label(struct text label)
{
    if (label.len == 0 || label.len > DNS_LABEL_MAX)
        return false;
    for (size_t i = 0; i < label.len; i++)
        if (!is_alphanumeric(label.at[i]) && label.at[i] != '-' && label.at[i] != '_')
            return false;
    // A leading "-" would be an option wherever a host becomes an argument.
    return label.at[0] != '-' && label.at[label.len - 1] != '-';
}

// A last label of digits alone would be an address to some and a name to others.
static bool is_number(struct text label)
{
    for (size_t i = 0; i < label.len; i++)
        if (!is_digit(label.at[i]))
            return false;
    return true;
}

static bool read_name(struct text text, char host[256])
{
    struct text rest = text;
    if (text_ends(rest, "."))
        rest.len--;
    if (rest.len == 0 || rest.len > DNS_NAME_MAX)
        return false;
    struct text label = {NULL, 0};
    while (text_cut(&rest, '.', &label))
        if (!is_label(label))
            return false;
    if (is_number(label))
        return false;
    copy_lower(host, text);
    return true;
}

static bool read_port(struct text text, uint16_t *port)
{
    int64_t number;
    if (text.len == 0 || text.len > PORT_DIGITS_MAX || !is_number(text) ||
        !text_to_int64(text, &number) || number > UINT16_MAX)
        return false;
    *port = (uint16_t)number;
    return true;
}

// Splits "[v6]rest" behind the bracket.
static bool cut_brackets(struct text *rest, struct text *inside)
{
    struct text tail = {rest->at + 1, rest->len - 1};
    if (!text_cut(&tail, ']', inside) || !tail.at)
        return false;
    *rest = tail;
    return true;
}

static const char *check_characters(struct text text)
{
    static const char refused[] = "\"<>\\^`{|}";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c <= 0x20 || c >= 0x7f)
            return "blanks, control characters and characters outside ASCII are not allowed";
        if (strchr(refused, c))
            return "one of \"<>\\^`{|} is not allowed";
    }
    if (has(text, '#'))
        return "a fragment is not allowed";
    return has(text, '?') ? "a query is not allowed" : NULL;
}

static const char *take_scheme(struct text *rest, struct url *url)
{
    static const struct text schemes[] = {{"http://", 7}, {"https://", 8}};
    for (size_t i = 0; i < 2; i++) {
        struct text front = {rest->at, schemes[i].len};
        if (rest->len < front.len || !text_equal_nocase(front, schemes[i]))
            continue;
        skip(rest, front.len);
        url->is_https = i == 1;
        url->port = url->is_https ? HTTPS_PORT : HTTP_PORT;
        return NULL;
    }
    return "it must start with http:// or https://";
}

static const char *read_host(struct text *rest, struct url *url)
{
    struct text host;
    if (text_starts(*rest, "[")) {
        url->is_ipv6 = true;
        bool is_ip = cut_brackets(rest, &host) && read_ip(AF_INET6, host, url->host);
        return is_ip ? NULL : "the IPv6 address in brackets is not valid";
    }
    const char *colon = memchr(rest->at, ':', rest->len);
    host = (struct text){rest->at, colon ? (size_t)(colon - rest->at) : rest->len};
    if (host.len == 0)
        return "the host is missing";
    if (!read_ip(AF_INET, host, url->host) && !read_name(host, url->host))
        return "the host is not valid";
    skip(rest, host.len);
    return NULL;
}

static const char *read_authority(struct text text, struct url *url)
{
    if (has(text, '@'))
        return "user info is not allowed";
    if (text.len == 0)
        return "the host is missing";
    const char *fault = read_host(&text, url);
    if (fault)
        return fault;
    // RFC 3986 section 3.2.3: an empty port means the default.
    if (text.len == 0 || text_is(text, ":"))
        return NULL;
    skip(&text, 1);
    bool is_port = text.at[-1] == ':' && read_port(text, &url->port) && url->port;
    return is_port ? NULL : "the port must be 1 to 65535";
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool has_broken_escape(struct text path)
{
    for (size_t i = 0; i < path.len; i++)
        if (path.at[i] == '%' &&
            (path.len - i < 3 || !is_hex(path.at[i + 1]) || !is_hex(path.at[i + 2])))
            return true;
    return false;
}

static bool has_dot_segment(struct text path)
{
    struct text segment;
    while (text_cut(&path, '/', &segment))
        if (text_is(segment, ".") || text_is(segment, ".."))
            return true;
    return false;
}

static const char *read_path(struct text path, struct url *url)
{
    while (text_ends(path, "/"))
        path.len--;
    if (path.len >= sizeof url->path)
        return "the path is too long";
    if (has_broken_escape(path))
        return "\"%\" in the path must stand before two hex digits";
    // The HTTP client would resolve them, and the signed path were another one.
    if (has_dot_segment(path))
        return "\".\" and \"..\" in the path are not allowed";
    if (path.len)
        memcpy(url->path, path.at, path.len);
    return NULL;
}

static const char *read_url(struct text text, struct url *url)
{
    const char *fault = text.len ? check_characters(text) : "it is empty";
    if (!fault)
        fault = take_scheme(&text, url);
    if (fault)
        return fault;
    const char *slash = text.len ? memchr(text.at, '/', text.len) : NULL;
    size_t len = slash ? (size_t)(slash - text.at) : text.len;
    fault = read_authority((struct text){text.at, len}, url);
    skip(&text, len);
    return fault ? fault : read_path(text, url);
}

bool url_parse(struct url *url, struct text text, struct error *err)
{
    struct url made = {0};
    const char *fault = read_url(text, &made);
    if (fault)
        return refuse(err, "InvalidURL", fault);
    *url = made;
    return true;
}

void url_write(struct buffer *out, const struct url *url)
{
    buffer_add_text(out, url->is_https ? "https://" : "http://");
    url_write_host(out, url);
    buffer_add_text(out, url->path);
}

void url_write_host(struct buffer *out, const struct url *url)
{
    buffer_printf(out, url->is_ipv6 ? "[%s]" : "%s", url->host);
    if (url->port != (url->is_https ? HTTPS_PORT : HTTP_PORT))
        buffer_printf(out, ":%u", url->port);
}

struct address_parts {
    struct text host;
    struct text port; // absent: none was given
    bool is_ipv6;
};

static bool split_address(struct text text, struct address_parts *parts)
{
    if (text_starts(text, "[")) {
        parts->is_ipv6 = true;
        if (!cut_brackets(&text, &parts->host))
            return false;
        if (text.len == 0)
            return true;
        parts->port = (struct text){text.at + 1, text.len - 1};
        return text.at[0] == ':';
    }
    struct text rest = text;
    if (!text_cut(&rest, ':', &parts->host))
        return true;
    if (!has(rest, ':')) {
        parts->port = rest;
        return true;
    }
    // More than one colon and no brackets: an IPv6 address without a port.
    parts->is_ipv6 = true;
    parts->host = text;
    return true;
}

static const char *check_parts(const struct address_parts *parts, struct hostport *out,
                               bool allow_names)
{
    if (!parts->port.at && out->port == 0)
        return parts->is_ipv6 ? "the port is missing: write it as [ADDR]:PORT"
                              : "the port is missing: write it as ADDR:PORT";
    if (parts->port.at && !read_port(parts->port, &out->port))
        return "the port must be 0 to 65535";
    if (parts->is_ipv6)
        return read_ip(AF_INET6, parts->host, out->host) ? NULL : "the IPv6 address is not valid";
    if (parts->host.len == 0)
        return parts->port.at ? NULL : "it is empty";
    if (read_ip(AF_INET, parts->host, out->host))
        return NULL;
    if (!allow_names && text_equal_nocase(parts->host, TEXT("localhost")))
        return read_ip(AF_INET, TEXT("127.0.0.1"), out->host) ? NULL : "the host is not valid";
    if (!allow_names)
        return "the host must be an IP address or localhost";
    return read_name(parts->host, out->host) ? NULL : "the host is not valid";
}

bool hostport_parse(struct hostport *out, struct text text, uint16_t default_port, bool allow_names,
                    struct error *err)
{
    struct address_parts parts = {0};
    struct hostport made = {.port = default_port};
    if (text.len == 0)
        return refuse(err, "InvalidAddress", "it is empty");
    if (!split_address(text, &parts))
        return refuse(err, "InvalidAddress", "write an IPv6 address as [ADDR]:PORT");
    const char *fault = check_parts(&parts, &made, allow_names);
    if (fault)
        return refuse(err, "InvalidAddress", fault);
    *out = made;
    return true;
}

void hostport_write(struct buffer *out, const struct hostport *at)
{
    bool is_ipv6 = strchr(at->host, ':');
    buffer_printf(out, is_ipv6 ? "[%s]:%u" : "%s:%u", at->host, at->port);
}
