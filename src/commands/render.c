#include <stdio.h>
#include <string.h>

#include "base/must.h"
#include "commands/check_set.h"
#include "commands/commands.h"
#include "commands/manifest_files.h"
#include "commands/print.h"
#include "commands/subject.h"
#include "kinds/dnsupdaterecord/external_dns_objects.h"
#include "kinds/emco_name.h"
#include "kinds/kinds.h"
#include "kinds/namespace/namespace_kind.h"
#include "store/folder/document.h"

// Prints the manifests that run an external-dns for each DNSUpdateRecord, and what the controllers
// of subjects would write.

enum { RENDERERS_MAX = 16 };

struct found { // a record, or the Namespace of a project
    const struct value *tree;
    struct spot place;
};
struct rendering {
    const struct invocation *invocation;
    struct arena *arena;
    struct report report;
    struct manifest_files files;
    const char *path; // of the file that is being read
    struct found *records;
    size_t record_count;
    size_t record_capacity;
    void *renderers[RENDERERS_MAX]; // by subject; NULL: it has none
    const struct value **namespaces;
    size_t namespace_count;
    size_t namespace_capacity;
};

// ---- reading ------------------------------------------------------------------------------------

// What the record leaves out, the options say; it is checked like what stands there.
static void add_option(struct rendering *rendering, struct value *tree, const char *path,
                       const char *option)
{
    const char *given = option_text(rendering->invocation, option);
    if (given && !value_text_at(tree, path).len)
        value_put_text(rendering->arena, tree, path, given);
}

static void take_record(struct rendering *rendering, const struct document *document)
{
    arena_reserve(rendering->arena, &rendering->records, &rendering->record_capacity,
                  rendering->record_count + 1);
    struct value *tree = value_copy(rendering->arena, document->tree);
    add_option(rendering, tree, "spec.version", "external-dns-version");
    add_option(rendering, tree, "spec.image", "external-dns-image");
    rendering->records[rendering->record_count++] = (struct found){
        .tree = tree,
        .place = {.path = rendering->path, .line = document->line, .column = document->column}};
}

static void take_namespace(struct rendering *rendering, const struct document *document)
{
    arena_reserve(rendering->arena, &rendering->namespaces, &rendering->namespace_capacity,
                  rendering->namespace_count + 1);
    rendering->namespaces[rendering->namespace_count++] =
        value_copy(rendering->arena, document->tree);
}

static bool matters(const struct rendering *rendering, const struct kind *kind)
{
    for (size_t i = 0; kind && i < subject_count; i++)
        if (rendering->renderers[i] && subjects[i]->renderer->takes(kind))
            return true;
    return kind == &dnsupdaterecord_kind;
}

static void put_document(struct rendering *rendering, const struct document *document)
{
    for (size_t i = 0; i < subject_count; i++)
        if (rendering->renderers[i] && subjects[i]->renderer->takes(document->kind))
            subjects[i]->renderer->put(rendering->renderers[i], document, rendering->path);
}

static void take_document(void *context, struct arena *arena, struct document *document)
{
    struct rendering *rendering = context;
    (void)arena;
    if (document->state == DOCUMENT_GOOD)
        put_document(rendering, document);
    if (document->state == DOCUMENT_BROKEN && matters(rendering, document->kind))
        manifest_files_report_broken(&rendering->files, rendering->path, document);
    else if (document->state == DOCUMENT_GOOD && document->kind == &dnsupdaterecord_kind)
        take_record(rendering, document);
    else if (document->state == DOCUMENT_GOOD && document->kind == &namespace_kind)
        take_namespace(rendering, document);
}

static void read_all(struct rendering *rendering)
{
    const struct invocation *invocation = rendering->invocation;
    CLEANUP(kind_patterns) struct kind_patterns *patterns = kind_patterns_new();
    for (size_t i = 0; i < invocation->argument_count; i++)
        manifest_files_add(&rendering->files, invocation->arguments[i]);
    manifest_files_sort(&rendering->files);
    for (size_t i = 0; i < rendering->files.count; i++) {
        rendering->path = rendering->files.items[i].shown;
        manifest_files_read_documents(&rendering->files, &rendering->files.items[i], kinds,
                                      kind_count, patterns, take_document, rendering);
    }
}

// ---- one record ---------------------------------------------------------------------------------

static struct text namespace_of(const struct value *tree)
{
    struct text given = value_text_at(tree, "metadata.namespace");
    return given.len ? given : TEXT("default");
}

static struct object_ref_key key_of(const struct value *tree)
{
    return (struct object_ref_key){&dnsupdaterecord_kind, namespace_of(tree),
                                   value_text_at(tree, "metadata.name")};
}

// EMCO's name of the project stands on its Namespace; without one it is that of the Namespace.
static struct text project_of(const struct rendering *rendering, struct text namespace_)
{
    for (size_t i = 0; i < rendering->namespace_count; i++)
        if (text_equal(value_text_at(rendering->namespaces[i], "metadata.name"), namespace_))
            return emco_name_of(rendering->namespaces[i]);
    return namespace_;
}

