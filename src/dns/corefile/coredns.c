#include "dns/corefile/coredns.h"

#include <string.h>

const struct coredns_version coredns_newest = {1, 14, 7};

// In compiled order (plugin.cfg). Earlier releases have some in another one: that decides which of
// several errors CoreDNS prints first, and nothing else.
static const struct directive {
    const char *name;
    struct coredns_version since; // of those that came after 1.10.0
} directives[] = {
    {"root", {0, 0, 0}},         {"metadata", {0, 0, 0}},     {"geoip", {0, 0, 0}},
    {"cancel", {0, 0, 0}},       {"proxyproto", {1, 14, 2}},  {"quic", {1, 12, 2}},
    {"grpc_server", {1, 14, 0}}, {"https", {1, 14, 0}},       {"https3", {1, 14, 0}},
    {"timeouts", {1, 10, 1}},    {"multisocket", {1, 12, 0}}, {"reload", {0, 0, 0}},
    {"nsid", {0, 0, 0}},         {"bufsize", {0, 0, 0}},      {"bind", {0, 0, 0}},
    {"debug", {0, 0, 0}},        {"trace", {0, 0, 0}},        {"ready", {0, 0, 0}},
    {"health", {0, 0, 0}},       {"pprof", {0, 0, 0}},        {"shed", {1, 14, 7}},
    {"prometheus", {0, 0, 0}},   {"errors", {0, 0, 0}},       {"log", {0, 0, 0}},
    {"dnstap", {0, 0, 0}},       {"local", {0, 0, 0}},        {"dns64", {0, 0, 0}},
    {"any", {0, 0, 0}},          {"chaos", {0, 0, 0}},        {"loadbalance", {0, 0, 0}},
    {"tsig", {0, 0, 0}},         {"rewrite", {0, 0, 0}},      {"autopath", {0, 0, 0}},
    {"acl", {0, 0, 0}},          {"cache", {0, 0, 0}},        {"header", {0, 0, 0}},
    {"dnssec", {0, 0, 0}},       {"tls", {0, 0, 0}},          {"minimal", {0, 0, 0}},
    {"template", {0, 0, 0}},     {"transfer", {0, 0, 0}},     {"hosts", {0, 0, 0}},
    {"route53", {0, 0, 0}},      {"azure", {0, 0, 0}},        {"clouddns", {0, 0, 0}},
    {"k8s_external", {0, 0, 0}}, {"kubernetes", {0, 0, 0}},   {"file", {0, 0, 0}},
    {"auto", {0, 0, 0}},         {"secondary", {0, 0, 0}},    {"etcd", {0, 0, 0}},
    {"loop", {0, 0, 0}},         {"forward", {0, 0, 0}},      {"grpc", {0, 0, 0}},
    {"erratic", {0, 0, 0}},      {"whoami", {0, 0, 0}},       {"on", {0, 0, 0}},
    {"sign", {0, 0, 0}},         {"view", {0, 0, 0}},         {"nomad", {1, 13, 0}},
};

// A number of at most four digits. False: there is none.
static bool take_number(struct text *rest, uint16_t *out)
{
    uint16_t number = 0;
    size_t len = 0;
    for (; len < rest->len && rest->at[len] >= '0' && rest->at[len] <= '9'; len++) {
        if (len == 4)
            return false;
        number = (uint16_t)(number * 10 + (rest->at[len] - '0'));
    }
    *rest = (struct text){rest->at + len, rest->len - len};
    *out = number;
    return len > 0;
}

static bool take_char(struct text *rest, char c)
{
    if (!rest->len || *rest->at != c)
        return false;
    *rest = (struct text){rest->at + 1, rest->len - 1};
    return true;
}

bool coredns_version_read(struct text text, struct coredns_version *out)
{
    struct coredns_version version = {0};
    take_char(&text, 'v');
    if (!take_number(&text, &version.major) || !take_char(&text, '.') ||
        !take_number(&text, &version.minor))
        return false;
    if (take_char(&text, '.') && !take_number(&text, &version.patch))
        return false;
    if (text.len && !strchr("-+_", *text.at))
        return false;
    *out = version;
    return true;
}

bool coredns_version_of_image(struct text image, struct coredns_version *out)
{
    const char *digest = image.len ? memchr(image.at, '@', image.len) : NULL;
    if (digest)
        image.len = (size_t)(digest - image.at);
    const char *colon = image.len ? memrchr(image.at, ':', image.len) : NULL;
    if (!colon)
        return false;
    return coredns_version_read(
        (struct text){colon + 1, (size_t)(image.at + image.len - colon) - 1}, out);
}

