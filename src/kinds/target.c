#include "kinds/target.h"

#include <arpa/inet.h>
#include <string.h>

#include "dns/record.h"

enum { ADDRESS_TEXT_MAX = INET6_ADDRSTRLEN };

int target_family(struct text address, uint8_t octets[16])
{
    char text[ADDRESS_TEXT_MAX];
    if (!address.len || address.len >= sizeof text)
        return AF_UNSPEC;
    memcpy(text, address.at, address.len);
    text[address.len] = '\0';
    if (inet_pton(AF_INET, text, octets) == 1)
        return AF_INET;
    return inet_pton(AF_INET6, text, octets) == 1 ? AF_INET6 : AF_UNSPEC;
}

const char *address_type(struct text address)
{
    uint8_t octets[16];
    int family = target_family(address, octets);
    return family == AF_INET ? "A" : family == AF_INET6 ? "AAAA" : "CNAME";
}

static struct text last_label(struct text name)
{
    struct text label = name;
    while (text_cut(&name, '.', &label))
        continue;
    return label;
}

static bool is_number(struct text label)
{
    int64_t number;
    return text_to_int64(label, &number);
}

const char *target_read(struct arena *arena, struct text name, struct text target, struct text *out)
{
    struct error err;
    enum record_type type;
    record_type_parse(text_of(address_type(target)), &type);
    if (!record_value_normalise(arena, type, target, out, &err) ||
        (type == RECORD_CNAME && is_number(last_label(*out))))
        return "is neither an address nor a host name";
    *out = record_value_canonical(arena, type, *out);
    if (record_value_is_of_no_host(type, *out))
        return "is an address that no host has";
    return type == RECORD_CNAME && text_equal(*out, name) ? "is the name itself" : NULL;
}