static bool is_sound(struct rendering *rendering, const struct found *found)
{
    struct findings findings = {.arena = rendering->arena};
    dnsupdaterecord_kind.validate(found->tree, &findings);
    findings_locate(&findings, found->tree);
    for (size_t i = 0; i < findings.count; i++) {
        const struct finding *finding = &findings.items[i];
        const struct spot place = {found->place.path, finding->line, finding->column};
        // What an option said stands nowhere in the file.
        report_add(
            &rendering->report, finding->level == FINDING_ERROR ? REPORT_ERROR : REPORT_WARNING,
            finding->line ? place : found->place, "%s", finding_text(rendering->arena, finding));
    }
    return !findings_errors(&findings);
}

// Two installations whose marks are equal delete each other's records. NULL: it is not known, which
// is an error where it is printed.
static const struct external_dns_pinned *pinned_of(struct rendering *rendering,
                                                   const struct found *found,
                                                   const struct update_record *record,
                                                   const struct external_dns_input *input)
{
    struct external_dns_pinned *made = arena_new_of(rendering->arena, struct external_dns_pinned);
    struct text owner = text_of(option_text(rendering->invocation, "owner-id"));
    if (record->has_pinned)
        return &record->pinned;
    if (!owner.len && !update_record_owner(record).len) {
        if (!record->is_native)
            report_add(&rendering->report, REPORT_ERROR, found->place,
                       "spec.external-dns-parameters.txt-owner-id: is made of the owner id of the "
                       "installation: give that with --owner-id");
        return NULL;
    }
    external_dns_pinned_make(rendering->arena, record, input->minor, input->project, owner, made);
    return made;
}

// Also of a record that is left out, for it stands among the manifests as well.
static bool claim_given_owner(struct rendering *rendering, const struct found *found)
{
    const struct object_ref_key key = key_of(found->tree);
    return check_set_claim(rendering->files.set, &key, found->tree, found->place.path, NULL,
                           &rendering->report);
}

static bool claim_made_owner(struct rendering *rendering, const struct found *found,
                             const struct external_dns_pinned *pinned)
{
    const struct object_ref_key key = key_of(found->tree);
    const struct kind_claim claim = {
        .value = pinned->owner_id,
        .path = "spec.external-dns-parameters.txt-owner-id",
        .what = "owner id",
        .advice = "it is made for this record alone, so take it out of the other one",
    };
    return check_set_claim(rendering->files.set, &key, found->tree, found->place.path, &claim,
                           &rendering->report);
}

static void write_objects(const struct external_dns_workload *workload, struct buffer *out)
{
    struct value *objects[EXTERNAL_DNS_OBJECTS];
    CLEANUP(arena) struct arena *arena = arena_new();
    external_dns_objects_make(arena, workload, objects);
    for (size_t i = 0; i < EXTERNAL_DNS_OBJECTS; i++) {
        buffer_add_text(out, "---\n");
        value_write_yaml(out, objects[i], 0);
    }
}

static void render(struct rendering *rendering, const struct found *found, struct buffer *out)
{
    struct update_record record;
    struct external_dns_start start;
    struct findings ignored = {.arena = rendering->arena};
    bool is_alone = claim_given_owner(rendering, found);
    if (!is_sound(rendering, found) || !is_alone)
        return;
    update_record_decode(rendering->arena, found->tree, &ignored, &record);
    struct external_dns_input input = {.record = &record,
                                       .minor = update_record_minor(&record, record.version),
                                       .namespace_ = namespace_of(found->tree)};
    input.project = project_of(rendering, input.namespace_);
    if (!record.image.len && !record.is_native)
        report_add(&rendering->report, REPORT_WARNING, found->place,
                   "spec.image: neither this nor --external-dns-image names an image, so the "
                   "Deployment has none");
    input.pinned = pinned_of(rendering, found, &record, &input);
    if (!input.pinned || !claim_made_owner(rendering, found, input.pinned))
        return;
    if (record.is_native) // nothing runs for it
        return;
    external_dns_start_make(rendering->arena, &input, &start);
    const struct external_dns_workload workload = {
        .record = &record,
        .start = &start,
        .project = input.project,
        .namespace_ = input.namespace_,
        .image = record.image,
        .version = record.version,
    };
    write_objects(&workload, out);
}

// ---- the command --------------------------------------------------------------------------------

// NULL: the options can be used.
static const char *options_fault(const struct invocation *invocation)
{
    unsigned minor;
    const char *image = option_text(invocation, "external-dns-image");
    struct text version = text_of(option_text(invocation, "external-dns-version"));
    enum external_dns_support support = external_dns_release_read(version, &minor);
    if (support != EXTERNAL_DNS_SUPPORTED && support != EXTERNAL_DNS_TOO_NEW)
        return "--external-dns-version: expected a release from v0.19.0 on, such as v0.22.0";
    const char *fault =
        image ? external_dns_image_fault(invocation->arena, text_of(image), (struct text){0})
              : NULL;
    return fault ? arena_printf(invocation->arena, "--external-dns-image: %s", fault) : NULL;
}