bool coredns_version_is_before(struct coredns_version a, struct coredns_version b)
{
    if (a.major != b.major)
        return a.major < b.major;
    return a.minor != b.minor ? a.minor < b.minor : a.patch < b.patch;
}

static bool is_removed(const char *const *changes, const char *name)
{
    for (; changes && *changes; changes++)
        if (**changes == '-' && strcmp(*changes + 1, name) == 0)
            return true;
    return false;
}

// Places by name: an insertion sort of some 60.
static const uint16_t *sorted_places(struct arena *arena, const char *const *names, size_t count)
{
    uint16_t *places = arena_new_array(arena, uint16_t, count);
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at && strcmp(names[places[at - 1]], names[i]) > 0; at--)
            places[at] = places[at - 1];
        places[at] = (uint16_t)i;
    }
    return places;
}

struct coredns_directives *coredns_directives_from(struct arena *arena, const char *const *names,
                                                   const char *const *changes)
{
    size_t count = 0;
    size_t most = 1;
    struct coredns_directives *made = arena_new_of(arena, struct coredns_directives);
    for (size_t i = 0; names[i]; i++)
        most++;
    for (size_t i = 0; changes && changes[i]; i++)
        most++;
    const char **kept = arena_new_array(arena, const char *, most);
    for (; *names; names++)
        if (!is_removed(changes, *names))
            kept[count++] = *names;
    for (; changes && *changes; changes++)
        if (**changes == '+')
            kept[count++] = *changes + 1;
    *made = (struct coredns_directives){kept, count, sorted_places(arena, kept, count)};
    return made;
}

struct coredns_directives *coredns_directives_make(struct arena *arena,
                                                   struct coredns_version version,
                                                   const char *const *changes)
{
    size_t count = 0;
    const char **names = arena_new_array(arena, const char *, COUNT_OF(directives) + 1);
    for (size_t i = 0; i < COUNT_OF(directives); i++)
        if (!coredns_version_is_before(version, directives[i].since))
            names[count++] = directives[i].name;
    return coredns_directives_from(arena, names, changes);
}

// ---- names of another build ---------------------------------------------------------------------

enum { NAMES_MAX = 1000, NAME_LEN_MAX = 64 };

// As CoreDNS writes them: "k8s_external".
static bool is_name(struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_-", text.at[i]) || !text.at[i])
            return false;
    return text.len > 0 && text.len <= NAME_LEN_MAX;
}

static bool has_name(const char *const *names, size_t count, struct text name)
{
    for (size_t i = 0; i < count; i++)
        if (text_is(name, names[i]))
            return true;
    return false;
}

// The name on a line; empty: there is none.
static struct text name_of_line(struct text line)
{
    struct text name;
    struct text rest = line;
    text_cut(&rest, '#', &name);
    rest = name;
    text_cut(&rest, ':', &name);
    return text_trim(name);
}

bool coredns_names_read(struct arena *arena, struct text text, const char *const **names,
                        struct error *err)
{
    struct text line;
    size_t count = 0;
    const char **found = arena_new_array(arena, const char *, NAMES_MAX + 1);
    for (unsigned number = 1; text_cut(&text, '\n', &line); number++) {
        struct text name = name_of_line(line);
        if (!name.len)
            continue;
        if (!is_name(name))
            return error_set(err, FAULT_SPEC, "", "line %u has no name of a plugin", number);
        if (has_name(found, count, name))
            return error_set(err, FAULT_SPEC, "", "line %u names %.*s again", number,
                             TEXT_ARGS(name));
        if (count == NAMES_MAX)
            return error_set(err, FAULT_SPEC, "", "there are over %d names", NAMES_MAX);
        found[count++] = arena_copy(arena, name.at, name.len);
    }
    if (!count)
        return error_set(err, FAULT_SPEC, "", "it names no plugin");
    *names = found;
    return true;
}

size_t coredns_directives_find(const struct coredns_directives *found, struct text name)
{
    size_t low = 0;
    size_t high = found->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = text_compare(name, text_of(found->names[found->sorted[middle]]));
        if (order == 0)
            return found->sorted[middle];
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return COREDNS_NO_DIRECTIVE;
}
