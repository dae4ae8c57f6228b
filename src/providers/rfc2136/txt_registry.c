#include "providers/rfc2136/txt_registry.h"

#include <stdlib.h>
#include <string.h>

#include "dns/registry_name.h"
#include "providers/provider.h"

#define HERITAGE "external-dns"

// external-dns reads the first character-string alone, and the owner must stand in it.
enum { OWNER_OCTETS_MAX = 200 };

// ---- content ------------------------------------------------------------------------------------

static struct text strip_quotes(struct text value)
{
    while (value.len && value.at[0] == '"')
        value = (struct text){value.at + 1, value.len - 1};
    while (value.len && value.at[value.len - 1] == '"')
        value.len--;
    return value;
}

// The labels stand side by side:
// heritage=external-dns,external-dns/owner=ID,external-dns/KEY=VALUE.
static bool read_owner(struct text value, struct text *owner)
{
    struct text rest = strip_quotes(value), label;
    bool is_ownership = false;
    *owner = TEXT("");
    while (text_cut(&rest, ',', &label)) {
        struct text content = label, key;
        text_cut(&content, '=', &key);
        if (!content.at)
            continue;
        if (text_is(key, "heritage") && !text_is(content, HERITAGE))
            return false;
        is_ownership |= text_is(key, "heritage");
        if (text_is(key, HERITAGE "/owner"))
            *owner = content;
    }
    return is_ownership;
}

enum owner txt_registry_read(const struct txt_registry *registry, const struct record_set *txt,
                             struct text *other)
{
    enum owner found = OWNER_UNKNOWN;
    struct text owner;
    if (!txt)
        return OWNER_NONE;
    for (size_t i = 0; i < txt->value_count; i++) {
        if (!read_owner(txt->values[i], &owner))
            continue;
        if (!text_is(owner, registry->owner_id)) {
            *other = owner;
            return OWNER_OTHER;
        }
        found = OWNER_OURS;
    }
    return found;
}

struct record_set txt_registry_marks(struct arena *arena, const struct record_set *txt)
{
    struct record_set marks = *txt;
    struct text *values = arena_new_array(arena, struct text, txt->value_count);
    struct text owner;
    marks.values = values;
    marks.value_count = 0;
    for (size_t i = 0; i < txt->value_count; i++)
        if (read_owner(txt->values[i], &owner))
            values[marks.value_count++] = txt->values[i];
    return marks;
}

struct record_set txt_registry_record(const struct txt_registry *registry, struct arena *arena)
{
    struct text *values = arena_new_array(arena, struct text, 1);
    values[0] = text_of(registry->content);
    return (struct record_set){.type = RECORD_TXT,
                               .ttl_s = registry->ttl_s,
                               .values = values,
                               .value_count = 1,
                               .priority = -1,
                               .weight = -1,
                               .port = -1};
}

// ---- names --------------------------------------------------------------------------------------

static struct registry_affix affix_of(const struct txt_registry *registry)
{
    return (struct registry_affix){text_of(registry->prefix), text_of(registry->suffix),
                                   text_of(registry->wildcard)};
}

bool txt_registry_name(const struct txt_registry *registry, struct arena *arena, struct text zone,
                       struct text name, enum record_type type, struct text *out, struct error *err)
{
    AUTO_BUFFER made = {0};
    const struct text type_name = text_of(record_type_name(type));
    const struct registry_affix affix = affix_of(registry);
    if (!registry_name_fits(name, type_name, &affix, err) ||
        !registry_name_is_within(name, type_name, &affix, zone, err))
        return false;
    registry_name_write(&made, name, type_name, &affix);
    *out = (struct text){arena_copy(arena, made.at, made.len), made.len};
    return true;
}

// ---- configuration ------------------------------------------------------------------------------

#define TXT_PREFIX "the TXT prefix"
#define TXT_SUFFIX "the TXT suffix"
#define TXT_WILDCARD "the TXT wildcard replacement"

// Calls keys by what they are: a DNSUpdateRecord spells them otherwise than a DNSClass.
static bool refuse(struct error *err, const char *what, const char *why)
{
    return error_set(err, FAULT_SPEC, INVALID_CONFIGURATION, "%s %s", what, why);
}

