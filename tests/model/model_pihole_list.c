#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/model_pihole_private.h"

enum { NAME_MAX_OCTETS = 255, LABEL_MAX = 63, LINE_MAX_OCTETS = 1024 };

const char *const model_pihole_list_keys[PIHOLE_LISTS] = {
    [PIHOLE_HOSTS] = "dns.hosts", [PIHOLE_CNAMES] = "dns.cnameRecords"};

// ---- arrays of texts ----------------------------------------------------------------------------

void model_entries_done(struct entries *entries)
{
    for (size_t i = 0; i < entries->count; i++)
        free(entries->items[i]);
    free(entries->items);
    *entries = (struct entries){0};
}

void model_entries_add(struct entries *entries, const char *entry)
{
    mem_reserve(&entries->items, &entries->capacity, entries->count + 1);
    entries->items[entries->count++] = mem_copy_text(entry);
}

void model_entries_drop(struct entries *entries, size_t at)
{
    free(entries->items[at]);
    entries->count--;
    memmove(entries->items + at, entries->items + at + 1,
            (entries->count - at) * sizeof *entries->items);
}

void model_entries_copy(struct entries *to, const struct entries *from)
{
    struct entries copy = {0};
    for (size_t i = 0; i < from->count; i++)
        model_entries_add(&copy, from->items[i]);
    model_entries_done(to);
    *to = copy;
}

bool model_entries_equal(const struct entries *a, const struct entries *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i], b->items[i]))
            return false;
    return true;
}

size_t model_entries_find(const struct entries *entries, const char *entry)
{
    for (size_t i = 0; i < entries->count; i++)
        if (!strcmp(entries->items[i], entry))
            return i;
    return SIZE_MAX;
}

void model_pihole_lists_done(struct pihole_lists *lists)
{
    for (int i = 0; i < PIHOLE_LISTS; i++)
        model_entries_done(&lists->of[i]);
}

void model_pihole_lists_copy(struct pihole_lists *to, const struct pihole_lists *from)
{
    for (int i = 0; i < PIHOLE_LISTS; i++)
        model_entries_copy(&to->of[i], &from->of[i]);
}

// ---- what FTL checks ----------------------------------------------------------------------------

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_name(struct text name)
{
    size_t label = 0;
    if (!name.len || name.len > NAME_MAX_OCTETS || name.at[0] == '.')
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool is_last = i + 1 == name.len;
        if (c == '.' && !label)
            return false;
        if (c != '.' && !isalnum((unsigned char)c) && c != '-' && c != '_')
            return false;
        label = c == '.' && !is_last ? 0 : label + (c != '.');
        if (label > LABEL_MAX)
            return false;
    }
    const char *dot = memrchr(name.at, '.', name.len);
    const char *last_label = dot ? dot + 1 : name.at;
    size_t rest = (size_t)(name.at + name.len - last_label);
    return !rest || (last_label[0] != '-' && last_label[rest - 1] != '-');
}

static bool is_address(struct text text)
{
    uint8_t octets[sizeof(struct in6_addr)];
    autofree char *copy = text_dup(text);
    return inet_pton(AF_INET, copy, octets) == 1 || inet_pton(AF_INET6, copy, octets) == 1;
}

// The next word that stands before a comment; absent when there is none.
static struct text next_word(struct text *rest)
{
    while (rest->len && is_blank(*rest->at)) {
        rest->at++;
        rest->len--;
    }
    struct text word = {rest->at, 0};
    if (!rest->len || *rest->at == '#')
        return (struct text){0};
    while (word.len < rest->len && !is_blank(rest->at[word.len]))
        word.len++;
    rest->at += word.len;
    rest->len -= word.len;
    return word;
}

static bool complain(struct buffer *hint, enum pihole_list list, size_t at, const char *what,
                     struct text quoted)
{
    buffer_printf(hint, "%s[%zu]: %s", model_pihole_list_keys[list], at, what);
    if (quoted.at)
        buffer_printf(hint, " (\"%.*s\")", TEXT_ARGS(quoted));
    return false;
}

static bool check_host(size_t at, const char *entry, struct buffer *hint)
{
    size_t names = 0;
    struct text rest = text_of(entry);
    if (strpbrk(entry, "\r\n"))
        return complain(hint, PIHOLE_HOSTS, at, "contains newline characters", (struct text){0});
    struct text word = next_word(&rest);
    if (!word.at)
        return complain(hint, PIHOLE_HOSTS, at, "found no first element", text_of(entry));
    if (!is_address(word))
        return complain(hint, PIHOLE_HOSTS, at, "neither a valid IPv4 nor IPv6 address", word);
    for (; (word = next_word(&rest)).at; names++)
        if (!is_name(word))
            return complain(hint, PIHOLE_HOSTS, at, "invalid hostname", word);
    return names || complain(hint, PIHOLE_HOSTS, at, "entry does not have at least one hostname",
                             text_of(entry));
}

