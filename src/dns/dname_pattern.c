#include "dns/dname_pattern.h"

#include <string.h>

struct labels {
    const uint8_t *at[DNAME_LABELS_MAX];
    size_t count;
};

static struct labels labels_of(struct dname name)
{
    struct labels labels;
    labels.count = dname_labels(name, labels.at);
    return labels;
}

static struct dname name_of(const struct dname_pattern *pattern)
{
    return (struct dname){pattern->octets, pattern->len};
}

// head*tail: no octet counts for both.
static bool is_label_met(const uint8_t *pattern, const uint8_t *label)
{
    const uint8_t *star = memchr(pattern + 1, '*', *pattern);
    if (!star)
        return *pattern == *label && !memcmp(pattern + 1, label + 1, *label);
    size_t head = (size_t)(star - pattern - 1);
    size_t tail = *pattern - head - 1;
    return *label >= head + tail && !memcmp(pattern + 1, label + 1, head) &&
           !memcmp(star + 1, label + 1 + *label - tail, tail);
}

// The last so many labels of both.
static bool are_labels_met(const struct labels *pattern, const struct labels *name, size_t count)
{
    for (size_t i = 1; i <= count; i++)
        if (!is_label_met(pattern->at[pattern->count - i], name->at[name->count - i]))
            return false;
    return true;
}

bool dname_pattern_matches(const struct dname_pattern *pattern, struct dname name)
{
    struct labels wanted = labels_of(name_of(pattern));
    struct labels found = labels_of(name);
    bool may_be_longer = wanted.count && dname_label_is_star(wanted.at[0]);
    if (found.count < wanted.count || (found.count > wanted.count && !may_be_longer))
        return false;
    return are_labels_met(&wanted, &found, wanted.count);
}

bool dname_pattern_matches_loosely(const struct dname_pattern *pattern, struct dname name)
{
    struct labels wanted = labels_of(name_of(pattern));
    struct labels found = labels_of(name);
    for (size_t i = 1; i <= wanted.count && i <= found.count; i++) {
        const uint8_t *label = wanted.at[wanted.count - i];
        if (dname_label_is_star(label))
            return true;
        if (!is_label_met(label, found.at[found.count - i]))
            return false;
    }
    return wanted.count == found.count;
}

// Old documents write "www.@" for what is below the zone.
static struct text without_apex(struct text text)
{
    if (text_ends(text, ".@"))
        text.len -= 2;
    return text;
}

static bool ends_in_zone(struct text text, struct dname zone)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    static const struct dname root = {(const uint8_t *)"", 1};
    return !text_is(text, "@") && dname_read(text, &root, DNAME_OF_PATTERN, octets, &name, NULL) &&
           dname_is_within(name, zone);
}

bool dname_pattern_read(struct text text, struct dname zone, struct dname_pattern *out,
                        struct error *err)
{
    struct dname name;
    text = without_apex(text);
    *out = (struct dname_pattern){.len = 0};
    if (!dname_read(text, &zone, DNAME_OF_PATTERN, out->octets, &name, err))
        return false;
    out->len = name.len;
    out->is_outside = !dname_is_within(name, zone);
    out->looks_absolute = !dname_text_is_full(text) && ends_in_zone(text, zone);
    return true;
}
