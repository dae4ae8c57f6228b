#include <stdlib.h>
#include <string.h>

#include "dns/corefile/address.h"
#include "dns/corefile/coredns_word.h"
#include "dns/corefile/setup.h"

// The plugin `rewrite`: [continue|stop] KIND ..., a rule on each line. CoreDNS names no line in
// what it says of them.

enum {
    REGEXP_LEN_MAX = 10000,
    GROUPS_COUNTED = 101, // {0} to {100}
    RCODE_MAX = 23,
    V4_BITS = 32,
    V6_BITS = 128,
};

static const struct coredns_version with_regexp_limit = {1, 14, 0};
static const struct coredns_version with_unset = {1, 12, 3};
static const struct coredns_version with_revert = {1, 11, 4};

// A rule of one kind: what stands behind the kind's name.
struct rule {
    struct setup *setup;
    struct arena *arena;
    const struct text *words;
    size_t count;
};

static const char rule_id[] = "rewrite";

static struct text show_name(const struct rule *rule, struct text name)
{
    return corefile_zone_name(rule->arena, name, false);
}

static struct rule cut_words(const struct rule *rule, size_t count)
{
    struct rule rest = *rule;
    rest.words += count;
    rest.count -= count;
    return rest;
}

// ---- patterns -----------------------------------------------------------------------------------

enum match { MATCH_EXACT, MATCH_PREFIX, MATCH_SUFFIX, MATCH_SUBSTRING, MATCH_REGEX, MATCH_UNKNOWN };

static enum match match_of(struct text word)
{
    static const char *const matches[] = {"exact", "prefix", "suffix", "substring", "regex"};
    size_t at = 0;
    while (at < COUNT_OF(matches) && !text_equal_nocase(word, text_of(matches[at])))
        at++;
    return (enum match)at;
}

// How many of {0} to {100} stand in a replacement.
static unsigned count_used_groups(struct text text)
{
    bool is_used[GROUPS_COUNTED] = {false};
    unsigned count = 0;
    for (size_t at = 0; at < text.len; at++) {
        int64_t number;
        const char *close = text.at[at] == '{' ? memchr(text.at + at, '}', text.len - at) : NULL;
        struct text digits = {text.at + at + 1, close ? (size_t)(close - text.at) - at - 1 : 0};
        bool is_plain = digits.len == 1 || (digits.len > 1 && *digits.at != '0');
        if (!is_plain || *digits.at < '0' || *digits.at > '9' || !text_to_int64(digits, &number) ||
            number >= GROUPS_COUNTED || is_used[number])
            continue;
        is_used[number] = true;
        count++;
    }
    return count;
}

static bool is_too_long(const struct rule *rule, struct text pattern)
{
    return pattern.len > REGEXP_LEN_MAX && !setup_is_before(rule->setup, with_regexp_limit);
}

// What is wrong with a pattern and what is put in the place of its groups. NULL: nothing.
static const char *find_pattern_fault(const struct rule *rule, struct text from, struct text to)
{
    unsigned groups = 0;
    const char *fault;
    if (is_too_long(rule, from))
        return arena_printf(rule->arena, "regex pattern too long: %zu > %d", from.len,
                            REGEXP_LEN_MAX);
    enum go_regexp found = go_regexp_read(rule->arena, from, &groups, &fault);
    if (found == GO_REGEXP_BAD)
        return arena_printf(rule->arena, "invalid regex matching pattern: %.*s", TEXT_ARGS(from));
    if (found == GO_REGEXP_UNKNOWN || count_used_groups(to) <= groups)
        return NULL;
    return arena_printf(rule->arena,
                        "the rewrite regex pattern (%.*s) uses more subexpressions than its "
                        "corresponding matching regex pattern (%.*s)",
                        TEXT_ARGS(to), TEXT_ARGS(from));
}

// The pattern of the kinds that put nothing in its place.
static bool check_lone_pattern(const struct rule *rule, const char *kind, struct text pattern)
{
    unsigned groups;
    const char *fault;
    if (is_too_long(rule, pattern))
        return setup_fail(rule->setup, rule_id, "regex pattern too long in a %s rule: %zu > %d",
                          kind, pattern.len, REGEXP_LEN_MAX);
    return go_regexp_read(rule->arena, pattern, &groups, &fault) != GO_REGEXP_BAD ||
           setup_fail(rule->setup, rule_id, "invalid regex pattern in a %s rule: %.*s", kind,
                      TEXT_ARGS(pattern));
}

// ---- name ---------------------------------------------------------------------------------------

struct answers {
    const char *match;
    bool is_automatic;
    unsigned names;
};

