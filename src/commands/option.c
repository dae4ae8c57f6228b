#include "commands/option.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "base/must.h"
#include "base/url.h"
#include "base/value.h"
#include "base/when.h"
#include "commands/settings.h"
#include "commands/subject.h"
#include "io/disk.h"

#define DNS_LABEL "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"

enum { CONFIG_OCTETS_MAX = 1 << 20, NAMES_MAX = 256 };

void option_write_variable(struct buffer *out, const struct option *option)
{
    buffer_add_text(out, "SIGNPOST_");
    for (const char *at = option->name; *at; at++)
        buffer_add_char(out, *at == '-' ? '_' : (char)toupper((unsigned char)*at));
}

void option_write_value(struct buffer *out, const struct option *option)
{
    if (option->type == OPTION_FLAG)
        return;
    for (const char *const *choice = option->choices; choice && *choice; choice++)
        buffer_printf(out, "%s%s", choice == option->choices ? "" : "|", *choice);
    if (!option->choices)
        buffer_add_text(out, option->placeholder);
}

// ---- tables -------------------------------------------------------------------------------------

enum { OWN = 1, COMMON = 2, ALL = OWN | COMMON };

static size_t add_group(struct invocation *out, const struct option_group *group, unsigned wanted)
{
    if (!(wanted & (group->is_common ? COMMON : OWN)))
        return 0;
    for (size_t i = 0; out->values && i < group->count; i++)
        out->values[out->value_count++].option = &group->items[i];
    return group->count;
}

const struct option subject_options[SUBJECT_GROUPS] = {0};

static size_t add_subjects(struct invocation *out, size_t of, bool is_common, unsigned wanted)
{
    size_t count = 0;
    for (size_t i = 0; i < subject_count; i++) {
        struct option_group group = subjects[i]->options[of];
        group.is_common = is_common;
        count += add_group(out, &group, wanted);
    }
    return count;
}

static size_t add_groups(struct invocation *out, const struct option_group *group, unsigned wanted)
{
    for (size_t of = 0; of < SUBJECT_GROUPS; of++)
        if (group->items == &subject_options[of])
            return add_subjects(out, of, group->is_common, wanted);
    return add_group(out, group, wanted);
}

static void collect(struct invocation *out, const struct command *command, unsigned wanted)
{
    struct option_group settings = {0};
    size_t count = 0;
    if (command->has_settings)
        settings = settings_options(out->arena);
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            out->values = arena_new_array(out->arena, struct option_value, count + 1);
        for (size_t g = 0; g < OPTION_GROUPS_MAX; g++)
            count += add_groups(out, &command->groups[g], wanted);
        count += add_group(out, &settings, wanted);
    }
}

static const struct option **list_options(struct arena *arena, const struct command *command,
                                          unsigned wanted, size_t *count)
{
    struct invocation all = {.arena = arena};
    collect(&all, command, wanted);
    const struct option **options =
        arena_new_array(arena, const struct option *, all.value_count + 1);
    for (size_t i = 0; i < all.value_count; i++)
        options[i] = all.values[i].option;
    *count = all.value_count;
    return options;
}

const struct option **command_options(struct arena *arena, const struct command *command,
                                      size_t *count)
{
    return list_options(arena, command, ALL, count);
}

const struct option **command_options_of(struct arena *arena, const struct command *command,
                                         bool is_common, size_t *count)
{
    return list_options(arena, command, is_common ? COMMON : OWN, count);
}

static struct option_value *find(const struct invocation *invocation, struct text name)
{
    for (size_t i = 0; i < invocation->value_count; i++) {
        const struct option *option = invocation->values[i].option;
        if (text_is(name, option->name) || (option->alias && text_is(name, option->alias)))
            return &invocation->values[i];
    }
    return NULL;
}

static const struct option_value *get(const struct invocation *invocation, const char *name)
{
    const struct option_value *value = find(invocation, text_of(name));
    must(value != NULL);
    return value;
}

// ---- checking -----------------------------------------------------------------------------------

static const char *find_choice(const struct option *option, struct text text)
{
    for (const char *const *choice = option->choices; *choice; choice++)
        if (text_is(text, *choice) ||
            (option->is_any_case && text_equal_nocase(text, text_of(*choice))))
            return *choice;
    return NULL;
}