static bool check_cname(size_t at, const char *entry, struct buffer *hint)
{
    size_t count = 0;
    struct text piece;
    struct text rest = text_of(entry);
    for (; text_cut(&rest, ',', &piece); count++)
        if (!piece.len) {
            buffer_printf(hint, "dns.cnameRecords[%zu]: contains an empty string at position %zu",
                          at, count);
            return false;
        }
    if (count < 2)
        return complain(hint, PIHOLE_CNAMES, at, "not a valid CNAME definition (too few elements)",
                        (struct text){0});
    if (strpbrk(entry, "\r\n"))
        return complain(hint, PIHOLE_CNAMES, at, "contains newline characters", (struct text){0});
    return true;
}

bool model_pihole_check(enum pihole_list list, const struct entries *entries, struct buffer *hint)
{
    for (size_t i = 0; i < entries->count; i++)
        if (!(list == PIHOLE_HOSTS ? check_host : check_cname)(i, entries->items[i], hint))
            return false;
    return true;
}

char *model_pihole_normal(enum pihole_list list, const char *entry)
{
    struct text word;
    struct buffer out = {0};
    struct text rest = text_of(entry);
    if (list != PIHOLE_HOSTS)
        return mem_copy_text(entry);
    while ((word = next_word(&rest)).at) {
        if (out.len)
            buffer_add_char(&out, ' ');
        buffer_add(&out, word.at, word.len);
    }
    if (rest.len && out.len)
        buffer_add_char(&out, ' ');
    buffer_add(&out, rest.at, rest.len);
    return buffer_steal(&out);
}

// ---- what dnsmasq checks ------------------------------------------------------------------------

struct alias {
    struct text name; // lower case
    struct text target;
    size_t entry;
};

struct aliases {
    struct arena *arena;
    struct alias *items;
    size_t count;
    size_t capacity;
};

// The target of an entry, and how much of it comes before that.
static struct text target_of(struct text entry, size_t *before)
{
    int64_t ttl;
    struct text last = entry;
    const char *comma = memrchr(entry.at, ',', entry.len);
    *before = comma ? (size_t)(comma - entry.at) : 0;
    last.at = comma ? comma + 1 : entry.at;
    last.len = entry.len - (size_t)(last.at - entry.at);
    struct text front = {entry.at, *before};
    if (!text_to_int64(last, &ttl) || !memchr(front.at, ',', front.len))
        return last;
    return target_of(front, before);
}

static struct text lower(struct arena *arena, struct text name)
{
    char *copy = arena_copy(arena, name.at, name.len);
    for (size_t i = 0; i < name.len; i++)
        copy[i] = (char)tolower((unsigned char)copy[i]);
    return (struct text){copy, name.len};
}

static void add_aliases(struct aliases *aliases, const char *entry, size_t at)
{
    size_t before;
    struct text target = target_of(text_of(entry), &before);
    struct text rest = {entry, before};
    for (struct text name; text_cut(&rest, ',', &name);) {
        mem_reserve(&aliases->items, &aliases->capacity, aliases->count + 1);
        aliases->items[aliases->count++] =
            (struct alias){lower(aliases->arena, name), lower(aliases->arena, target), at};
    }
}

static int compare_aliases(const void *a, const void *b)
{
    const struct alias *x = a, *y = b;
    int by_name = text_compare(x->name, y->name);
    return by_name ? by_name : (x->entry > y->entry) - (x->entry < y->entry);
}

static int compare_names(const void *a, const void *b)
{
    return text_compare(((const struct alias *)a)->name, ((const struct alias *)b)->name);
}

static const struct alias *find_alias(const struct aliases *aliases, struct text name)
{
    const struct alias key = {.name = name};
    if (!aliases->count)
        return NULL;
    return bsearch(&key, aliases->items, aliases->count, sizeof key, compare_names);
}

// The first entry with an alias that stands before; SIZE_MAX: none.
static size_t find_double(const struct aliases *aliases)
{
    size_t first = SIZE_MAX;
    for (size_t i = 1; i < aliases->count; i++) {
        const struct alias *alias = &aliases->items[i];
        if (text_equal(alias->name, alias[-1].name) && alias->entry < first)
            first = alias->entry;
    }
    return first;
}

static bool is_loop(const struct aliases *aliases, const struct alias *from)
{
    const struct alias *at = from;
    for (size_t i = 0; at && i <= aliases->count; i++)
        at = find_alias(aliases, at->target);
    return at != NULL;
}

// The first that goes round; NULL: none.
static const struct alias *find_loop(const struct aliases *aliases)
{
    const struct alias *first = NULL;
    for (size_t i = 0; i < aliases->count; i++) {
        const struct alias *alias = &aliases->items[i];
        if ((!first || alias->entry < first->entry) && is_loop(aliases, alias))
            first = alias;
    }
    return first;
}