// FROM TO, a pattern and its replacement. *at: behind them.
static bool check_answer_pattern(const struct rule *rule, const struct answers *answers,
                                 struct text kind, size_t *at)
{
    if (rule->count - *at < 2)
        return setup_fail(rule->setup, rule_id,
                          "%.*s answer rule for %s rule: 2 arguments required", TEXT_ARGS(kind),
                          answers->match);
    const char *fault = find_pattern_fault(rule, rule->words[*at], rule->words[*at + 1]);
    *at += 2;
    return !fault || setup_fail(rule->setup, rule_id, "%.*s answer rule for %s rule: %s",
                                TEXT_ARGS(kind), answers->match, fault);
}

static bool check_answer(const struct rule *rule, struct answers *answers, size_t *at)
{
    struct text kind = rule->words[(*at)++];
    if (text_is(kind, "auto")) {
        answers->is_automatic = true;
        return true;
    }
    answers->names += text_is(kind, "name");
    if (text_is(kind, "name") || text_is(kind, "value"))
        return check_answer_pattern(rule, answers, kind, at);
    return setup_fail(rule->setup, rule_id, "invalid type %s for answer rule for %s rule",
                      go_quote(rule->arena, kind), answers->match);
}

// answer auto|(name|value FROM TO)...; the word `answer` may be left out behind the first.
static bool check_answers(const struct rule *rule, struct text match)
{
    struct answers answers = {.match = go_lower(rule->arena, match).at};
    if (rule->count < 2)
        return setup_fail(rule->setup, rule_id, "invalid arguments for %s rule", answers.match);
    for (size_t at = 0; at < rule->count;) {
        bool is_answer = text_is(rule->words[at], "answer");
        if (!at && !is_answer)
            return setup_fail(rule->setup, rule_id,
                              "exceeded the number of arguments for a non-answer rule argument for "
                              "%s rule",
                              answers.match);
        at += is_answer;
        if (at == rule->count)
            return setup_fail(rule->setup, rule_id, "type missing for answer rule for %s rule",
                              answers.match);
        if (!check_answer(rule, &answers, &at))
            return false;
    }
    return !answers.is_automatic || !answers.names ||
           setup_fail(rule->setup, rule_id,
                      "auto name answer rule cannot be combined with explicit name anwer rules");
}

// An exact rule is looked at as if its second name were a pattern for the first.
static bool check_name_pattern(const struct rule *rule, enum match match, struct text from,
                               struct text to)
{
    const char *fault = NULL;
    if (match == MATCH_REGEX)
        fault = find_pattern_fault(rule, from, to);
    else if (match == MATCH_EXACT)
        fault = find_pattern_fault(rule, show_name(rule, to), show_name(rule, from));
    return !fault || setup_fail(rule->setup, rule_id, "%s", fault);
}

static bool check_name(const struct rule *rule)
{
    if (rule->count < 2)
        return setup_fail(rule->setup, rule_id, "too few arguments for a name rule");
    if (rule->count == 2)
        return check_name_pattern(rule, MATCH_EXACT, rule->words[0], rule->words[1]);
    enum match match = match_of(rule->words[0]);
    struct rule answers = cut_words(rule, 3);
    if (answers.count && !check_answers(&answers, rule->words[0]))
        return false;
    if (match != MATCH_UNKNOWN)
        return check_name_pattern(rule, match, rule->words[1], rule->words[2]);
    return setup_fail(rule->setup, rule_id,
                      "name rule supports only exact, prefix, suffix, substring, and regex name "
                      "matching, received: %.*s",
                      TEXT_ARGS(go_lower(rule->arena, rule->words[0])));
}

// ---- class and type -----------------------------------------------------------------------------

static bool check_class(const struct rule *rule)
{
    if (rule->count != 2)
        return setup_fail(rule->setup, rule_id, "class rules must have exactly two arguments");
    for (size_t i = 0; i < rule->count; i++) {
        struct text class = coredns_word_upper(rule->arena, rule->words[i]);
        if (!coredns_is_class(class))
            return setup_fail(rule->setup, rule_id, "invalid class %s",
                              go_quote(rule->arena, class));
    }
    return true;
}

static bool check_type(const struct rule *rule)
{
    if (rule->count != 2)
        return setup_fail(rule->setup, rule_id, "type rules must have exactly two arguments");
    for (size_t i = 0; i < rule->count; i++) {
        struct text type = coredns_word_upper(rule->arena, rule->words[i]);
        if (!coredns_is_type(type, rule->setup->linter->options->version))
            return setup_fail(rule->setup, rule_id, "invalid type %s", go_quote(rule->arena, type));
    }
    return true;
}