static bool check_choice(const struct option *option, struct text text, struct error *err)
{
    AUTO_BUFFER all = {0};
    if (find_choice(option, text))
        return true;
    for (const char *const *choice = option->choices; *choice; choice++)
        buffer_printf(&all, "%s%s", all.len ? ", " : "", *choice);
    return error_set(err, FAULT_SPEC, "", "expected one of %s", all.at);
}

static bool check_bounds(const struct option *option, int64_t number, struct error *err)
{
    if (number >= option->min && (!option->max || number <= option->max))
        return true;
    if (option->type == OPTION_DURATION) {
        char least[WHEN_TEXT_MAX];
        duration_write(option->min, least);
        return error_set(err, FAULT_SPEC, "", "must be at least %s", least);
    }
    if (!option->max)
        return error_set(err, FAULT_SPEC, "", "must be at least %lld", (long long)option->min);
    return error_set(err, FAULT_SPEC, "", "must be between %lld and %lld", (long long)option->min,
                     (long long)option->max);
}

static bool check_number(const struct option *option, struct text text, struct error *err)
{
    int64_t number;
    if (option->type == OPTION_DURATION) {
        if (!duration_parse(text, &number, err))
            return false;
    } else if (!text_to_int64(text, &number)) {
        return error_set(err, FAULT_SPEC, "", "expected a whole number");
    }
    return check_bounds(option, number, err);
}

static bool check(const struct option *option, const char *given, struct error *err)
{
    struct hostport at;
    struct text text = text_of(given);
    switch (option->type) {
    case OPTION_FLAG:
        if (text_is(text, "true") || text_is(text, "false"))
            return true;
        return error_set(err, FAULT_SPEC, "", "expected true or false");
    case OPTION_INT:
    case OPTION_DURATION:
        return check_number(option, text, err);
    case OPTION_CHOICE:
        return check_choice(option, text, err);
    case OPTION_ADDRESS:
        return text_is(text, "0") || hostport_parse(&at, text, 0, false, err);
    case OPTION_TEXT:
    case OPTION_LIST:
        return true;
    }
    return true;
}

static bool set(struct invocation *out, struct option_value *value, const char *text,
                const char *source, struct error *err)
{
    if (!check(value->option, text, err))
        return error_prefix(err, "%s: \"%s\": ", source, text);
    if (value->option->type == OPTION_CHOICE)
        text = find_choice(value->option, text_of(text));
    bool adds = value->option->type == OPTION_LIST && value->text && value->source == source;
    value->text = adds ? arena_printf(out->arena, "%s,%s", value->text, text) : text;
    value->source = source;
    return true;
}

// ---- sources ------------------------------------------------------------------------------------

// What users of external-dns, kubectl and controller-runtime type, and what is meant by it here.
static const struct {
    const char *flag;
    const char *advice;
} others[] = {
    {"dry-run", "`signpost plan` shows what would be done"},
    {"once", "`signpost plan apply` does the changes of one plan"},
    {"interval", "changes act at once; --sync-period says how often all is looked at again"},
    {"events", "changes act at once"},
    {"source", "--controllers says what is looked at"},
    {"provider", "a DNSClass names the server; `signpost provider` is one"},
    {"webhook-provider-url", "spec.server of a DNSClass is the provider's URL"},
    {"registry", "what is ours is known by the objects' status; --owner-id says whose it is"},
    {"txt-owner-id", "--owner-id says whose it is"},
    {"txt-prefix", "what is ours is known by the objects' status, not by TXT records"},
    {"txt-suffix", "what is ours is known by the objects' status, not by TXT records"},
    {"policy", "spec.deletionPolicy: Retain of a DNSRecord keeps what it published"},
    {"domain-filter", "spec.domains of a DNSClass says which domains it serves"},
    {"managed-record-types", "each DNSRecord says its type"},
    {"metrics-address", "--metrics-bind-address ADDR:PORT"},
    {"selector", "--output json shows all, for jq"},
    {"label-filter", "--namespaces NAMES looks at some namespaces alone"},
    {"annotation-filter", "--namespaces NAMES looks at some namespaces alone"},
    {"recursive", "folders are read with all that is in them"},
    {"server", "the kubeconfig names the server"},
    {"token", "the kubeconfig holds the credential"},
    {"as", "the kubeconfig says as whom"},
    {"user", "the kubeconfig says as whom; --context chooses"},
    {"cluster", "--context chooses"},
    {"verbose", "--log-level debug says more"},
    {"v", "--log-level debug says more"},
    {"zap-log-level", "--log-level debug says more"},
    {"zap-devel", "--log-format text, --log-level debug"},
    {"sort-by", "--output json shows all, for jq"},
    {"l", "--output json shows all, for jq"},
    {"R", "folders are read with all that is in them"},
    {"k", "`kubectl kustomize DIR | signpost check -f -`"},
    {"kustomize", "`kubectl kustomize DIR | signpost check -f -`"},
    {"metrics-addr", "--metrics-bind-address ADDR:PORT"},
    {"health-addr", "--health-probe-bind-address ADDR:PORT"},
    {"enable-leader-election", "--leader-elect"},
    {"wait", "`kubectl wait --for=condition=Ready` does"},
};

