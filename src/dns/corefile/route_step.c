#include <stdlib.h>
#include <string.h>

#include "dns/corefile/corefile_private.h"
#include "dns/corefile/route.h"
#include "dns/rr_type.h"

// What the plugins of a server block do with a query: which of them it concerns, what they answer,
// and which of them pass on what they do not have.

enum { TYPE_ANY = 255 };

struct step_writer {
    struct arena *arena;
    const struct corefile *corefile;
    const struct corefile_query *query;
    const struct corefile_directive *directive;
    struct text *words; // on the line of the directive, its name first
    size_t word_count;
    struct route_step *step;
};

// Which words of a plugin's line are zones. A plugin with zones takes names in them alone.
enum zone_words {
    ZONES_NONE,
    ZONES_FIRST,  // PLUGIN [ZONES...]
    ZONES_ONE,    // PLUGIN ZONE ...
    ZONES_SECOND, // PLUGIN FILE [ZONES...]
    ZONES_THIRD,  // PLUGIN CLASS TYPE [ZONES...]
    ZONES_CACHE,  // PLUGIN [TTL] [ZONES...]
    ZONES_BEFORE, // PLUGIN [ZONES...] FILE
};
enum step_rest {
    REST_PASSES, // what it does not answer goes on
    REST_ENDS,   // the query ends here, unless the option `fallthrough` has the name
};

struct plugin_row {
    const char *name;
    const char *text; // NULL: nothing that the answer shows
    enum zone_words zones;
    enum step_rest rest;
    bool is_setting; // handles no query
    // False: the query passes it by. Fills in what the row does not say.
    bool (*look)(struct step_writer *writer);
};

// ---- options ------------------------------------------------------------------------------------

// The place of a token in the options behind a directive that begins a line with that word, from
// `from` on; 0: there is none.
static uint32_t find_option(const struct step_writer *writer, const char *name, uint32_t from)
{
    const struct corefile_token *tokens = writer->corefile->tokens + writer->directive->first;
    for (uint32_t at = from; at < writer->directive->count; at++)
        if (corefile_starts_line(&tokens[at - 1], &tokens[at]) &&
            text_is(token_text(&tokens[at]), name))
            return at;
    return 0;
}

// The words behind that token on its line.
static struct text *words_behind(const struct step_writer *writer, uint32_t at, size_t *count)
{
    const struct corefile_token *tokens = writer->corefile->tokens + writer->directive->first;
    struct text *words = arena_new_array(writer->arena, struct text, writer->directive->count);
    *count = 0;
    for (at++; at < writer->directive->count && !corefile_starts_line(&tokens[at - 1], &tokens[at]);
         at++) {
        struct text word = token_text(&tokens[at]);
        if (text_is(word, "{") || text_is(word, "}"))
            break;
        words[(*count)++] = word;
    }
    return words;
}

// ---- zones --------------------------------------------------------------------------------------

// The longest zone among the words that has the name; absent: none has.
static struct text find_zone(const struct step_writer *writer, const struct text *words,
                             size_t count)
{
    struct text found = {0};
    for (size_t i = 0; i < count; i++) {
        struct corefile_address address;
        if (corefile_address_read(writer->arena, words[i], &address))
            continue;
        for (size_t at = 0; at < address.zone_count; at++) {
            struct text zone = corefile_zone_name(writer->arena, address.zones[at], false);
            if (corefile_zone_has(zone, writer->query->name) && zone.len > found.len)
                found = zone;
        }
    }
    return found;
}

static bool is_number(struct text text)
{
    int64_t number;
    return text_to_int64(text, &number);
}

static void select_zone_words(const struct step_writer *writer, enum zone_words form, size_t *first,
                              size_t *end)
{
    static const size_t firsts[] = {
        [ZONES_FIRST] = 1, [ZONES_ONE] = 1,   [ZONES_SECOND] = 2,
        [ZONES_THIRD] = 3, [ZONES_CACHE] = 1, [ZONES_BEFORE] = 1,
    };
    size_t count = writer->word_count;
    *first = firsts[form];
    *end = count;
    if (form == ZONES_CACHE && count > 1 && is_number(writer->words[1]))
        *first = 2;
    if (form == ZONES_ONE && count > 2)
        *end = 2;
    if (form == ZONES_BEFORE && count > 1)
        *end = count - 1;
}