// ---- edns0 --------------------------------------------------------------------------------------

// One word more may stand there since there is `revert`.
static bool fail_edns0_count(const struct rule *rule, const char *before, const char *since)
{
    return setup_fail(rule->setup, rule_id, "EDNS0 %s",
                      setup_is_before(rule->setup, with_revert) ? before : since);
}

static bool is_hexadecimal(struct text text, unsigned char *wrong)
{
    for (size_t i = 0; i < text.len; i++)
        if (!strchr("0123456789abcdefABCDEF", text.at[i]) || !text.at[i]) {
            *wrong = (unsigned char)text.at[i];
            return false;
        }
    return true;
}

// "U+0078 'x'", or without the character where it is none to show.
static const char *show_octet(struct arena *arena, unsigned char octet)
{
    if (octet >= ' ' && octet <= '~')
        return arena_printf(arena, "U+%04X '%c'", octet, octet);
    if (octet <= 0xa0 || octet == 0xad)
        return arena_printf(arena, "U+%04X", octet);
    return arena_printf(arena, "U+%04X '%c%c'", octet, 0xc0 | octet >> 6, 0x80 | (octet & 0x3f));
}

// Octets as "0xABCD", or any text.
static bool check_edns0_data(const struct rule *rule, struct text data)
{
    unsigned char wrong = 0;
    if (!text_starts(data, "0x"))
        return true;
    struct text digits = {data.at + 2, data.len - 2};
    if (!is_hexadecimal(digits, &wrong))
        return setup_fail(rule->setup, rule_id, "encoding/hex: invalid byte: %s",
                          show_octet(rule->arena, wrong));
    return digits.len % 2 == 0 ||
           setup_fail(rule->setup, rule_id, "encoding/hex: odd length hex string");
}

// "{qname}", or a label of the plugin metadata: "{NAMESPACE/NAME}".
static bool check_edns0_variable(const struct rule *rule, struct text variable)
{
    static const char *const variables[] = {"{qname}",       "{qtype}",    "{client_ip}",
                                            "{client_port}", "{protocol}", "{server_ip}",
                                            "{server_port}"};
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        if (text_is(variable, variables[i]))
            return true;
    const char *slash = memchr(variable.at, '/', variable.len);
    bool is_label = slash && slash > variable.at + 1 && slash + 2 < variable.at + variable.len;
    return is_label || setup_fail(rule->setup, rule_id, "unsupported variable name %s",
                                  go_quote(rule->arena, variable));
}

static bool check_edns0_code(const struct rule *rule, struct text code)
{
    uint64_t number;
    return go_uint_of_any_base(rule->setup, code, 16, &number);
}

// CODE DATA
static bool check_edns0_local(const struct rule *rule)
{
    if (rule->count != 2)
        return fail_edns0_count(rule, "local rules require exactly three args",
                                "local rules require three or four args");
    struct text data = rule->words[1];
    if (!check_edns0_code(rule, rule->words[0]))
        return false;
    return data.len > 1 && *data.at == '{' && text_ends(data, "}")
               ? check_edns0_variable(rule, data)
               : check_edns0_data(rule, data);
}

static bool check_edns0_nsid(const struct rule *rule)
{
    return !rule->count || fail_edns0_count(rule, "NSID rules do not accept args",
                                            "NSID rules can accept no more than one arg");
}

static bool check_mask(const struct rule *rule, struct text text, const char *family, unsigned most)
{
    uint64_t bits = 0;
    if (!go_uint_of_any_base(rule->setup, text, 16, &bits))
        return false;
    return bits <= most || setup_fail(rule->setup, rule_id, "invalid %s bit mask length %llu",
                                      family, (unsigned long long)bits);
}

// V4LENGTH V6LENGTH
static bool check_edns0_subnet(const struct rule *rule)
{
    if (rule->count != 2)
        return fail_edns0_count(rule, "subnet rules require exactly three args",
                                "subnet rules require three or four args");
    return check_mask(rule, rule->words[0], "IPv4", V4_BITS) &&
           check_mask(rule, rule->words[1], "IPv6", V6_BITS);
}

static const struct edns0_kind {
    const char *name;
    bool (*check)(const struct rule *rule);
    size_t unset_count; // of words behind `unset`
    const char *unset_fault;
} edns0_kinds[] = {
    {"local", check_edns0_local, 1, "local unset action requires exactly two arguments"},
    {"nsid", check_edns0_nsid, 0, "nsid unset action requires exactly one argument"},
    {"subnet", check_edns0_subnet, 0, "subnet unset action requires exactly one argument"},
};