static const char *find_advice(struct text name)
{
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (text_is(name, others[i].flag))
            return others[i].advice;
    return NULL;
}

static bool unknown_flag(const struct invocation *out, struct text name, struct error *err)
{
    const char *advice = find_advice(name);
    if (advice)
        return error_set(err, FAULT_SPEC, "", "unknown flag --%.*s: %s", TEXT_ARGS(name), advice);
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < out->value_count && count < NAMES_MAX; i++)
        names[count++] = out->values[i].option->name;
    const char *nearest = text_nearest(name, names, count);
    if (nearest)
        return error_set(err, FAULT_SPEC, "", "unknown flag --%.*s; did you mean --%s?",
                         TEXT_ARGS(name), nearest);
    return error_set(err, FAULT_SPEC, "", "unknown flag --%.*s; `signpost help %s` lists them",
                     TEXT_ARGS(name), out->command->name);
}

// Of an option that stands at words[*at]; `inner` is what stands behind its equals sign.
static bool take_value(struct invocation *out, struct option_value *value, const char *inner,
                       int count, char **words, int *at, struct error *err)
{
    const char *source =
        value->source ? value->source : arena_printf(out->arena, "flag --%s", value->option->name);
    if (inner)
        return set(out, value, inner, source, err);
    if (value->option->type == OPTION_FLAG)
        return set(out, value, "true", source, err);
    if (*at + 1 >= count) {
        AUTO_BUFFER expected = {0};
        option_write_value(&expected, value->option);
        return error_set(err, FAULT_SPEC, "", "flag --%s: expects %s", value->option->name,
                         buffer_text(&expected).at);
    }
    return set(out, value, words[++*at], source, err);
}

static bool take_flag(struct invocation *out, int count, char **words, int *at, struct error *err)
{
    struct text rest = text_of(words[*at] + 2);
    struct text name;
    text_cut(&rest, '=', &name);
    if (text_is(name, "help")) {
        out->wants_help = true;
        return true;
    }
    struct option_value *value = find(out, name);
    return value ? take_value(out, value, rest.at, count, words, at, err)
                 : unknown_flag(out, name, err);
}

static struct option_value *find_letter(const struct invocation *out, char letter)
{
    for (size_t i = 0; i < out->value_count; i++)
        if (out->values[i].option->letter == letter)
            return &out->values[i];
    return NULL;
}

static bool unknown_letter(const struct invocation *out, const char *word, char letter,
                           struct error *err)
{
    const char *advice = find_advice((struct text){&letter, 1});
    if (advice)
        return error_set(err, FAULT_SPEC, "", "unknown flag -%c: %s", letter, advice);
    return error_set(err, FAULT_SPEC, "", "unknown flag %s; `signpost help %s` lists them", word,
                     out->command->name);
}

// "-o json", "-ojson", "-o=json", "-Aw".
static bool take_letters(struct invocation *out, int count, char **words, int *at,
                         struct error *err)
{
    const char *word = words[*at];
    for (const char *letter = word + 1; *letter; letter++) {
        struct option_value *value = find_letter(out, *letter);
        if (!value)
            return unknown_letter(out, word, *letter, err);
        if (value->option->type != OPTION_FLAG) {
            const char *inner = letter[1] == '=' ? letter + 2 : letter + 1;
            return take_value(out, value, letter[1] ? inner : NULL, count, words, at, err);
        }
        if (!take_value(out, value, NULL, count, words, at, err))
            return false;
    }
    return true;
}

