#include <string.h>

#include "dns/corefile/address.h"
#include "dns/corefile/setup.h"

// Warns of what a CoreDNS accepts silently when it starts. Each warning has its rule's name, and
// says what comes of it and what to do.

static const struct coredns_version with_normal_zones = {1, 14, 7};

struct advice {
    struct linter *linter;
    const struct corefile_block *block;
    const struct coredns_directives *directives;
};

static void warn(const struct advice *advice, uint32_t token, const char *rule, const char *hint,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

static void warn(const struct advice *advice, uint32_t token, const char *rule, const char *hint,
                 const char *format, ...)
{
    AUTO_BUFFER text = {0};
    const struct corefile *corefile = advice->linter->corefile;
    const struct corefile_token *at = &corefile->tokens[token];
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    corefile_add_warning(advice->linter->problems, rule, corefile->files[at->file].path, at->line,
                         hint, "%s", text.at);
}

// ---- braces -------------------------------------------------------------------------------------

static void check_braces(const struct advice *advice)
{
    const struct corefile_block *block = advice->block;
    const struct corefile *corefile = advice->linter->corefile;
    const struct corefile_directive *last =
        block->directive_count ? &block->directives[block->directive_count - 1] : NULL;
    bool ends_in_brace = text_is(corefile_text(corefile, block->last), "}");
    if (block->has_braces && last && last->first + last->count - 1 == block->last)
        warn(advice, block->last, "missing-brace", "write a '}' behind it",
             "the last '}' of the server block is missing, and CoreDNS takes that of its last "
             "plugin for it");
    if (!block->has_braces && ends_in_brace)
        warn(advice, block->last, "stray-brace", "remove it", "this '}' closes nothing");
}

// ---- zones --------------------------------------------------------------------------------------

static bool has_upper_case(struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] >= 'A' && text.at[i] <= 'Z')
            return true;
    return false;
}

static bool has_high_octet(struct text text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] >= 0x80)
            return true;
    return false;
}

static bool has_char(struct text text, char c)
{
    return text.len && memchr(text.at, c, text.len);
}

static void check_zone(const struct advice *advice, uint32_t token, struct text key,
                       struct text zone)
{
    struct text bare = zone;
    if (bare.len > 1 && bare.at[bare.len - 1] == '.')
        bare.len--;
    if (coredns_directives_find(advice->directives, key) != COREDNS_NO_DIRECTIVE)
        warn(advice, token, "plugin-as-zone", "put it within the braces of a server block",
             "the plugin's name '%.*s' stands where a zone is expected, and becomes one",
             TEXT_ARGS(key));
    if (has_upper_case(bare) &&
        coredns_version_is_before(advice->linter->options->version, with_normal_zones))
        warn(advice, token, "zone-upper-case", "write it in lower case",
             "no query matches the zone '%.*s', as CoreDNS before 1.14.7 compares it with names in "
             "lower case",
             TEXT_ARGS(zone));
    if (has_high_octet(bare))
        warn(advice, token, "zone-not-ascii", "write its A-label (xn--...)",
             "no query matches the zone '%.*s', as names in queries are ASCII", TEXT_ARGS(zone));
    if (has_char(bare, '*'))
        warn(advice, token, "zone-wildcard", "leave out the '*': a zone has all names below it",
             "the zone '%.*s' only matches names with a '*' in them", TEXT_ARGS(zone));
    else if (has_char(bare, '_'))
        warn(advice, token, "zone-underscore", "check that it is meant",
             "the zone '%.*s' has an underscore, which names of hosts don't have", TEXT_ARGS(zone));
}

