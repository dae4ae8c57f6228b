#include <stdio.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/manifest_files.h"
#include "commands/print.h"
#include "io/disk.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord.h"

// An external-dns that runs, as the DNSUpdateRecord that asks for the same.

// What this prints goes to people and into issues: a value that may be a secret is never shown, not
// in the object and not among what is lost.

#define PUT_INTO_SECRET "put it into a Secret, and name that in spec.secretRefs"

enum { FILE_OCTETS_MAX = 4 * 1024 * 1024 };

struct importing {
    struct arena *arena;
    struct value *spec;
    struct value *parameters;
    struct buffer lost; // what the object cannot say, a line each
};

static void lose(struct importing *importing, struct text what, const char *why)
{
    AUTO_BUFFER clean = {0};
    text_clean(&clean, what, 120);
    buffer_printf(&importing->lost, "%s: %s\n", buffer_text(&clean).at, why);
}

static struct value *list_at(struct importing *importing, const char *name)
{
    struct value *list = value_find(importing->spec, name);
    if (list)
        return list;
    list = value_make(importing->arena, VALUE_LIST);
    value_set(importing->spec, text_of(name), list);
    return list;
}

static void add_pair(struct importing *importing, const char *list, struct text name,
                     struct text value)
{
    struct value *pair = value_make(importing->arena, VALUE_MAP);
    value_set(pair, TEXT("name"), value_make_text(importing->arena, name));
    if (value.at)
        value_set(pair, TEXT("value"), value_make_text(importing->arena, value));
    value_append(list_at(importing, list), pair);
}

static void add_secret(struct importing *importing, const char *target, struct text name,
                       struct text key)
{
    struct value *ref = value_make(importing->arena, VALUE_MAP);
    value_put_text(importing->arena, ref, "target", target);
    value_set(ref, TEXT("name"), value_make_text(importing->arena, name));
    value_set(ref, TEXT("key"), value_make_text(importing->arena, key));
    value_append(list_at(importing, "secretRefs"), ref);
}

// ---- arguments ----------------------------------------------------------------------------------

// A flag that is given several times is a list.
static void add_entry(struct importing *importing, struct text name, struct value *item)
{
    struct value *there = value_find_text(importing->parameters, name);
    if (!there) {
        value_set(importing->parameters, name, item);
        return;
    }
    if (there->type != VALUE_LIST) {
        struct value *list = value_make(importing->arena, VALUE_LIST);
        value_append(list, value_make_text(importing->arena, there->text));
        value_set(importing->parameters, name, list);
        there = list;
    }
    value_append(there, item);
}

static bool may_be(const struct external_dns_parameter *row, enum value_type type)
{
    return row->types & 1U << type;
}

// The value of a flag as the type that its parameter has. A flag without a value is true.
static struct value *parameter_value(struct arena *arena, const struct external_dns_parameter *row,
                                     bool is_negated, struct text value)
{
    int64_t number;
    bool is_false = text_is(value, "false");
    bool is_boolean = !value.at || is_negated || is_false || text_is(value, "true");
    if (may_be(row, VALUE_BOOL) && is_boolean)
        return value_make_bool(arena, is_negated == is_false);
    if (may_be(row, VALUE_INT) && text_to_int64(value, &number))
        return value_make_int(arena, number);
    return value_make_text(arena, value);
}

static void take_parameter(struct importing *importing, const struct external_dns_parameter *row,
                           bool is_negated, struct text value)
{
    struct text name = text_of(row->name);
    struct value *made = parameter_value(importing->arena, row, is_negated, value);
    if (row->form == FORM_SECRET) {
        lose(importing, name, "a secret stands in plain text: " PUT_INTO_SECRET);
        return;
    }
    if (row->form == FORM_FILE)
        lose(importing, name, "names a file: " PUT_INTO_SECRET);
    if (may_be(row, VALUE_LIST))
        add_entry(importing, name, made);
    else
        value_set(importing->parameters, name, made);
}