static const struct edns0_kind *find_edns0_kind(struct text name)
{
    for (size_t i = 0; i < COUNT_OF(edns0_kinds); i++)
        if (text_equal_nocase(name, text_of(edns0_kinds[i].name)))
            return &edns0_kinds[i];
    return NULL;
}

static bool check_unset(const struct rule *rule, const struct edns0_kind *kind)
{
    if (rule->count != kind->unset_count)
        return setup_fail(rule->setup, rule_id, "%s", kind->unset_fault);
    return !rule->count || check_edns0_code(rule, rule->words[0]);
}

static bool is_edns0_action(struct text text)
{
    static const char *const actions[] = {"append", "replace", "set"};
    for (size_t i = 0; i < COUNT_OF(actions); i++)
        if (text_equal_nocase(text, text_of(actions[i])))
            return true;
    return false;
}

// KIND ACTION ... [revert]
static bool check_edns0(const struct rule *rule)
{
    if (rule->count < 2)
        return setup_fail(rule->setup, rule_id, "too few arguments for an EDNS0 rule");
    struct text action = rule->words[1];
    bool is_unset =
        text_equal_nocase(action, TEXT("unset")) && !setup_is_before(rule->setup, with_unset);
    if (!is_unset && !is_edns0_action(action))
        return setup_fail(rule->setup, rule_id, "invalid action: %s",
                          go_quote(rule->arena, go_lower(rule->arena, action)));
    const struct edns0_kind *kind = find_edns0_kind(rule->words[0]);
    if (!kind)
        return setup_fail(rule->setup, rule_id, "invalid rule type %s",
                          go_quote(rule->arena, go_lower(rule->arena, rule->words[0])));
    struct rule rest = cut_words(rule, 2);
    if (is_unset)
        return check_unset(&rest, kind);
    if (rest.count && text_is(rest.words[rest.count - 1], "revert") &&
        !setup_is_before(rule->setup, with_revert))
        rest.count--;
    return kind->check(&rest);
}

// ---- ttl, cname, rcode --------------------------------------------------------------------------

static bool is_ttl(const struct rule *rule, struct text text, uint64_t *out)
{
    return !go_uint_error(rule->arena, text, 32, out);
}

// "30", "30-60", "30-", "-60".
static bool is_ttl_range(const struct rule *rule, struct text text)
{
    uint64_t least = 0;
    uint64_t most = INT32_MAX;
    const char *dash = text.len ? memchr(text.at, '-', text.len) : NULL;
    if (!dash)
        return is_ttl(rule, text, &least);
    struct text first = {text.at, (size_t)(dash - text.at)};
    struct text last = {dash + 1, text.len - first.len - 1};
    if ((first.len && !is_ttl(rule, first, &least)) || (last.len && !is_ttl(rule, last, &most)))
        return false;
    return (first.len || last.len) && least <= most;
}

// What ttl and rcode have in front of their values: [MATCH] NAME.
static bool check_matched_name(const struct rule *rule, const char *kind, size_t value_count)
{
    if (rule->count != value_count + 2)
        return true;
    enum match match = match_of(rule->words[0]);
    if (match == MATCH_REGEX)
        return check_lone_pattern(rule, kind, rule->words[1]);
    return match != MATCH_UNKNOWN ||
           setup_fail(rule->setup, rule_id,
                      "%s rule supports only exact, prefix, suffix, substring, and regex name "
                      "matching",
                      kind);
}

// The values of a rule with as many words as it may have, one of them empty otherwise.
static struct text value_of(const struct rule *rule, size_t value_count, size_t at)
{
    bool is_known = rule->count == value_count + 1 || rule->count == value_count + 2;
    return is_known ? rule->words[rule->count - value_count + at] : TEXT("");
}

// [MATCH] NAME TTL
static bool check_ttl(const struct rule *rule)
{
    if (rule->count < 2)
        return setup_fail(rule->setup, rule_id, "too few (%zu) arguments for a ttl rule",
                          rule->count);
    struct text ttl = value_of(rule, 1, 0);
    if (!is_ttl_range(rule, ttl))
        return setup_fail(rule->setup, rule_id, "invalid TTL '%.*s' for a ttl rule",
                          TEXT_ARGS(ttl));
    return check_matched_name(rule, "ttl", 1);
}