static void check_zones(const struct advice *advice)
{
    size_t with_port = 0;
    struct arena *arena = advice->linter->arena;
    const struct corefile_block *block = advice->block;
    for (size_t i = 0; i < block->key_count; i++) {
        struct corefile_address address;
        if (corefile_address_read_as(arena, block->keys[i], advice->linter->options->version,
                                     &address))
            continue;
        with_port += address.port.len > 0;
        for (size_t at = 0; at < address.zone_count; at++)
            check_zone(advice, block->key_tokens[i], block->keys[i], address.zones[at]);
    }
    if (with_port && with_port < block->key_count)
        warn(advice, block->first, "port-on-some-zones", "write the port behind each zone",
             "a port stands behind some zones of this server block only, and the others are served "
             "on the default port");
}

// ---- words --------------------------------------------------------------------------------------

// A token as it is written, without the quote at its end.
static struct text written_token(const struct corefile *corefile, size_t token)
{
    const struct corefile_token *at = &corefile->tokens[token];
    struct text text = corefile->files[at->file].text;
    struct text rest = {text.at + at->start, text.len - at->start};
    size_t len = 0;
    if (rest.len && *rest.at == '"') {
        while (++len < rest.len && (rest.at[len] != '"' || rest.at[len - 1] == '\\'))
            continue;
        return (struct text){rest.at, len};
    }
    while (len < rest.len && !strchr(" \t\r\n\v\f", rest.at[len]))
        len++;
    return (struct text){rest.at, len};
}

// Within a word: behind an octet other than a blank.
static bool has_mark(struct text text, char mark)
{
    const char *at = text.at;
    const char *end = text.at + text.len;
    while (at != end && (at = memchr(at, mark, (size_t)(end - at)))) {
        if (at != text.at && !memchr(" \t\r\n\v\f", at[-1], 6))
            return true;
        at++;
    }
    return false;
}

// No token needs a look if no file has any of "{$", "{%" or, within a word, '#'.
static bool has_marks(const struct corefile *corefile)
{
    static const char marks[] = {'$', '%', '#'};
    for (size_t i = 0; i < corefile->file_count; i++)
        for (size_t mark = 0; mark < COUNT_OF(marks); mark++)
            if (has_mark(corefile->files[i].text, marks[mark]))
                return true;
    return false;
}

static void check_comment(const struct advice *advice, uint32_t token, struct text written)
{
    if (*written.at != '"' && has_char(written, '#'))
        warn(advice, token, "comment-in-word", "write a blank in front of the '#', or quotes",
             "CoreDNS reads '%.*s' up to its '#' only, and what follows on the line as well",
             TEXT_ARGS(written));
}

// The end of a reference that begins at a brace; NULL: none does.
static const char *find_reference_end(struct text text)
{
    if (text.len < 2)
        return NULL;
    if (text.at[1] == '$')
        return memchr(text.at, '}', text.len);
    return text.at[1] == '%' ? memmem(text.at + 2, text.len - 2, "%}", 2) : NULL;
}

// Cuts the next "{$NAME}" or "{%NAME%}" off a text. False: there is none.
static bool take_reference(struct text *rest, struct text *name)
{
    const char *brace;
    while (rest->len && (brace = memchr(rest->at, '{', rest->len))) {
        struct text from = {brace, (size_t)(rest->at + rest->len - brace)};
        const char *end = find_reference_end(from);
        bool has_name = end && end > brace + 2;
        size_t used = has_name ? (size_t)(end - brace) : 1;
        *rest = (struct text){brace + used, from.len - used};
        if (!has_name)
            continue;
        *name = (struct text){brace + 2, used - 2};
        return true;
    }
    return false;
}

static void check_variables(const struct advice *advice, uint32_t token, struct text written)
{
    struct text name;
    const struct corefile_world *world = advice->linter->options->world;
    while (take_reference(&written, &name)) {
        bool is_set = world && world->variable && world->variable(world->context, name).len;
        if (!is_set)
            warn(advice, token, "variable-not-set", "see that the environment of CoreDNS has it",
                 "the variable %.*s is not set here, and nothing is put in its place",
                 TEXT_ARGS(name));
    }
}