static bool take_words(struct invocation *out, int count, char **words, struct error *err)
{
    bool is_behind = false;
    out->arguments = arena_new_array(out->arena, const char *, (size_t)count + 1);
    for (int i = 0; i < count; i++) {
        if (!is_behind && !strcmp(words[i], "--")) {
            is_behind = true;
        } else if (!is_behind && !strcmp(words[i], "-h")) {
            out->wants_help = true;
        } else if (!is_behind && !strncmp(words[i], "--", 2)) {
            if (!take_flag(out, count, words, &i, err))
                return false;
        } else if (!is_behind && words[i][0] == '-' && words[i][1]) {
            if (!take_letters(out, count, words, &i, err))
                return false;
        } else {
            out->arguments[out->argument_count++] = words[i];
        }
    }
    if (out->argument_count && !out->command->positional && !out->wants_help)
        return error_set(err, FAULT_SPEC, "",
                         "unexpected argument %s; `signpost help %s` lists options",
                         out->arguments[0], out->command->name);
    return true;
}

static bool take_variable(struct invocation *out, struct option_value *value, const char *name,
                          struct error *err)
{
    const char *text = getenv(name);
    if (value->text || !text || !*text)
        return true;
    return set(out, value, text, arena_printf(out->arena, "environment %s", name), err);
}

static bool take_environment(struct invocation *out, struct error *err)
{
    for (size_t i = 0; i < out->value_count; i++) {
        struct option_value *value = &out->values[i];
        AUTO_BUFFER name = {0};
        option_write_variable(&name, value->option);
        if (!take_variable(out, value, name.at, err) ||
            (value->option->variable && !take_variable(out, value, value->option->variable, err)))
            return false;
    }
    return true;
}

// What -f names stands behind the other arguments.
static void add_filenames(struct invocation *out)
{
    const char **names;
    const struct option_value *filename = find(out, TEXT("filename"));
    size_t count = filename && filename->text ? option_list(out, "filename", &names) : 0;
    if (!count)
        return;
    size_t all = out->argument_count + count;
    const char **arguments = arena_new_array(out->arena, const char *, all + 1);
    for (size_t i = 0; i < all; i++)
        arguments[i] = i < out->argument_count ? out->arguments[i] : names[i - out->argument_count];
    out->arguments = arguments;
    out->argument_count = all;
}

static bool take_paths(struct invocation *out, struct error *err)
{
    add_filenames(out);
    const char *name = out->command->path_option;
    struct option_value *value = name ? find(out, text_of(name)) : NULL;
    if (!value || !out->argument_count)
        return true;
    if (out->argument_count > 1)
        return error_set(err, FAULT_SPEC, "",
                         "one folder is expected, and %s is another; `signpost check` takes many",
                         out->arguments[1]);
    if (value->text && text_starts(text_of(value->source), "flag"))
        return error_set(err, FAULT_SPEC, "", "give --%s or %s, not both", name, out->arguments[0]);
    value->text = out->arguments[0];
    value->source = arena_printf(out->arena, "argument %s", out->arguments[0]);
    return true;
}

static const char *config_scalar(struct invocation *out, const struct value *item)
{
    switch (item->type) {
    case VALUE_TEXT:
        return arena_copy(out->arena, item->text.at, item->text.len);
    case VALUE_BOOL:
        return item->boolean ? "true" : "false";
    case VALUE_INT:
        return arena_printf(out->arena, "%lld", (long long)item->integer);
    case VALUE_FLOAT:
    case VALUE_NULL:
    case VALUE_LIST:
    case VALUE_MAP:
        break;
    }
    return NULL;
}

static const char *config_text(struct invocation *out, const struct value *item)
{
    struct buffer joined = {0};
    if (item->type != VALUE_LIST)
        return config_scalar(out, item);
    value_each (entry, item) {
        const char *text = config_scalar(out, entry);
        if (text)
            buffer_printf(&joined, "%s%s", joined.len ? "," : "", text);
    }
    const char *copy = arena_copy_text(out->arena, buffer_text(&joined).at);
    buffer_done(&joined);
    return copy;
}