// [MATCH] FROM TO
static bool check_cname(const struct rule *rule)
{
    unsigned groups;
    const char *fault;
    if (rule->count == 2)
        return true;
    if (rule->count != 3)
        return setup_fail(rule->setup, rule_id, "too few (%zu) arguments for a cname rule",
                          rule->count);
    enum match match = match_of(rule->words[0]);
    if (match == MATCH_UNKNOWN)
        return setup_fail(rule->setup, rule_id, "unknown cname rewrite type: %.*s",
                          TEXT_ARGS(go_lower(rule->arena, rule->words[0])));
    struct text pattern = go_lower(rule->arena, rule->words[1]);
    if (match != MATCH_REGEX)
        return true;
    if (is_too_long(rule, pattern))
        return setup_fail(rule->setup, rule_id, "regex pattern too long in a cname rule: %zu > %d",
                          pattern.len, REGEXP_LEN_MAX);
    return go_regexp_read(rule->arena, pattern, &groups, &fault) != GO_REGEXP_BAD ||
           setup_fail(rule->setup, rule_id, "invalid cname rewrite regex pattern: %s", fault);
}

static bool is_rcode(const struct rule *rule, struct text text)
{
    uint64_t number;
    return (!go_uint_error(rule->arena, text, 32, &number) && number <= RCODE_MAX) ||
           coredns_is_rcode(coredns_word_upper(rule->arena, text),
                            rule->setup->linter->options->version);
}

// [MATCH] NAME FROM TO
static bool check_rcode(const struct rule *rule)
{
    static const char *const roles[] = {"matching", "replacement"};
    if (rule->count < 3)
        return setup_fail(rule->setup, rule_id, "too few (%zu) arguments for a rcode rule",
                          rule->count);
    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        struct text rcode = value_of(rule, 2, i);
        if (!is_rcode(rule, rcode))
            return setup_fail(rule->setup, rule_id, "invalid %s RCODE '%.*s' for a rcode rule",
                              roles[i], TEXT_ARGS(rcode));
    }
    return check_matched_name(rule, "rcode", 2);
}

// ---- all kinds ----------------------------------------------------------------------------------

static bool check_lone_answer(const struct rule *rule)
{
    return setup_fail(rule->setup, rule_id, "response rewrites must begin with a name rule");
}

static const struct rule_kind {
    const char *name;
    bool (*check)(const struct rule *rule);
    struct coredns_version since;
} rule_kinds[] = {
    {"answer", check_lone_answer, {0}}, {"name", check_name, {0}},
    {"class", check_class, {0}},        {"type", check_type, {0}},
    {"edns0", check_edns0, {0}},        {"ttl", check_ttl, {0}},
    {"cname", check_cname, {1, 11, 0}}, {"rcode", check_rcode, {1, 11, 2}},
};

static const struct rule_kind *find_rule_kind(struct text name)
{
    for (size_t i = 0; i < COUNT_OF(rule_kinds); i++)
        if (text_equal_nocase(name, text_of(rule_kinds[i].name)))
            return &rule_kinds[i];
    return NULL;
}

static bool check_rule(const struct rule *rule)
{
    if (!rule->count)
        return setup_fail(rule->setup, rule_id, "no rule type specified for rewrite");
    struct text mode = go_lower(rule->arena, rule->words[0]);
    bool has_mode = text_is(mode, "continue") || text_is(mode, "stop");
    if (has_mode && rule->count < 2)
        return setup_fail(rule->setup, rule_id, "%.*s rule must begin with a rule type",
                          TEXT_ARGS(mode));
    const struct rule_kind *kind = find_rule_kind(rule->words[has_mode]);
    if (kind && !setup_is_before(rule->setup, kind->since)) {
        struct rule rest = cut_words(rule, 1 + has_mode);
        return kind->check(&rest);
    }
    setup_fail(rule->setup, rule_id, "invalid rule type %s", go_quote(rule->arena, rule->words[0]));
    if (kind)
        setup_hint(rule->setup, "%s needs CoreDNS %u.%u.%u", kind->name, kind->since.major,
                   kind->since.minor, kind->since.patch);
    return false;
}

// A rule of one word goes on in a block.
static struct text *read_words(struct setup *setup, size_t *count)
{
    struct text *words = setup_arguments(setup, count);
    if (*count >= 2)
        return words;
    struct text *all = arena_new_array(setup->linter->arena, struct text, setup->count + 1);
    for (size_t i = 0; i < *count; i++)
        all[i] = words[i];
    while (setup_next_option(setup))
        all[(*count)++] = setup_value(setup);
    return all;
}

static bool check_rewrite(struct setup *setup)
{
    while (setup_next(setup)) {
        struct rule rule = {.setup = setup, .arena = setup->linter->arena};
        rule.words = read_words(setup, &rule.count);
        if (!check_rule(&rule))
            return false;
    }
    return true;
}

const struct checked_plugin rewrite_plugins[] = {
    {.name = "rewrite", .check = check_rewrite},
    {0},
};