// False: the plugin has zones, and the name lies in none of them.
static bool has_name(const struct step_writer *writer, enum zone_words form)
{
    size_t first;
    size_t end;
    if (form == ZONES_NONE)
        return true;
    select_zone_words(writer, form, &first, &end);
    if (first >= end)
        return true;
    writer->step->zone = find_zone(writer, writer->words + first, end - first);
    return writer->step->zone.len > 0;
}

static bool falls_through(const struct step_writer *writer)
{
    size_t count;
    uint32_t at = find_option(writer, "fallthrough", 1);
    if (!at)
        return false;
    struct text *zones = words_behind(writer, at, &count);
    return !count || find_zone(writer, zones, count).len;
}

// ---- plugins ------------------------------------------------------------------------------------

static struct text word_at(const struct step_writer *writer, size_t index)
{
    return index < writer->word_count ? writer->words[index] : TEXT("");
}

static bool is_type_of_query(const struct step_writer *writer, struct text type)
{
    uint16_t number;
    return text_equal_nocase(type, TEXT("ANY")) || writer->query->type == TYPE_ANY ||
           (rr_type_read(type, &number) && number == writer->query->type);
}

// A template without `match` takes each name of its zones; a later template may have the answer.
static bool look_at_template(struct step_writer *writer)
{
    struct text class = word_at(writer, 1);
    bool is_of_class =
        text_equal_nocase(class, TEXT("IN")) || text_equal_nocase(class, TEXT("ANY"));
    bool has_match = find_option(writer, "match", 1);
    writer->step->is_last = !has_match || !falls_through(writer);
    if (has_match)
        writer->step->text = "answers from its template if the name matches it";
    return is_of_class && is_type_of_query(writer, word_at(writer, 2));
}

static bool look_at_any(struct step_writer *writer)
{
    writer->step->is_last = true;
    return writer->query->type == TYPE_ANY;
}

static bool look_at_dns64(struct step_writer *writer)
{
    return writer->query->type == RR_AAAA;
}

static bool look_at_kubernetes(struct step_writer *writer)
{
    if (text_ends(writer->step->zone, "arpa."))
        writer->step->text = "answers for addresses of Services and Pods of the cluster";
    return true;
}

static bool look_at_file(struct step_writer *writer)
{
    writer->step->text = arena_printf(writer->arena, "answers from the zone file %.*s",
                                      TEXT_ARGS(word_at(writer, 1)));
    return true;
}

// Names of addresses that it does not have go on in any case.
static bool look_at_hosts(struct step_writer *writer)
{
    struct text path = writer->word_count > 1 ? writer->words[1] : TEXT("/etc/hosts");
    if (writer->query->type == RR_PTR)
        writer->step->is_last = false;
    writer->step->text = arena_printf(
        writer->arena, "answers for the hosts that it lists and those of %.*s", TEXT_ARGS(path));
    return true;
}

static const char *policy_text(const struct step_writer *writer)
{
    static const struct {
        const char *name;
        const char *text;
    } policies[] = {
        {"random", "one of them at random"},
        {"round_robin", "one after the other in turn"},
        {"sequential", "the first of them that is healthy"},
    };
    size_t count = 0;
    uint32_t at = find_option(writer, "policy", 1);
    struct text *words = at ? words_behind(writer, at, &count) : NULL;
    for (size_t i = 0; count && i < COUNT_OF(policies); i++)
        if (text_is(words[0], policies[i].name))
            return policies[i].text;
    return policies[0].text;
}

static void write_upstreams(struct buffer *out, const struct route_step *step)
{
    for (size_t i = 0; i < step->upstream_count; i++) {
        const char *before = !i ? "" : i + 1 < step->upstream_count ? ", " : " and ";
        bool is_file = step->upstreams[i].len && *step->upstreams[i].at == '/';
        buffer_printf(out, "%s%s%.*s", before, is_file ? "the name servers in " : "",
                      TEXT_ARGS(step->upstreams[i]));
    }
}