// What stands in every record as it is: external-dns cuts at "," and "=" and drops quotes.
static bool is_plain_owner_id(struct text id)
{
    for (size_t i = 0; i < id.len; i++)
        if (id.at[i] < ' ' || id.at[i] > '~' || strchr(",=\"\\", id.at[i]))
            return false;
    return true;
}

static bool take_owner_id(struct txt_registry *registry, struct text id, struct error *err)
{
    AUTO_BUFFER content = {0};
    if (id.len > OWNER_OCTETS_MAX)
        return refuse(err, "the owner id", "is longer than 200 octets");
    if (!is_plain_owner_id(id))
        return refuse(err, "the owner id", "must be printable ASCII without comma, =, \" and \\");
    registry->owner_id = text_dup(id);
    buffer_printf(&content, "heritage=" HERITAGE "," HERITAGE "/owner=%s", registry->owner_id);
    registry->content = buffer_steal(&content);
    return true;
}

static bool is_affix_octet(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

static bool take_affix(const struct value *config, const char *key, const char *what, char **out,
                       struct error *err)
{
    static const char type_template[] = "%{record_type}";
    struct text text = value_text_at(config, key);
    char *lower = *out = text_dup(text.at ? text : TEXT(""));
    for (size_t i = 0; lower[i]; i++)
        lower[i] |= lower[i] >= 'A' && lower[i] <= 'Z' ? 0x20 : 0;
    for (const char *at = lower; *at;) {
        bool is_template = text_starts(text_of(at), type_template);
        if (!is_template && !is_affix_octet(*at))
            return refuse(err, what, "may have letters, digits, -, _, dots and %{record_type}");
        at += is_template ? strlen(type_template) : 1;
    }
    return true;
}

static bool take_ttl(struct txt_registry *registry, const struct value *config, struct error *err)
{
    int64_t ttl_s = value_int_at(config, "minTtl", 0);
    if (ttl_s < 0 || ttl_s > INT32_MAX)
        return refuse(err, "minTtl", "must be 0..2147483647 seconds");
    registry->ttl_s = (uint32_t)ttl_s;
    return true;
}

static bool has_empty_label(struct text name)
{
    struct text label;
    while (text_cut(&name, '.', &label))
        if (!label.len)
            return true;
    return false;
}

static bool check_affixes(const struct txt_registry *registry, struct error *err)
{
    AUTO_BUFFER host = {0};
    AUTO_BUFFER wildcard = {0};
    const struct registry_affix affix = affix_of(registry);
    if (affix.prefix.len && affix.suffix.len)
        return refuse(err, TXT_SUFFIX, "and " TXT_PREFIX " exclude each other");
    registry_name_write(&host, TEXT("www.example.org"), TEXT("A"), &affix);
    if (has_empty_label(buffer_text(&host)))
        return refuse(err, affix.prefix.len ? TXT_PREFIX : TXT_SUFFIX, "makes an empty label");
    registry_name_write(&wildcard, TEXT("*.example.org"), TEXT("A"), &affix);
    return !has_empty_label(buffer_text(&wildcard)) ||
           refuse(err, TXT_WILDCARD, "makes an empty label");
}

bool txt_registry_init(struct txt_registry *registry, const struct value *config, struct error *err)
{
    struct text id = value_text_at(config, "ownerId");
    if (!id.len)
        return true;
    return take_owner_id(registry, id, err) &&
           take_affix(config, "txtPrefix", TXT_PREFIX, &registry->prefix, err) &&
           take_affix(config, "txtSuffix", TXT_SUFFIX, &registry->suffix, err) &&
           take_affix(config, "txtWildcardReplacement", TXT_WILDCARD, &registry->wildcard, err) &&
           take_ttl(registry, config, err) && check_affixes(registry, err);
}

void txt_registry_done(struct txt_registry *registry)
{
    free(registry->owner_id);
    free(registry->prefix);
    free(registry->suffix);
    free(registry->wildcard);
    free(registry->content);
}

void txt_registry_add_digest(const struct txt_registry *registry, struct digest_state *state)
{
    const char *const texts[] = {registry->owner_id, registry->prefix, registry->suffix,
                                 registry->wildcard};
    for (size_t i = 0; registry->owner_id && i < COUNT_OF(texts); i++)
        digest_add(state, texts[i], strlen(texts[i]) + 1);
}