// Flags that Signpost sets itself, and flags that no external-dns of a record may have.
static void take_reserved(struct importing *importing, struct text flag, struct text value)
{
    static const char *const said[] = {"namespace", "label-filter", "events", "events-emit"};
    if (text_is(flag, "source") && text_is(value, "crd"))
        return;
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (text_is(flag, said[i]))
            return;
    lose(importing, flag,
         text_is(flag, "source") ? "names come from DNSEndpoints alone (--source=crd)"
                                 : "has no place in a DNSUpdateRecord");
}

static void take_flag(struct importing *importing, struct text flag, struct text value)
{
    bool is_negated;
    const struct external_dns_parameter *row = external_dns_find_flag(flag, &is_negated);
    if (text_is(flag, "provider"))
        value_set(importing->spec, TEXT("provider"), value_make_text(importing->arena, value));
    else if (text_is(flag, "txt-owner-id"))
        value_set(importing->spec, TEXT("adoptOwner"), value_make_text(importing->arena, value));
    else if (row)
        take_parameter(importing, row, is_negated, value);
    else if (external_dns_is_reserved(flag))
        take_reserved(importing, flag, value);
    else if (external_dns_is_secret_flag(flag))
        lose(importing, flag, "a secret stands in plain text: " PUT_INTO_SECRET);
    else
        add_pair(importing, "extraArgs", flag, value);
}

// Is the flag one that stands alone, so that the next word is not its value?
static bool stands_alone(struct text flag)
{
    const struct external_dns_parameter *row = external_dns_find_flag(flag, NULL);
    return row ? may_be(row, VALUE_BOOL) : text_is(flag, "events");
}

struct words {
    const struct text *items;
    size_t count;
};

static bool is_flag(struct text word)
{
    return word.len > 2 && text_starts(word, "--");
}

static struct text nth_word(struct importing *importing, size_t i)
{
    return text_of(arena_printf(importing->arena, "argument %zu", i + 1));
}

// "--flag=value", "--flag value" or "--flag".
static void take_words(struct importing *importing, struct words words)
{
    for (size_t i = 0; i < words.count; i++) {
        struct text flag;
        struct text value = {words.items[i].at + 2, words.items[i].len - 2};
        if (!is_flag(words.items[i])) {
            lose(importing, nth_word(importing, i), "is neither a flag nor the value of one");
            continue;
        }
        text_cut(&value, '=', &flag);
        bool has_next = i + 1 < words.count && !is_flag(words.items[i + 1]);
        if (!value.at && has_next && !stands_alone(flag))
            value = words.items[++i];
        take_flag(importing, flag, value);
    }
}

// ---- the environment ----------------------------------------------------------------------------

// A kubelet takes "$$" for a "$", and "$(NAME)" for the value of a variable.
static struct text without_escapes(struct importing *importing, struct text name, struct text word)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < word.len; i++) {
        bool is_mark = word.at[i] == '$' && i + 1 < word.len;
        if (is_mark && word.at[i + 1] == '(')
            lose(importing, name, "a variable stands in it: write its value, or use secretRefs");
        i += is_mark && word.at[i + 1] == '$';
        buffer_add_char(&out, word.at[i]);
    }
    return (struct text){arena_copy(importing->arena, buffer_text(&out).at, out.len), out.len};
}

static const struct external_dns_variable *find_env(struct text name)
{
    for (unsigned i = 0; i < EXTERNAL_DNS_PROVIDERS; i++)
        if (external_dns_find_env(name, (enum external_dns_provider)i))
            return external_dns_find_env(name, (enum external_dns_provider)i);
    return NULL;
}

static void take_variable_value(struct importing *importing, struct text name, struct text value)
{
    const struct external_dns_parameter *row = external_dns_find_variable(name);
    const struct external_dns_variable *variable = find_env(name);
    if (row)
        take_flag(importing, text_of(row->name), value);
    else if (!variable)
        lose(importing, name,
             "is no variable that a DNSUpdateRecord has; if it stands for a flag, give that in "
             "spec.extraArgs");
    else if (variable->is_secret)
        lose(importing, name, "a secret stands in plain text: " PUT_INTO_SECRET);
    else
        add_pair(importing, "env", name, value);
}