static void make_renderers(struct rendering *rendering)
{
    must(subject_count <= RENDERERS_MAX);
    for (size_t i = 0; i < subject_count; i++)
        if (subjects[i]->renderer)
            rendering->renderers[i] =
                subjects[i]->renderer->make(rendering->invocation, &rendering->report);
}

static void free_renderers(struct rendering *rendering)
{
    for (size_t i = 0; i < subject_count; i++)
        if (rendering->renderers[i])
            subjects[i]->renderer->free(rendering->renderers[i]);
}

// Returns how many objects there were to print something for.
static size_t render_all(struct rendering *rendering, struct buffer *out)
{
    size_t count = rendering->record_count;
    for (size_t i = 0; i < rendering->record_count; i++)
        render(rendering, &rendering->records[i], out);
    for (size_t i = 0; i < subject_count; i++)
        if (rendering->renderers[i])
            count += subjects[i]->renderer->render(rendering->renderers[i], out);
    return count;
}

static int render_run(struct invocation *invocation)
{
    struct error err;
    AUTO_BUFFER out = {0};
    AUTO_BUFFER told = {0};
    struct check_set set = {0};
    struct rendering rendering = {.invocation = invocation, .arena = invocation->arena};
    if (!invocation->argument_count)
        return command_fail(2,
                            "give the manifests of DNSUpdateRecords and DNSPublications, or - for "
                            "stdin");
    const char *fault = options_fault(invocation);
    if (fault)
        return command_fail(2, "%s", fault);
    check_set_init(&set, invocation->arena);
    rendering.report.arena = invocation->arena;
    rendering.files = (struct manifest_files){
        .arena = invocation->arena, .report = &rendering.report, .set = &set};
    make_renderers(&rendering);
    read_all(&rendering);
    size_t count = render_all(&rendering, &out);
    free_renderers(&rendering);
    size_t errors = rendering.report.counts[REPORT_ERROR];
    size_t unreadable = rendering.files.unreadable_count;
    report_write(&told, &rendering.report, false);
    report_done(&rendering.report);
    manifest_files_done(&rendering.files);
    check_set_done(&set);
    fputs(told.at ? told.at : "", stderr);
    if (!print_out(&out, &err))
        return command_fail(1, "%s", err.text);
    if (unreadable)
        return 2;
    if (!errors && !count)
        return command_fail(2, "there is no DNSUpdateRecord and no DNSPublication in these "
                               "manifests");
    return errors ? 1 : 0;
}

static const struct option render_rows[] = {
    {.name = "external-dns-version",
     .type = OPTION_TEXT,
     .fallback = "v0.22.0",
     .placeholder = "VERSION",
     .doc = "The release of external-dns for records without spec.version."},
    {.name = "external-dns-image",
     .type = OPTION_TEXT,
     .placeholder = "IMAGE",
     .doc = "Its image, with a tag or a digest, for records without spec.image."},
    {.name = "owner-id",
     .type = OPTION_TEXT,
     .placeholder = "ID",
     .doc =
         "The owner id of this installation: with it the ownership mark is made of a record that "
         "neither gives one nor has one pinned."},
    FILENAME_OPTION,
};

extern const struct command render_command;
const struct command render_command = {
    .name = "render",
    .summary = "print what DNSUpdateRecords and DNSPublications ask for",
    .positional = "PATH...",
    .doc = "Reads the DNSUpdateRecords (dns.homelab.mortenolsen.pro/v1alpha1) of manifests, files "
           "or folders (with what the REST API wrote there), and prints what an external-dns is "
           "run with for each: ServiceAccount, Role, RoleBinding and Deployment, with arguments "
           "that its release takes. A secret stands in none of them: it is read from the Secret "
           "that secretRefs names. The Namespace of a project, if it is among the manifests, "
           "tells EMCO's name of it. Of a record with engine: native nothing is run.\n\n"
           "For each DNSPublication that is to be Instantiated it prints the DNSEndpoints that "
           "its controller would write, from the LogicalClouds, EdgeClusters, TrafficGroupIntents "
           "and DNSUpdateRecords of the same manifests. No cluster is asked: an address that only "
           "a cluster knows is missing, which is warned of. Findings, such as a name that cannot "
           "be published, stand on stderr as `signpost check` writes them.",
    .exit_docs =
        {
            "all is printed",
            "some objects or names have errors and are left out",
            "there is nothing to print",
        },
    .examples = "signpost render --external-dns-image external-dns:v0.22.0 record.yaml\n"
                "signpost render records/ | kubectl apply -f -\n",
    .groups = {{render_rows, COUNT_OF(render_rows), false}},
    .run = render_run,
};
