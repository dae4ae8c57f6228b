#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "providers/pihole/list_private.h"

// Lines as Pi-hole's own validator and dnsmasq take them apart.

void cut_done(struct cut *cut)
{
    free(cut->names);
    *cut = (struct cut){0};
}

static void restart(struct cut *cut)
{
    *cut = (struct cut){.names = cut->names, .name_capacity = cut->name_capacity};
}

static void add_name(struct cut *cut, struct text name)
{
    mem_reserve(&cut->names, &cut->name_capacity, cut->name_count + 1);
    cut->names[cut->name_count++] = name;
}

static void refuse(struct cut *cut, const char *why)
{
    if (!cut->refusal)
        cut->refusal = why;
}

static bool has_line_end(struct text line)
{
    return line.len && (memchr(line.at, '\n', line.len) || memchr(line.at, '\r', line.len));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

// The next word, or an empty one at the end.
static struct text next_word(struct text *rest)
{
    size_t from = 0;
    while (from < rest->len && is_blank(rest->at[from]))
        from++;
    size_t to = from;
    while (to < rest->len && !is_blank(rest->at[to]))
        to++;
    struct text word = {rest->at + from, to - from};
    *rest = (struct text){rest->at + to, rest->len - to};
    return word;
}

static bool address_type(struct text word, enum record_type *type)
{
    char terminated[INET6_ADDRSTRLEN];
    struct in6_addr address;
    if (word.len >= sizeof terminated || (word.len && memchr(word.at, '\0', word.len)))
        return false;
    if (word.len)
        memcpy(terminated, word.at, word.len);
    terminated[word.len] = '\0';
    *type = memchr(terminated, ':', word.len) ? RECORD_AAAA : RECORD_A;
    return inet_pton(*type == RECORD_A ? AF_INET : AF_INET6, terminated, &address) == 1;
}

static void take_name(struct cut *cut, struct text word)
{
    if (list_check_name(word, NULL))
        add_name(cut, word);
    else
        refuse(cut, "it has a name that is none");
}

void cut_hosts(struct cut *cut, struct text line)
{
    restart(cut);
    struct text rest = line;
    struct text word = next_word(&rest);
    bool has_address = address_type(word, &cut->type);
    if (has_line_end(line))
        refuse(cut, "it has a line end in it");
    if (!has_address)
        refuse(cut, "it does not begin with an address");
    cut->value = word;
    if (word.len && word.at[0] == '#')
        rest = line;
    while ((word = next_word(&rest)).len && word.at[0] != '#') {
        if (has_address)
            take_name(cut, word);
    }
    if (word.len)
        cut->comment = text_trim((struct text){word.at + 1, word.len - 1 + rest.len});
    if (!cut->name_count)
        refuse(cut, "it has no name");
}

// The third field or a later one, of digits alone, is a TTL.
static bool is_ttl(struct text field)
{
    for (size_t i = 0; i < field.len; i++) {
        if (field.at[i] < '0' || field.at[i] > '9')
            return false;
    }
    return field.len > 0;
}

static uint32_t ttl_of(struct text field)
{
    int64_t ttl;
    return text_to_int64(field, &ttl) && ttl <= INT32_MAX ? (uint32_t)ttl : INT32_MAX;
}

void cut_cname(struct cut *cut, struct text line)
{
    restart(cut);
    cut->type = RECORD_CNAME;
    struct text rest = line, field;
    while (text_cut(&rest, ',', &field)) {
        add_name(cut, text_trim(field));
        if (!cut->names[cut->name_count - 1].len)
            refuse(cut, "a field of it is empty");
    }
    if (has_line_end(line))
        refuse(cut, "it has a line end in it");
    if (cut->name_count > 2 && is_ttl(cut->names[cut->name_count - 1]))
        cut->ttl_s = ttl_of(cut->names[--cut->name_count]);
    if (cut->name_count < 2)
        refuse(cut, "it has no target");
    if (cut->name_count)
        cut->value = cut->names[--cut->name_count];
}

struct text canonical_name(struct arena *arena, struct text name)
{
    size_t len = name.len > 1 && name.at[name.len - 1] == '.' ? name.len - 1 : name.len;
    char *lower = arena_copy(arena, name.at, len);
    for (size_t i = 0; i < len; i++) {
        if (lower[i] >= 'A' && lower[i] <= 'Z')
            lower[i] = (char)(lower[i] - 'A' + 'a');
    }
    return (struct text){lower, len};
}

bool canonical_address(struct arena *arena, enum record_type type, struct text address,
                       struct text *out)
{
    enum record_type found;
    if (!address_type(address, &found) || found != type)
        return false;
    char *copy = arena_copy(arena, address.at, address.len);
    *out = (struct text){copy, address.len};
    // What inet_pton takes as IPv4 has one form only.
    if (type == RECORD_A)
        return true;
    struct in6_addr octets;
    char written[INET6_ADDRSTRLEN];
    must(inet_pton(AF_INET6, copy, &octets) == 1);
    must(inet_ntop(AF_INET6, &octets, written, sizeof written));
    if (!text_is(*out, written))
        *out = text_of(arena_copy_text(arena, written));
    return true;
}