// FROM itself goes on whatever `except` says.
static bool is_excepted(const struct step_writer *writer)
{
    if (text_equal(writer->query->name, writer->step->zone))
        return false;
    for (uint32_t at = find_option(writer, "except", 1); at;
         at = find_option(writer, "except", at + 1)) {
        size_t count;
        struct text *zones = words_behind(writer, at, &count);
        if (find_zone(writer, zones, count).len)
            return true;
    }
    return false;
}

static bool look_at_forward(struct step_writer *writer)
{
    AUTO_BUFFER text = {0};
    struct route_step *step = writer->step;
    step->upstreams = writer->words + 2;
    step->upstream_count = writer->word_count > 2 ? writer->word_count - 2 : 0;
    buffer_add_text(&text, "sends the query to ");
    write_upstreams(&text, step);
    if (step->upstream_count > 1)
        buffer_printf(&text, ", %s", policy_text(writer));
    step->text = arena_copy(writer->arena, text.at, text.len);
    return !is_excepted(writer);
}

// Sorted by name. A plugin without a row is shown as one that is not known here.
static const struct plugin_row rows[] = {
    {.name = "acl", .text = "may refuse the query for its client's address", .zones = ZONES_FIRST},
    {.name = "any", .text = "answers with a hint alone", .look = look_at_any},
    {.name = "auto", .text = "answers from its folder of zone files", .zones = ZONES_FIRST},
    {.name = "autopath",
     .text = "tries the search path of the client on its behalf",
     .zones = ZONES_BEFORE},
    {.name = "azure", .text = "answers if one of its hosted zones has the name"},
    {.name = "bind", .is_setting = true},
    {.name = "bufsize"},
    {.name = "cache",
     .text = "answers from memory what it has from an earlier query",
     .zones = ZONES_CACHE},
    {.name = "cancel"},
    {.name = "chaos", .text = "answers queries of the class CH for version.bind and the like"},
    {.name = "clouddns", .text = "answers if one of its hosted zones has the name"},
    {.name = "debug", .is_setting = true},
    {.name = "dns64",
     .text = "makes AAAA records of A records where the name has none",
     .look = look_at_dns64},
    {.name = "dnssec", .text = "signs what the plugins behind it answer", .zones = ZONES_FIRST},
    {.name = "dnstap"},
    {.name = "erratic", .text = "drops, delays or truncates answers on purpose", .rest = REST_ENDS},
    {.name = "errors"},
    {.name = "etcd", .text = "answers from etcd", .zones = ZONES_FIRST, .rest = REST_ENDS},
    {.name = "file", .zones = ZONES_SECOND, .rest = REST_ENDS, .look = look_at_file},
    {.name = "forward", .zones = ZONES_ONE, .rest = REST_ENDS, .look = look_at_forward},
    {.name = "geoip"},
    {.name = "grpc", .zones = ZONES_ONE, .rest = REST_ENDS, .look = look_at_forward},
    {.name = "grpc_server", .is_setting = true},
    {.name = "header"},
    {.name = "health", .is_setting = true},
    {.name = "hosts", .zones = ZONES_SECOND, .rest = REST_ENDS, .look = look_at_hosts},
    {.name = "https", .is_setting = true},
    {.name = "https3", .is_setting = true},
    {.name = "k8s_external",
     .text = "answers for Services that have an external address",
     .zones = ZONES_FIRST,
     .rest = REST_ENDS},
    {.name = "kubernetes",
     .text = "answers for Services and Pods of the cluster",
     .zones = ZONES_FIRST,
     .rest = REST_ENDS,
     .look = look_at_kubernetes},
    {.name = "loadbalance"},
    {.name = "local", .text = "answers for names of the machine itself, such as localhost"},
    {.name = "log"},
    {.name = "loop"},
    {.name = "metadata"},
    {.name = "minimal"},
    {.name = "multisocket", .is_setting = true},
    {.name = "nomad", .text = "answers for services of Nomad"},
    {.name = "nsid"},
    {.name = "on", .is_setting = true},
    {.name = "pprof", .is_setting = true},
    {.name = "prometheus"},
    {.name = "proxyproto", .is_setting = true},
    {.name = "quic", .is_setting = true},
    {.name = "ready", .is_setting = true},
    {.name = "reload", .is_setting = true},
    {.name = "rewrite",
     .text = "may change the query, for which no other server block is looked for then"},
    {.name = "root", .is_setting = true},
    {.name = "route53", .text = "answers if one of its hosted zones has the name"},
    {.name = "secondary",
     .text = "answers from the zone that it has transferred",
     .zones = ZONES_FIRST,
     .rest = REST_ENDS},
    {.name = "shed"},
    {.name = "sign", .is_setting = true},
    {.name = "template",
     .text = "answers from its template",
     .zones = ZONES_THIRD,
     .look = look_at_template},
    {.name = "timeouts", .is_setting = true},
    {.name = "tls", .is_setting = true},
    {.name = "trace"},
    {.name = "transfer"},
    {.name = "tsig", .text = "may refuse the query for its signature", .zones = ZONES_FIRST},
    {.name = "view"},
    {.name = "whoami", .text = "answers with the address of the client", .rest = REST_ENDS},
};
static const struct plugin_row unknown_row = {
    .text = "is not known here, and may answer the query or pass it on",
};