static void check_words(const struct advice *advice)
{
    const struct corefile *corefile = advice->linter->corefile;
    if (!has_marks(corefile))
        return;
    for (size_t i = 0; i < corefile->token_count; i++) {
        struct text written = written_token(corefile, i);
        if (!written.len)
            continue;
        check_comment(advice, (uint32_t)i, written);
        check_variables(advice, (uint32_t)i, written);
    }
}

// ---- kubernetes ---------------------------------------------------------------------------------

struct cluster_zones {
    struct text *zones;
    size_t count;
    const struct corefile_block *block; // that serves them
};

static void find_cluster_zones(const struct linter *linter, struct cluster_zones *out)
{
    const struct corefile *corefile = linter->corefile;
    for (size_t i = 0; i < corefile->block_count; i++) {
        const struct corefile_block *block = &corefile->blocks[i];
        for (size_t at = 0; at < block->directive_count && !out->block; at++) {
            const struct corefile_directive *directive = &block->directives[at];
            if (!text_is(corefile_text(corefile, directive->first), "kubernetes"))
                continue;
            out->block = block;
            out->zones = arena_new_array(linter->arena, struct text, directive->count);
            for (uint32_t word = 1; word < directive->count; word++) {
                struct text text = corefile_text(corefile, directive->first + word);
                if (text_is(text, "{"))
                    break;
                out->zones[out->count++] = corefile_zone_name(linter->arena, text, false);
            }
        }
    }
}

// A block for such a zone takes names of Services away from the plugin.
static void check_shadows(const struct advice *advice, const struct cluster_zones *cluster)
{
    const struct corefile_block *block = advice->block;
    struct arena *arena = advice->linter->arena;
    for (size_t i = 0; i < block->key_count && cluster->block && block != cluster->block; i++) {
        struct corefile_address address;
        if (corefile_address_read_as(arena, block->keys[i], advice->linter->options->version,
                                     &address))
            continue;
        struct text zone = corefile_zone_name(arena, address.zones[0], false);
        for (size_t at = 0; at < cluster->count; at++)
            if (corefile_zone_has(cluster->zones[at], zone) && !text_is(zone, ".") &&
                !text_ends(cluster->zones[at], "arpa."))
                warn(advice, block->key_tokens[i], "shadows-kubernetes",
                     "leave that zone to the server block with `kubernetes`",
                     "names of Services and Pods in '%.*s' no longer reach the plugin kubernetes",
                     TEXT_ARGS(zone));
    }
}

// ---- the whole file -----------------------------------------------------------------------------

static void check_presence(const struct advice *advice, const char *name, const char *harm)
{
    const struct corefile *corefile = advice->linter->corefile;
    for (size_t i = 0; i < corefile->block_count; i++)
        for (size_t at = 0; at < corefile->blocks[i].directive_count; at++)
            if (text_is(corefile_text(corefile, corefile->blocks[i].directives[at].first), name))
                return;
    struct text hint =
        text_of(arena_printf(advice->linter->arena, "add `%s` to a server block", name));
    corefile_add_warning(advice->linter->problems, "no-plugin", corefile->files[0].path, 0, hint.at,
                         "no server block has `%s`: %s", name, harm);
}

void lint_advise(struct linter *linter, const struct coredns_directives *directives)
{
    struct cluster_zones cluster = {0};
    struct advice advice = {.linter = linter, .directives = directives};
    find_cluster_zones(linter, &cluster);
    check_words(&advice);
    for (size_t i = 0; i < linter->corefile->block_count; i++) {
        advice.block = &linter->corefile->blocks[i];
        if (!linter->options->is_override)
            check_braces(&advice);
        check_zones(&advice);
        check_shadows(&advice, &cluster);
    }
    if (linter->options->is_override || !linter->corefile->block_count)
        return;
    check_presence(&advice, "reload", "an edit only counts after a restart");
    check_presence(&advice, "health", "nothing says whether the process lives");
    check_presence(&advice, "ready", "nothing says whether it can answer");
}
