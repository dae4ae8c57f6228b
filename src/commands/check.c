#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/must.h"
#include "commands/check_live.h"
#include "commands/check_set.h"
#include "commands/commands.h"
#include "commands/manifest_files.h"
#include "commands/metrics_guard.h"
#include "commands/print.h"
#include "commands/process.h"
#include "commands/setup.h"
#include "commands/subject.h"
#include "commands/webhook.h"
#include "kinds/dnsrecord/dnsrecord.h"
#include "kinds/secret/secret_kind.h"
#include "store/folder/document.h"

enum { SHOWN_OCTETS_MAX = 128, JUDGES_MAX = 16 };

struct check {
    struct arena *arena;
    struct kind_patterns *patterns;
    const struct kind **kinds; // that documents are judged by
    size_t kind_count;
    struct report report;
    struct check_set set;
    void *judges[JUDGES_MAX]; // by subject; NULL: it has none
    struct manifest_files files;
    const char *path; // of the file being read
    bool is_strict;
    size_t object_count;
    size_t skipped_count;
};

// ---- one object ---------------------------------------------------------------------------------

static void add_finding(struct check *check, const struct document *document,
                        const struct finding *finding, const char *text)
{
    struct spot place = {check->path, finding->line ? finding->line : document->line,
                         finding->line ? finding->column : document->column};
    report_add(&check->report, finding->level == FINDING_ERROR ? REPORT_ERROR : REPORT_WARNING,
               place, "%s", text);
}

static void add_findings(struct check *check, const struct document *document,
                         struct findings *findings, size_t shapes)
{
    findings_drop_echoes(findings, shapes);
    findings_locate(findings, document->tree);
    for (size_t i = 0; i < findings->count; i++)
        add_finding(check, document, &findings->items[i],
                    finding_text(findings->arena, &findings->items[i]));
}

// Of a document that no table fits: its text says the place, too.
static void add_fault(struct check *check, const struct document *document)
{
    struct spot place = {check->path, document->line, document->column};
    report_add(&check->report, REPORT_ERROR, place, "%s",
               manifest_fault_text(place.path, document->fault, place.line, place.column));
}

static bool is_known(const char *const *names, size_t count, struct text name)
{
    for (size_t i = 0; i < count; i++)
        if (text_is(name, names[i]))
            return true;
    return false;
}