static void take_variable(struct importing *importing, const struct value *variable)
{
    struct text name = value_text_at(variable, "name");
    const struct value *secret = value_at(variable, "valueFrom.secretKeyRef", NULL);
    const struct external_dns_parameter *row = external_dns_find_variable(name);
    const char *target =
        row ? row->name : arena_printf(importing->arena, "env:%.*s", TEXT_ARGS(name));
    if (secret)
        add_secret(importing, target, value_text_at(secret, "name"), value_text_at(secret, "key"));
    else if (value_find(variable, "value"))
        take_variable_value(importing, name,
                            without_escapes(importing, name, value_text_at(variable, "value")));
    else
        lose(importing, name, "comes from neither a text nor a Secret");
}

// ---- manifests ----------------------------------------------------------------------------------

static const struct value *find_container(const struct value *object)
{
    value_each (container, value_list_at(object, "spec.template.spec.containers"))
        value_each (argument, value_list_at(container, "args"))
            if (text_starts(value_text(argument), "--provider"))
                return container;
    return NULL;
}

static void take_image(struct importing *importing, struct text image)
{
    unsigned minor;
    struct text tag = external_dns_image_tag(image);
    if (!image.len)
        return;
    value_set(importing->spec, TEXT("image"), value_make_text(importing->arena, image));
    if (external_dns_release_read(tag, &minor) == EXTERNAL_DNS_SUPPORTED)
        value_set(importing->spec, TEXT("version"), value_make_text(importing->arena, tag));
}

static void take_container(struct importing *importing, const struct value *container)
{
    const struct value *args = value_list_at(container, "args");
    struct text *words = arena_new_array(importing->arena, struct text, value_count(args) + 1);
    size_t count = 0;
    value_each (argument, args) {
        words[count] = without_escapes(importing, nth_word(importing, count), value_text(argument));
        count++;
    }
    take_image(importing, value_text_at(container, "image"));
    take_words(importing, (struct words){words, count});
    value_each (variable, value_list_at(container, "env"))
        take_variable(importing, variable);
}

// The first workload of the file with a container that has --provider. NULL: there is none.
static struct value *find_workload(struct arena *arena, struct text content, struct error *err)
{
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(content, &value_manifest_limits);
    for (;;) {
        struct value *document;
        bool has;
        if (!yaml_reader_next(reader, arena, &document, &has, err))
            return NULL;
        if (!has)
            break;
        if (find_container(document))
            return document;
        value_each (item, value_list_at(document, "items"))
            if (find_container(item))
                return item;
    }
    error_set(err, FAULT_SPEC, "",
              "it has no workload with a container whose args have --provider");
    return NULL;
}

static bool import_manifest(struct importing *importing, struct text content, struct value *object,
                            struct error *err)
{
    const struct value *workload = find_workload(importing->arena, content, err);
    if (!workload)
        return false;
    struct text namespace_ = value_text_at(workload, "metadata.namespace");
    value_put(importing->arena, object, "metadata.name",
              value_make_text(importing->arena, value_text_at(workload, "metadata.name")));
    if (namespace_.len)
        value_put(importing->arena, object, "metadata.namespace",
                  value_make_text(importing->arena, namespace_));
    take_container(importing, find_container(workload));
    return true;
}

// Words with blanks between them, the program's own name first or not.
static void import_words(struct importing *importing, struct text content, struct value *object)
{
    struct text *words = arena_new_array(importing->arena, struct text, content.len / 2 + 2);
    size_t count = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= content.len; i++) {
        if (i < content.len && !strchr(" \t\r\n", content.at[i]))
            continue;
        struct text word = {content.at + begin, i - begin};
        begin = i + 1;
        if (word.len && !text_is(word, "\\") && (count || is_flag(word)))
            words[count++] = word;
    }
    value_put_text(importing->arena, object, "metadata.name", "external-dns");
    take_words(importing, (struct words){words, count});
}