static bool take_config_key(struct invocation *out, const char *path, const struct value *item,
                            struct error *err)
{
    struct option_value *value = find(out, item->key);
    const char *text = config_text(out, item);
    if (!value) {
        unknown_flag(out, item->key, err);
        return error_prefix(err, "%s:%u:%u: ", path, item->key_line, item->key_column);
    }
    const char *source = arena_printf(out->arena, "%s:%u:%u: %s", path, item->key_line,
                                      item->key_column, value->option->name);
    if (!text)
        return error_set(err, FAULT_SPEC, "", "%s: expected text, a number or a list", source);
    return value->text || set(out, value, text, source, err);
}

static bool take_config(struct invocation *out, struct error *err)
{
    const struct option_value *config = find(out, TEXT("config"));
    if (!config || !config->text)
        return true;
    AUTO_BUFFER content = {0};
    struct value *tree = NULL;
    bool has;
    if (!disk_read(&content, config->text, CONFIG_OCTETS_MAX, err))
        return false;
    const char *kept = arena_copy(out->arena, content.at ? content.at : "", content.len);
    CLEANUP(yaml_reader)
    struct yaml_reader *reader =
        yaml_reader_new((struct text){kept, content.len}, &value_manifest_limits);
    if (!yaml_reader_next(reader, out->arena, &tree, &has, err))
        return error_prefix(err, "%s:", config->text);
    if (!has || !tree || tree->type == VALUE_NULL)
        return true;
    if (tree->type != VALUE_MAP)
        return error_set(err, FAULT_SPEC, "", "%s: expected a map of options", config->text);
    value_each (item, tree)
        if (!take_config_key(out, config->text, item, err))
            return false;
    return true;
}

static void take_fallbacks(struct invocation *out)
{
    for (size_t i = 0; i < out->value_count; i++) {
        struct option_value *value = &out->values[i];
        if (value->text)
            continue;
        value->text = value->option->fallback;
        value->source = "default";
    }
}

bool invocation_parse(struct invocation *out, struct arena *arena, const struct command *command,
                      int count, char **words, struct error *err)
{
    *out = (struct invocation){.command = command, .arena = arena};
    collect(out, command, ALL);
    if (!take_words(out, count, words, err))
        return false;
    if (out->wants_help)
        return true;
    if (!take_environment(out, err) || !take_paths(out, err) || !take_config(out, err))
        return false;
    take_fallbacks(out);
    return true;
}

// ---- asking -------------------------------------------------------------------------------------

const char *option_text(const struct invocation *invocation, const char *name)
{
    return get(invocation, name)->text;
}

bool option_is_declared(const struct invocation *invocation, const char *name)
{
    return find(invocation, text_of(name)) != NULL;
}

bool option_is_set(const struct invocation *invocation, const char *name)
{
    return strcmp(get(invocation, name)->source, "default") != 0;
}

const char *option_source(const struct invocation *invocation, const char *name)
{
    return get(invocation, name)->source;
}

bool option_blame(const struct invocation *invocation, const char *name, const char *given,
                  struct error *err)
{
    return error_prefix(err, "%s: \"%s\": ", option_source(invocation, name), given);
}

bool option_check_namespace(const struct invocation *invocation, const char *option,
                            const char *name, struct error *err)
{
    if (kind_pattern_matches(NULL, DNS_LABEL, text_of(name)))
        return true;
    error_set(err, FAULT_SPEC, "", "a name has at most 63 of a-z, 0-9 and -");
    return option_blame(invocation, option, name, err);
}

bool option_flag(const struct invocation *invocation, const char *name)
{
    const char *text = option_text(invocation, name);
    return text && !strcmp(text, "true");
}

int64_t option_int(const struct invocation *invocation, const char *name)
{
    int64_t number = 0;
    const char *text = option_text(invocation, name);
    must(!text || text_to_int64(text_of(text), &number));
    return number;
}

int64_t option_ms(const struct invocation *invocation, const char *name)
{
    int64_t ms = 0;
    const char *text = option_text(invocation, name);
    must(!text || duration_parse(text_of(text), &ms, NULL));
    return ms;
}

size_t option_list(const struct invocation *invocation, const char *name, const char ***items)
{
    size_t count = 0;
    struct text rest = text_of(option_text(invocation, name));
    struct text piece;
    const char **list = arena_new_array(invocation->arena, const char *, rest.len + 2);
    while (text_cut(&rest, ',', &piece)) {
        piece = text_trim(piece);
        if (piece.len)
            list[count++] = arena_copy(invocation->arena, piece.at, piece.len);
    }
    *items = list;
    return count;
}