// The first that dnsmasq, which reads lines of so many octets, takes for two; SIZE_MAX: none.
static size_t find_long(const struct entries *cnames)
{
    size_t i = 0;
    while (i < cnames->count && sizeof "cname=" - 1 + strlen(cnames->items[i]) < LINE_MAX_OCTETS)
        i++;
    return i < cnames->count ? i : SIZE_MAX;
}

bool model_pihole_try_cnames(const struct entries *cnames, struct buffer *hint)
{
    size_t cut = find_long(cnames);
    if (cut != SIZE_MAX) {
        buffer_printf(hint, "bad option at line %zu of /etc/pihole/dnsmasq.conf.temp", cut + 47);
        return false;
    }
    CLEANUP(arena) struct arena *arena = arena_new();
    struct aliases aliases = {.arena = arena};
    for (size_t i = 0; i < cnames->count; i++)
        add_aliases(&aliases, cnames->items[i], i);
    if (aliases.count)
        qsort(aliases.items, aliases.count, sizeof *aliases.items, compare_aliases);
    size_t twice = find_double(&aliases);
    const struct alias *loop = twice == SIZE_MAX ? find_loop(&aliases) : NULL;
    if (twice != SIZE_MAX)
        buffer_printf(hint,
                      "duplicate CNAME at line %zu of /etc/pihole/dnsmasq.conf.temp: "
                      "\"cname=%s\"",
                      twice + 47, cnames->items[twice]);
    else if (loop)
        buffer_printf(hint, "CNAME loop involving %.*s.", TEXT_ARGS(loop->name));
    free(aliases.items);
    return twice == SIZE_MAX && !loop;
}

// ---- what people do -----------------------------------------------------------------------------

size_t model_pihole_count(const struct model_pihole *pihole, enum pihole_list list)
{
    return pihole->stored.of[list].count;
}

const char *model_pihole_at(const struct model_pihole *pihole, enum pihole_list list, size_t at)
{
    return pihole->stored.of[list].items[at];
}

void model_pihole_put(struct model_pihole *pihole, enum pihole_list list, const char *entry,
                      bool is_kept)
{
    autofree char *normal = model_pihole_normal(list, entry);
    model_entries_add(&pihole->stored.of[list], normal);
    if (is_kept)
        model_entries_add(&pihole->kept.of[list], normal);
    model_pihole_publish(pihole, list);
}

bool model_pihole_take(struct model_pihole *pihole, enum pihole_list list, const char *entry)
{
    size_t at = model_entries_find(&pihole->stored.of[list], entry);
    size_t kept = model_entries_find(&pihole->kept.of[list], entry);
    if (at == SIZE_MAX)
        return false;
    model_entries_drop(&pihole->stored.of[list], at);
    if (kept != SIZE_MAX)
        model_entries_drop(&pihole->kept.of[list], kept);
    model_pihole_publish(pihole, list);
    return true;
}

// ---- what the resolver serves -------------------------------------------------------------------

void model_pihole_publish(struct model_pihole *pihole, enum pihole_list list)
{
    model_entries_copy(&pihole->served.of[list], &pihole->stored.of[list]);
    model_entries_copy(&pihole->pending.of[list], &pihole->stored.of[list]);
    pihole->served_number += 2;
}

static bool is_pending_served(const struct model_pihole *pihole, int64_t now_ms)
{
    const struct pihole_restart *restart = &pihole->restart;
    return restart->is_on && !restart->has_spoken && now_ms >= restart->speaks_ms;
}

static const struct entries *served(const struct model_pihole *pihole, enum pihole_list list,
                                    int64_t now_ms)
{
    return is_pending_served(pihole, now_ms) ? &pihole->pending.of[list] : &pihole->served.of[list];
}

uint64_t model_pihole_served(const struct model_pihole *pihole, int64_t now_ms)
{
    return pihole->served_number + is_pending_served(pihole, now_ms);
}

void model_pihole_write_hosts(const struct model_pihole *pihole, int64_t now_ms, struct buffer *out)
{
    const struct entries *hosts = served(pihole, PIHOLE_HOSTS, now_ms);
    for (size_t i = 0; i < hosts->count; i++) {
        AUTO_BUFFER hint = {0};
        struct text word;
        struct text rest = text_of(hosts->items[i]);
        if (!check_host(i, hosts->items[i], &hint))
            continue;
        for (bool is_first = true; (word = next_word(&rest)).at; is_first = false)
            buffer_printf(out, "%s%.*s", is_first ? "" : " ", TEXT_ARGS(word));
        buffer_add_char(out, '\n');
    }
}

void model_pihole_write_cnames(const struct model_pihole *pihole, int64_t now_ms,
                               struct buffer *out)
{
    const struct entries *cnames = served(pihole, PIHOLE_CNAMES, now_ms);
    for (size_t i = 0; i < cnames->count; i++) {
        AUTO_BUFFER hint = {0};
        if (check_cname(i, cnames->items[i], &hint))
            buffer_printf(out, "cname=%s\n", cnames->items[i]);
    }
}
