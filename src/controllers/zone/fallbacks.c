#include "controllers/zone/fallbacks.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESSES_MAX = 8 };

struct fallback {
    uint8_t name[DNAME_MAX];
    uint8_t octets[ADDRESSES_MAX][16];
    struct text addresses[ADDRESSES_MAX];
};
struct fallbacks {
    struct fallback *items;
    struct zone_nameserver *views;
    size_t count;
};

static bool read_address(struct fallback *out, size_t at, struct text text, struct error *err)
{
    char copy[INET6_ADDRSTRLEN];
    if (text.len < sizeof copy) {
        memcpy(copy, text.at, text.len);
        copy[text.len] = '\0';
        size_t len = strchr(copy, ':') ? 16 : 4;
        if (inet_pton(len == 4 ? AF_INET : AF_INET6, copy, out->octets[at]) == 1) {
            out->addresses[at] = (struct text){(const char *)out->octets[at], len};
            return true;
        }
    }
    return error_set(err, FAULT_SPEC, "", "%.*s is no IP address", TEXT_ARGS(text));
}

static bool add_address(struct fallback *out, struct zone_nameserver *view, struct text text,
                        struct error *err)
{
    if (view->address_count == ADDRESSES_MAX)
        return error_set(err, FAULT_SPEC, "", "more than %d addresses", ADDRESSES_MAX);
    if (!read_address(out, view->address_count, text, err))
        return false;
    view->address_count++;
    return true;
}

// With or without its final dot.
static bool read_name(struct text text, struct fallback *out, struct dname *name, struct error *err)
{
    char full[DNAME_TEXT_MAX + 1];
    if (!text.len || text.len >= DNAME_TEXT_MAX)
        return error_set(err, FAULT_SPEC, "", "expected NAME[=ADDR,...]");
    memcpy(full, text.at, text.len);
    full[text.len] = '.';
    struct text dotted = {full, dname_text_is_full(text) ? text.len : text.len + 1};
    return dname_read(dotted, NULL, DNAME_OF_OBJECT, out->name, name, err);
}

static bool read_one(struct text text, struct fallback *out, struct zone_nameserver *view,
                     struct error *err)
{
    struct text piece;
    struct error ignored;
    text_cut(&text, '=', &piece);
    if (read_address(out, 0, piece, &ignored))
        return error_set(err, FAULT_SPEC, "", "an address needs a name before it: NAME=ADDR,...");
    *view = (struct zone_nameserver){.addresses = out->addresses};
    return read_name(piece, out, &view->name, err) &&
           (!text.at || add_address(out, view, text, err));
}

// A list is cut at its commas: what is an address alone belongs to the name before it.
static bool read_next(struct fallbacks *fallbacks, const char *text, struct error *err)
{
    struct error ignored;
    size_t at = fallbacks->count;
    if (at &&
        add_address(&fallbacks->items[at - 1], &fallbacks->views[at - 1], text_of(text), &ignored))
        return true;
    if (!read_one(text_of(text), &fallbacks->items[at], &fallbacks->views[at], err))
        return false;
    fallbacks->count++;
    return true;
}

struct fallbacks *fallbacks_new(const char *const *texts, struct error *err)
{
    struct fallbacks *fallbacks = mem_new_of(struct fallbacks);
    size_t count = 0;
    while (texts && texts[count])
        count++;
    fallbacks->items = mem_new_array(struct fallback, count + 1);
    fallbacks->views = mem_new_array(struct zone_nameserver, count + 1);
    for (size_t i = 0; i < count; i++) {
        if (read_next(fallbacks, texts[i], err))
            continue;
        fallbacks_free(fallbacks);
        return NULL;
    }
    return fallbacks;
}

void fallbacks_free(struct fallbacks *fallbacks)
{
    if (!fallbacks)
        return;
    free(fallbacks->items);
    free(fallbacks->views);
    free(fallbacks);
}

const struct zone_nameserver *fallbacks_items(const struct fallbacks *fallbacks)
{
    return fallbacks->views;
}

size_t fallbacks_count(const struct fallbacks *fallbacks)
{
    return fallbacks->count;
}

bool fallbacks_check(const char *const *texts, struct error *err)
{
    struct fallbacks *fallbacks = fallbacks_new(texts, err);
    bool is_good = fallbacks != NULL;
    fallbacks_free(fallbacks);
    return is_good;
}
