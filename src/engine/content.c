#include "engine/state.h"

#include <stdlib.h>
#include <string.h>

static struct text put(char **at, struct text text)
{
    struct text copy = {*at, text.len};
    memcpy(*at, text.at, text.len);
    (*at)[text.len] = '\0';
    *at += text.len + 1;
    return copy;
}

static size_t content_octets(const struct record_set *set)
{
    size_t octets = set->domain.len + set->subdomain.len + 2;
    for (size_t i = 0; i < set->value_count; i++)
        octets += set->values[i].len + 1;
    return octets;
}

struct record_set *content_new(const struct record_set *set)
{
    size_t values = set->value_count * sizeof(struct text);
    struct record_set *copy = mem_new(1, sizeof *copy + values + content_octets(set));
    struct text *list = (struct text *)(copy + 1);
    char *at = (char *)(list + set->value_count);
    *copy = *set;
    copy->domain = put(&at, set->domain);
    copy->subdomain = put(&at, set->subdomain);
    for (size_t i = 0; i < set->value_count; i++)
        list[i] = put(&at, set->values[i]);
    copy->values = list;
    return copy;
}
