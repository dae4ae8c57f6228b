#include "engine/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/pack.h"

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

struct record_set *content_new_set(const struct record_set *set)
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

// ---- packed -------------------------------------------------------------------------------------

struct content {
    uint32_t len;
    char body[];
};

static size_t octets_of(size_t len)
{
    return offsetof(struct content, body) + len;
}

struct content *content_new(struct slab *slab, const struct record_set *set)
{
    struct pack_writer out;
    pack_init(&out);
    pack_number(&out, set->type);
    pack_number(&out, set->ttl_s);
    pack_signed(&out, set->priority);
    pack_signed(&out, set->weight);
    pack_signed(&out, set->port);
    pack_number(&out, set->value_count);
    for (size_t i = 0; i < set->value_count; i++)
        pack_text(&out, set->values[i]);
    struct text body = buffer_text(&out.out);
    must(body.len <= UINT32_MAX);
    struct content *content = slab_take(slab, octets_of(body.len));
    content->len = (uint32_t)body.len;
    memcpy(content->body, body.at, body.len);
    pack_done(&out);
    return content;
}

void content_free(struct content *content)
{
    if (content)
        slab_give(content, octets_of(content->len));
}

struct record_set *content_make_set(struct arena *arena, const struct content *content,
                                    struct text domain, struct text subdomain)
{
    struct pack_reader in = pack_open((struct text){content->body, content->len});
    struct record_set *set = arena_new_of(arena, struct record_set);
    set->domain = text_of(arena_copy(arena, domain.at, domain.len));
    set->subdomain = text_of(arena_copy(arena, subdomain.at, subdomain.len));
    set->type = (enum record_type)unpack_number(&in);
    set->ttl_s = (uint32_t)unpack_number(&in);
    set->priority = (int32_t)unpack_signed(&in);
    set->weight = (int32_t)unpack_signed(&in);
    set->port = (int32_t)unpack_signed(&in);
    set->value_count = unpack_number(&in);
    struct text *values = arena_new_array(arena, struct text, set->value_count + 1);
    for (size_t i = 0; i < set->value_count; i++) {
        struct text value = unpack_text(&in);
        values[i] = text_of(arena_copy(arena, value.at, value.len));
    }
    set->values = values;
    return set;
}