static void check_annotation(struct check *check, const struct kind *kind, const struct value *item,
                             struct text name)
{
    AUTO_BUFFER clean = {0};
    size_t count = 0;
    while (kind->annotations && kind->annotations[count])
        count++;
    if (is_known(kind->annotations, count, name))
        return;
    const char *nearest = count ? text_nearest(name, kind->annotations, count) : NULL;
    text_clean(&clean, item->key, SHOWN_OCTETS_MAX);
    report_add(&check->report, REPORT_WARNING,
               (struct spot){check->path, item->key_line, item->key_column},
               "metadata.annotations[%s]: is not known and does nothing%s%s%s", clean.at,
               nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

// What stands below our own prefix is meant for us; others' annotations are no business of ours.
static void check_annotations(struct check *check, const struct document *document)
{
    AUTO_BUFFER prefix = {0};
    const struct kind *kind = document->kind;
    const struct value *map = value_at(document->tree, "metadata.annotations", NULL);
    buffer_printf(&prefix, "%s/", kind->group);
    value_each (item, map && map->type == VALUE_MAP && !kind->is_foreign ? map : NULL) {
        if (!text_starts(item->key, prefix.at))
            continue;
        struct text name = {item->key.at + prefix.len, item->key.len - prefix.len};
        check_annotation(check, kind, item, name);
    }
}

static void advise_as(const struct controller *controller, const struct document *document,
                      struct findings *findings)
{
    if (controller->kind == document->kind && controller->admit)
        controller->admit(document->tree, findings);
    const struct dependency *at = NULL;
    while ((at = dependency_next(controller, BRINGS_CONTROLLER, at)))
        advise_as(at->controller, document, findings);
}

// Judges what is meant for us in objects of others, as an admission review does.
static void advise(const struct document *document, struct findings *findings)
{
    for (size_t i = 0; document->kind->advised && i < controller_count; i++)
        advise_as(controllers[i], document, findings);
}

static void check_object(struct check *check, struct arena *arena, const struct document *document)
{
    struct findings findings = {.arena = arena, .patterns = check->patterns};
    kind_check(document->kind, document->tree, &findings);
    size_t shapes = findings.count;
    if (!findings_errors(&findings) && document->state == DOCUMENT_BROKEN) {
        add_fault(check, document);
        return;
    }
    if (document->kind->validate)
        document->kind->validate(document->tree, &findings);
    if (!findings_errors(&findings)) {
        for (size_t i = 0; i < subject_count; i++)
            if (check->judges[i])
                subjects[i]->judge->put(check->judges[i], document, check->path);
        advise(document, &findings);
    }
    add_findings(check, document, &findings, shapes);
    check_annotations(check, document);
}

// ---- across objects -----------------------------------------------------------------------------

static void check_identity(struct check *check, const struct document *document)
{
    const struct object_ref_key key = {document->kind, document->namespace_, document->name};
    struct spot place = place_in(document->tree, "metadata.name", check->path);
    const struct spot *first = check_set_add_object(&check->set, &key, place);
    check_set_claim(&check->set, &key, document->tree, check->path, NULL, &check->report);
    if (first)
        report_add(&check->report, REPORT_ERROR, place,
                   "metadata.name: %s %.*s stands in %s:%u:%u already; rename or remove one",
                   document->kind->name, TEXT_ARGS(document->name), first->path, first->line,
                   first->column);
}

struct short_keys {
    struct check *check;
    const struct document *document;
};

static void check_claim(struct check *check, struct arena *arena, const struct document *document)
{
    struct dnsrecord record;
    struct record_set set;
    struct text fqdn;
    struct findings findings = {.arena = arena};
    if (document->kind != &dnsrecord_kind)
        return;
    dnsrecord_decode(arena, document->tree, &record);
    if (!dnsrecord_resolve(arena, &record, DNSRECORD_TTL_DEFAULT, &set, &findings) ||
        !record_name_join(arena, set.domain, set.subdomain, &fqdn, NULL))
        return;
    const char *key = arena_printf(arena, "name %.*s %s %.*s", TEXT_ARGS(record.class_name),
                                   record_type_name(set.type), TEXT_ARGS(fqdn));
    struct spot place = place_in(document->tree, "spec.subdomain", check->path);
    const struct spot *first = check_set_file(&check->set, key, place);
    if (first)
        report_add(&check->report, REPORT_WARNING, place,
                   "spec.subdomain: %.*s %s is declared in %s:%u:%u already; only the older "
                   "object will hold it",
                   TEXT_ARGS(fqdn), record_type_name(set.type), first->path, first->line,
                   first->column);
}

static void file_short_key(void *context, const struct value *item)
{
    struct short_keys *keys = context;
    check_set_add_short_key(&keys->check->set, keys->document->namespace_, keys->document->name,
                            item->key,
                            (struct spot){keys->check->path, item->key_line, item->key_column});
}

// Only what a class refers to is told.
static void check_keys(struct check *check, const struct document *document)
{
    struct short_keys keys = {check, document};
    if (document->kind == &secret_kind)
        secret_kind_each_short(document->tree, file_short_key, &keys);
}

static void skip(struct check *check, const struct document *document)
{
    AUTO_BUFFER name = {0};
    AUTO_BUFFER key = {0};
    struct spot place = {check->path, document->line, document->column};
    text_clean(&name, value_text_at(document->tree, "kind"), SHOWN_OCTETS_MAX);
    buffer_add_text(&name, " of ");
    text_clean(&name, value_text_at(document->tree, "apiVersion"), SHOWN_OCTETS_MAX);
    buffer_printf(&key, "kind %s", name.at);
    check->skipped_count++;
    if (!check_set_file(&check->set, key.at, place))
        report_add(&check->report, REPORT_INFO, place,
                   "kind: %s is not ours; such objects are skipped", name.at);
}

static void take_document(void *context, struct arena *arena, struct document *document)
{
    struct check *check = context;
    if (document->state == DOCUMENT_UNKNOWN) {
        skip(check, document);
        return;
    }
    check->object_count++;
    if (!document->kind) {
        add_fault(check, document);
        return;
    }
    check_object(check, arena, document);
    check_set_refer(&check->set, document->kind, document->tree, check->path);
    if (!document->has_identity)
        return;
    check_identity(check, document);
    check_claim(check, arena, document);
    check_keys(check, document);
}

// ---- files --------------------------------------------------------------------------------------

static void check_file(struct check *check, const struct manifest_file *file)
{
    size_t before = check->object_count + check->skipped_count;
    check->path = file->shown;
    if (manifest_files_read_documents(&check->files, file, check->kinds, check->kind_count,
                                      check->patterns, take_document, check) &&
        before == check->object_count + check->skipped_count)
        report_add(&check->report, REPORT_WARNING, (struct spot){file->shown, 1, 1},
                   "the file holds no object");
}

static void read_files(struct check *check)
{
    manifest_files_sort(&check->files);
    for (size_t i = 0; i < check->files.count; i++)
        check_file(check, &check->files.items[i]);
    for (size_t i = 0; i < subject_count; i++)
        if (check->judges[i])
            subjects[i]->judge->judge(check->judges[i]);
    check_set_report(&check->set, &check->report);
}

// ---- outcome ------------------------------------------------------------------------------------

static void write_summary(struct buffer *out, const struct check *check)
{
    print_count(out, check->files.count, "file");
    buffer_add_text(out, ", ");
    print_count(out, check->object_count, "object");
    if (check->skipped_count)
        buffer_printf(out, " (and %zu skipped)", check->skipped_count);
    buffer_add_text(out, ": ");
    print_count(out, check->report.counts[REPORT_ERROR], "error");
    buffer_add_text(out, ", ");
    print_count(out, check->report.counts[REPORT_WARNING], "warning");
    if (check->files.unreadable_count)
        buffer_printf(out, "; %zu not read", check->files.unreadable_count);
    buffer_add_char(out, '\n');
}

static void write_json(struct buffer *out, struct check *check, const struct buffer *live)
{
    buffer_add_text(out, "{\"findings\": ");
    report_write_json(out, &check->report);
    if (live)
        buffer_printf(out, ",\n\"live\": [%s]", live->len ? live->at : "");
    buffer_printf(out,
                  ",\n\"files\": %zu, \"unread\": %zu, \"objects\": %zu, \"skipped\": %zu, "
                  "\"errors\": %zu, \"warnings\": %zu}\n",
                  check->files.count, check->files.unreadable_count, check->object_count,
                  check->skipped_count, check->report.counts[REPORT_ERROR],
                  check->report.counts[REPORT_WARNING]);
}

static void write_text(struct buffer *out, struct check *check)
{
    report_write(out, &check->report, terminal_of(STDOUT_FILENO).has_colour);
    if (check->files.count || !check->files.unreadable_count)
        write_summary(out, check);
}

static int code_of(const struct check *check)
{
    const size_t *counts = check->report.counts;
    if (check->files.unreadable_count)
        return 2;
    return counts[REPORT_ERROR] || (check->is_strict && counts[REPORT_WARNING]) ? 1 : 0;
}

static int put(const struct check *check, const struct buffer *text)
{
    struct error err;
    return print_out(text, &err) ? code_of(check) : command_fail(1, "%s", err.text);
}

static int worse(int a, int b)
{
    return a > b ? a : b;
}

static int report_text(struct check *check, struct invocation *invocation)
{
    AUTO_BUFFER text = {0};
    write_text(&text, check);
    int code = put(check, &text);
    return option_flag(invocation, "live") ? worse(code, check_live(invocation, NULL)) : code;
}

// One document, with what was found live in it.
static int report_json(struct check *check, struct invocation *invocation)
{
    AUTO_BUFFER text = {0};
    AUTO_BUFFER live = {0};
    bool is_live = option_flag(invocation, "live");
    int code = is_live ? check_live(invocation, &live) : 0;
    write_json(&text, check, is_live ? &live : NULL);
    return worse(code, put(check, &text));
}

static int report_check(struct check *check, struct invocation *invocation)
{
    bool is_json = !strcmp(option_text(invocation, "output"), "json");
    return is_json ? report_json(check, invocation) : report_text(check, invocation);
}

// Then there is no folder to look at.
static bool is_of_cluster(const struct invocation *invocation)
{
    struct configured_store place;
    struct error err;
    return option_flag(invocation, "live") && configured_store_find(&place, invocation, &err) &&
           place.is_cluster;
}

static int check_all(struct check *check, struct invocation *invocation)
{
    for (size_t i = 0; i < invocation->argument_count; i++)
        manifest_files_add(&check->files, invocation->arguments[i]);
    if (!invocation->argument_count && !is_of_cluster(invocation))
        manifest_files_add_store(&check->files, invocation);
    read_files(check);
    return report_check(check, invocation);
}

// Without paths it is the store's folder that is checked.
static bool check_place(const struct invocation *invocation, struct error *err)
{
    return invocation->argument_count || is_of_cluster(invocation) ||
           configured_store_check_folder(invocation, err);
}

static bool check_words(const struct invocation *invocation, struct error *err)
{
    if (option_flag(invocation, "write") && !option_flag(invocation, "live"))
        return error_set(err, FAULT_SPEC, "", "--write goes with --live");
    return !option_flag(invocation, "write") || writer_options_check(invocation, err);
}

static bool make_judges(struct check *check, const struct invocation *invocation, struct error *err)
{
    must(subject_count <= JUDGES_MAX);
    for (size_t i = 0; i < subject_count; i++) {
        if (!subjects[i]->judge)
            continue;
        check->judges[i] = subjects[i]->judge->make(invocation, &check->report, err);
        if (!check->judges[i])
            return false;
    }
    return true;
}

static void free_judges(struct check *check)
{
    for (size_t i = 0; i < subject_count; i++)
        if (check->judges[i])
            subjects[i]->judge->free(check->judges[i]);
}

static int check_run(struct invocation *invocation)
{
    struct error err;
    struct check check = {.arena = invocation->arena,
                          .patterns = kind_patterns_new(),
                          .is_strict = option_flag(invocation, "strict"),
                          .report = {.arena = invocation->arena}};
    check.kinds = arena_new_array(invocation->arena, const struct kind *, kind_count);
    check.kind_count = kinds_of_manifests(check.kinds);
    check_set_init(&check.set, invocation->arena);
    check.files = (struct manifest_files){
        .arena = invocation->arena, .report = &check.report, .set = &check.set};
    bool is_good = check_words(invocation, &err) && check_place(invocation, &err) &&
                   setup_check(invocation, &err) && make_judges(&check, invocation, &err);
    int code = is_good ? check_all(&check, invocation) : command_fail(2, "%s", err.text);
    free_judges(&check);
    check_set_done(&check.set);
    report_done(&check.report);
    kind_patterns_free(check.patterns);
    manifest_files_done(&check.files);
    return code;
}

static const char *const output_names[] = {"text", "json", NULL};

static const struct option check_rows[] = {
    FILENAME_OPTION,
    {.name = "live",
     .type = OPTION_FLAG,
     .doc = "Besides, look whether `signpost run` would find what it needs: in a cluster the kinds "
            "and the rights; on either store a server that answers for each DNSClass, and each "
            "Pi-hole."},
    {.name = "write",
     .type = OPTION_FLAG,
     .doc = "With --live: besides, add a name below signpost-check.invalid to each Pi-hole, ask "
            "for it, and remove it. Takes the lock of the folder or the Lease of the cluster; "
            "while a Signpost runs there, nothing is written."},
    STRICT_OPTION,
    OUTPUT_OPTION(output_names, "For people, or as one JSON document."),
    {.name = "resolver",
     .type = OPTION_ADDRESS,
     .placeholder = "ADDR:PORT",
     .doc = "With --write: where the name is asked for; not given, at the address in the Pi-hole's "
            "URL, and the port that it says its resolver has."},
    TIMEOUT_OPTION("30s", "With --live: how long reading all objects may take."),
};

extern const struct command check_command;
const struct command check_command = {
    .name = "check",
    .summary = "find every fault in manifests, without a network",
    .positional = "[PATH...]",
    .doc =
        "Reads files and folders and prints one line for each fault: file, line, column, field, "
        "what is wrong and what to do. Errors are what `signpost run` would refuse; lines "
        "marked `warning:` are worth a look. Folders are read as `signpost run` reads them: "
        "*.yaml, *.yml and *.json, not names that begin with . or # or end in ~, .tmp or .swp, "
        "and what Signpost wrote there itself (.signpost/children), such as objects of the REST "
        "API. PATH - is standard input.\n"
        "\n"
        "Objects that others name and that are in none of the files are warned of. Two "
        "DNSUpdateRecords with one owner id are an error. Zones and "
        "Records are looked at together, as `signpost zone check` does. Annotations pihole.io/* "
        "that are wrong or not known are warned of, as admission does.\n"
        "\n"
        "--live adds questions that change nothing: GET /health at the server of each DNSClass, at "
        "each Pi-hole a login, what would keep us from writing, and the lists as they stand; "
        "and in a cluster SelfSubjectAccessReviews and whether the kinds are there: for the rights "
        "give the same options as to `signpost run`. Each answer is a line that begins with `ok`, "
        "`warn` or `error`. Without PATH and with a cluster as the store "
        "no file is read.\n"
        "\n"
        "--output json prints one document: \"findings\", a list of maps with \"level\" (error, "
        "warning, info), \"file\", \"line\", \"column\", \"object\", \"reason\" and \"text\"; with "
        "--live \"live\", a list of maps with \"level\" (ok, warn, error), \"what\" and \"text\"; "
        "and the numbers of \"files\", \"unread\", \"objects\", \"skipped\", \"errors\" and "
        "\"warnings\".",
    .exit_docs =
        {
            "there is no error and, with --strict, no warning",
            "there are errors, or with --strict warnings, of files or of --live",
            "an argument is wrong, or a file cannot be read",
        },
    .examples = "signpost check\n"
                "signpost check manifests/ extra.yaml\n"
                "kubectl kustomize | signpost check -f -\n"
                "signpost check -o json | jq -r '.findings[].text'\n",
    .groups = {{check_rows, COUNT_OF(check_rows), false},
               SETUP_OPTION_GROUPS,
               {writer_options, WRITER_OPTION_COUNT, true},
               {webhook_options, WEBHOOK_RIGHTS_OPTION_COUNT, true},
               {&metrics_guard_option, 1, true},
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .has_settings = true,
    .run = check_run,
};