static int compare_row(const void *key, const void *row)
{
    return text_compare(*(const struct text *)key, text_of(((const struct plugin_row *)row)->name));
}

static const struct plugin_row *find_row(struct text name)
{
    const struct plugin_row *row = bsearch(&name, rows, COUNT_OF(rows), sizeof *rows, compare_row);
    return row ? row : &unknown_row;
}

// ---- all of them --------------------------------------------------------------------------------

static int compare_directives(const void *a, const void *b)
{
    const struct corefile_directive *left = *(const struct corefile_directive *const *)a;
    const struct corefile_directive *right = *(const struct corefile_directive *const *)b;
    if (left->place != right->place)
        return left->place < right->place ? -1 : 1;
    return left->first < right->first ? -1 : left->first > right->first;
}

static const struct corefile_directive **sort_directives(struct arena *arena,
                                                         const struct corefile_block *block)
{
    const struct corefile_directive **sorted =
        arena_new_array(arena, const struct corefile_directive *, block->directive_count + 1);
    for (size_t i = 0; i < block->directive_count; i++)
        sorted[i] = &block->directives[i];
    if (block->directive_count)
        qsort(sorted, block->directive_count, sizeof *sorted, compare_directives);
    return sorted;
}

// False: the query passes the plugin by.
static bool find_step(struct step_writer *writer, const struct plugin_row *row)
{
    struct route_step *step = writer->step;
    writer->words = words_behind(writer, 0, &writer->word_count);
    memmove(writer->words + 1, writer->words, writer->word_count * sizeof *writer->words);
    writer->words[0] = corefile_text(writer->corefile, writer->directive->first);
    writer->word_count++;
    *step = (struct route_step){
        .plugin = writer->words[0], .token = writer->directive->first, .text = row->text};
    if (!has_name(writer, row->zones))
        return false;
    step->is_last = row->rest == REST_ENDS && !falls_through(writer);
    return (!row->look || row->look(writer)) && step->text;
}

void corefile_find_steps(struct arena *arena, const struct corefile *corefile,
                         const struct corefile_block *block, const struct corefile_query *query,
                         struct route_steps *out)
{
    const struct corefile_directive **sorted = sort_directives(arena, block);
    struct step_writer writer = {.arena = arena, .corefile = corefile, .query = query};
    *out = (struct route_steps){
        .items = arena_new_array(arena, struct route_step, block->directive_count + 1),
        .end = ROUTE_ENDS_REFUSED,
    };
    for (size_t i = 0; i < block->directive_count && out->end != ROUTE_ENDS_ANSWERED; i++) {
        const struct plugin_row *row = find_row(corefile_text(corefile, sorted[i]->first));
        if (row->is_setting)
            continue;
        out->end = ROUTE_ENDS_FAILED;
        writer.directive = sorted[i];
        writer.step = &out->items[out->count];
        if (!find_step(&writer, row))
            continue;
        out->count++;
        if (writer.step->is_last)
            out->end = ROUTE_ENDS_ANSWERED;
    }
}