// ---- the command --------------------------------------------------------------------------------

// external-dns without the flag has the owner id "default".
static void finish(struct importing *importing, struct value *object)
{
    struct arena *arena = importing->arena;
    if (!value_find(importing->spec, "adoptOwner"))
        value_put_text(arena, importing->spec, "adoptOwner", "default");
    if (value_count(importing->parameters))
        value_set(importing->spec, TEXT("external-dns-parameters"), importing->parameters);
    value_set(object, TEXT("spec"), importing->spec);
}

static void lose_faults(struct importing *importing, const struct value *object)
{
    struct findings findings = {.arena = importing->arena};
    kind_check(&dnsupdaterecord_kind, object, &findings);
    size_t shapes = findings.count;
    dnsupdaterecord_kind.validate(object, &findings);
    findings_drop_echoes(&findings, shapes);
    for (size_t i = 0; i < findings.count; i++)
        if (findings.items[i].level == FINDING_ERROR)
            buffer_printf(&importing->lost, "%s\n",
                          finding_text(importing->arena, &findings.items[i]));
}

static int print(struct importing *importing, const struct value *object)
{
    AUTO_BUFFER text = {0};
    struct error err;
    value_write_yaml(&text, object, 0);
    if (!print_out(&text, &err))
        return command_fail(2, "%s", err.text);
    if (!importing->lost.len)
        return 0;
    fprintf(stderr, "not said by the object, or to be mended:\n%s", importing->lost.at);
    return 1;
}

static int import_run(struct invocation *invocation)
{
    struct error err;
    AUTO_BUFFER content = {0};
    struct arena *arena = invocation->arena;
    struct importing importing = {.arena = arena,
                                  .spec = value_make(arena, VALUE_MAP),
                                  .parameters = value_make(arena, VALUE_MAP)};
    struct value *object = value_make(arena, VALUE_MAP);
    if (invocation->argument_count != 1)
        return command_fail(2, "give one file: a manifest, or the words of a command line");
    const char *path = invocation->arguments[0];
    if (!disk_read(&content, path, FILE_OCTETS_MAX, &err))
        return command_fail(2, "%s", err.text);
    value_put_text(arena, object, "apiVersion", DNS_GROUP "/v1alpha1");
    value_put_text(arena, object, "kind", dnsupdaterecord_kind.name);
    if (!manifest_is_file(path))
        import_words(&importing, buffer_text(&content), object);
    else if (!import_manifest(&importing, buffer_text(&content), object, &err))
        return command_fail(2, "%s: %s", path, err.text);
    finish(&importing, object);
    lose_faults(&importing, object);
    int code = print(&importing, object);
    buffer_done(&importing.lost);
    return code;
}

extern const struct command import_external_dns_command;
const struct command import_external_dns_command = {
    .name = "import external-dns",
    .summary = "turn an external-dns into a DNSUpdateRecord",
    .positional = "FILE",
    .doc = "Prints the DNSUpdateRecord (dns.homelab.mortenolsen.pro/v1alpha1) that asks for the "
           "external-dns of a file: of the first workload in a manifest (*.yaml, *.yml, *.json) "
           "whose container has the argument --provider, or of the words of a command line in any "
           "other file. It keeps its ownership mark (adoptOwner), so that its records stay its "
           "own. Flags that are no parameters become extraArgs. What the object cannot say, and "
           "what of it has to be mended, stands on stderr; a secret among the arguments or the "
           "variables is not printed.",
    .exit_docs =
        {
            "all of it is said",
            "some is not, or has errors",
            "the file cannot be read",
        },
    .examples = "kubectl -n dns get deployment external-dns -o yaml > deployment.yaml\n"
                "signpost import external-dns deployment.yaml > record.yaml\n",
    .run = import_run,
};
