#include "commands/zone/zone_input.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "dns/rr_type.h"
#include "dns/zone_file.h"
#include "io/disk.h"

enum {
    CLASS_IN = 1,
    FILE_OCTETS_MAX = 512 << 20, // all files together
    RESULTS_MAX = 10000,         // that are kept to be told
};

// Where a record stands. One for each, so it is small.
struct tag {
    struct zone_record *record;
    uint32_t line;
    uint16_t file;   // the one that was named is 0
    uint16_t column; // at most 65535; 0: of what a server gave
};
struct input_file {
    const char *shown; // in the report's arena
    char *real;
    struct buffer text;
};
// Of a signer, told when it is known that there is none.
struct unsigned_record {
    struct spot place;
    uint16_t type;
    uint8_t owner_len;
    uint8_t owner[DNAME_MAX];
};
struct result {
    const struct tag *tag;
    struct zone_outcome outcome;
};

struct zone_input {
    uint8_t apex_octets[DNAME_MAX];
    struct dname apex;
    struct report *report;
    enum report_level unfit;
    bool is_served; // what a server gave: lines and columns are not told
    struct zone_compiler *compiler;
    struct arena *tags;
    struct input_file *files;
    size_t file_count;
    size_t file_capacity;
    char *folder; // real path of that of the file
    size_t octets;
    size_t unreadable_count;
    size_t entry_count;
    size_t put_count;
    size_t signed_count; // records that are passed over, if the zone has a key
    struct spot signed_at;
    bool has_key;                   // a DNSKEY at the apex
    struct unsigned_record *strays; // those records; without a key they are nobody's
    size_t stray_count;
    size_t stray_capacity;
    struct rrset *soa;
    struct spot soa_at;
    struct buffer rdata;
    struct result *results;
    size_t result_count;
    size_t result_capacity;
};

bool zone_name_read(const char *text, uint8_t out[DNAME_MAX], struct dname *name, struct error *err)
{
    static const struct dname root = {(const uint8_t *)"", 1};
    return dname_read(text_of(text), &root, DNAME_OF_OBJECT, out, name, err) ||
           error_prefix(err, "%s: ", text);
}

bool zone_name_of_option(const struct invocation *invocation, const char *option,
                         uint8_t out[DNAME_MAX], struct dname *name, struct error *err)
{
    const char *text = option_text(invocation, option);
    return zone_name_read(text, out, name, err) || option_blame(invocation, option, text, err);
}

// ---- findings -----------------------------------------------------------------------------------

static void write_object(struct buffer *out, struct dname owner, uint16_t type)
{
    char number[10];
    dname_write(out, owner);
    buffer_printf(out, " %s", rr_type_write(type, number));
}

static struct spot spot_at(const struct zone_input *input, const char *file, uint32_t line,
                           uint32_t column)
{
    return input->is_served ? (struct spot){file, 0, 0} : (struct spot){file, line, column};
}

static struct spot spot_of(const struct zone_input *input, const struct zone_file_entry *entry)
{
    return spot_at(input, entry->file, entry->line, entry->column);
}

static void refuse(struct zone_input *input, const struct zone_file_entry *entry,
                   const char *reason, const char *text)
{
    AUTO_BUFFER object = {0};
    write_object(&object, entry->owner, entry->type);
    report_add_about(input->report, REPORT_ERROR, spot_of(input, entry), object.at,
                     arena_copy_text(input->report->arena, reason), text);
}

static void take_fault(void *context, const char *file, uint32_t line, uint32_t column,
                       const struct error *error)
{
    struct zone_input *input = context;
    report_add_about(input->report, REPORT_ERROR, spot_at(input, file, line, column), NULL,
                     arena_copy_text(input->report->arena, error->reason), error->text);
}

// ---- records ------------------------------------------------------------------------------------

static uint64_t place_of(const struct tag *tag)
{
    return (uint64_t)tag->file << 48 | (uint64_t)tag->line << 16 | tag->column;
}

static int compare_age(const void *a, const void *b)
{
    uint64_t left = place_of(a);
    uint64_t right = place_of(b);
    return (left > right) - (left < right);
}

static void write_name(const void *at, struct buffer *out)
{
    const struct tag *tag = at;
    if (tag->column)
        buffer_printf(out, "the record of line %u", tag->line);
    else
        buffer_add_text(out, "another record");
}

static const struct zone_compiler_ops ops = {compare_age, write_name, NULL};

// A signer made them of the others.
static bool is_of_signer(uint16_t type)
{
    static const uint16_t types[] = {46, 47, 50, 51, 63}; // RRSIG NSEC NSEC3 NSEC3PARAM ZONEMD
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i] == type)
            return true;
    return false;
}

static void pass_over(struct zone_input *input, const struct zone_file_entry *entry)
{
    if (!input->signed_count++)
        input->signed_at = spot_of(input, entry);
    if (input->has_key || input->stray_count == RESULTS_MAX)
        return;
    mem_reserve(&input->strays, &input->stray_capacity, input->stray_count + 1);
    struct unsigned_record *stray = &input->strays[input->stray_count++];
    *stray = (struct unsigned_record){.place = spot_of(input, entry),
                                      .type = entry->type,
                                      .owner_len = (uint8_t)entry->owner.len};
    memcpy(stray->owner, entry->owner.at, entry->owner.len);
}

static uint16_t file_number(const struct zone_input *input, const char *file)
{
    size_t at = input->file_count;
    while (at-- && input->files[at].shown != file)
        ;
    return (uint16_t)at;
}

static struct tag *make_tag(struct zone_input *input, const struct zone_file_entry *entry)
{
    struct tag *tag = arena_new_of(input->tags, struct tag);
    tag->line = entry->line;
    tag->file = file_number(input, entry->file);
    tag->column = input->is_served             ? 0
                  : entry->column < UINT16_MAX ? (uint16_t)entry->column
                                               : UINT16_MAX;
    return tag;
}

static void put(struct zone_input *input, const struct zone_file_entry *entry, unsigned marks)
{
    if (input->put_count > ZONE_RECORDS_MAX)
        return;
    struct tag *tag = make_tag(input, entry);
    const struct zone_entry record = {
        .owner = entry->owner,
        .type = entry->type,
        .has_ttl = entry->has_ttl,
        .ttl_s = entry->ttl_s,
        .rdata = buffer_text(&input->rdata),
        .marks = marks,
        .tag = tag,
    };
    input->put_count++;
    tag->record = zone_compiler_put(input->compiler, &record);
}

// The TTL of a SOA and of what follows, where none is given.
static uint32_t minimum_of(struct text soa)
{
    uint32_t seconds = 0;
    for (size_t i = soa.len - 4; i < soa.len; i++)
        seconds = seconds << 8 | (uint8_t)soa.at[i];
    return seconds;
}

// Dumps of transfers have it twice, first and last.
static void take_soa(struct zone_input *input, const struct zone_file_entry *entry)
{
    struct text rdata = buffer_text(&input->rdata);
    uint32_t ttl_s = entry->has_ttl ? entry->ttl_s : minimum_of(rdata);
    struct rrset *soa = rrset_new(entry->owner, RR_SOA, ttl_s, &rdata, 1);
    if (!input->soa) {
        input->soa = soa;
        input->soa_at = spot_of(input, entry);
        return;
    }
    if (!rrset_equal(soa, input->soa))
        refuse(input, entry, "DuplicateSingleton", "a zone has one SOA: remove all but one");
    rrset_unref(soa);
}

static bool check_place(struct zone_input *input, const struct zone_file_entry *entry)
{
    AUTO_BUFFER text = {0};
    if (entry->class_ != CLASS_IN) {
        refuse(input, entry, "ClassMismatch", "the class of a zone's records is IN");
        return false;
    }
    if (dname_is_within(entry->owner, input->apex))
        return true;
    buffer_add_text(&text, "the name is not within ");
    dname_write(&text, input->apex);
    refuse(input, entry, "OutOfZone", text.at);
    return false;
}

static bool read_rdata(struct zone_input *input, const struct zone_file_entry *entry,
                       unsigned *marks)
{
    const struct rdata_rules rules = {&entry->origin, DNAME_OF_FILE};
    struct error err;
    buffer_clear(&input->rdata);
    *marks = 0;
    if (rdata_read_words(entry->type, entry->words, entry->word_count, &rules, &input->rdata, marks,
                         &err))
        return true;
    refuse(input, entry, err.reason, err.text);
    return false;
}

// ---- objects ------------------------------------------------------------------------------------

bool zone_input_is_fit(struct dname apex, struct dname owner, uint16_t type, struct text rdata,
                       struct error *err)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    unsigned marks = 0;
    AUTO_BUFFER owner_text = {0};
    AUTO_BUFFER rdata_text = {0};
    AUTO_BUFFER read = {0};
    const struct rdata_rules rules = {&apex, DNAME_OF_OBJECT};
    dname_write(&owner_text, owner);
    rdata_write(&rdata_text, type, rdata);
    return dname_read(buffer_text(&owner_text), &apex, DNAME_OF_OBJECT, octets, &name, err) &&
           rdata_read(type, buffer_text(&rdata_text), &rules, &read, &marks, err);
}

// Objects are stricter of asterisks and of names in other scripts alone.
static bool may_be_unfit(struct text octets)
{
    return octets.len &&
           (memchr(octets.at, '*', octets.len) || memmem(octets.at, octets.len, "xn--", 4));
}

static void check_fit(struct zone_input *input, const struct zone_file_entry *entry)
{
    struct error err;
    AUTO_BUFFER object = {0};
    struct text rdata = buffer_text(&input->rdata);
    struct text owner = {(const char *)entry->owner.at, entry->owner.len};
    if ((!may_be_unfit(owner) && !may_be_unfit(rdata)) ||
        zone_input_is_fit(input->apex, entry->owner, entry->type, rdata, &err))
        return;
    error_prefix(&err, "an object cannot hold it: ");
    write_object(&object, entry->owner, entry->type);
    report_add_about(input->report, input->unfit, spot_of(input, entry), object.at,
                     arena_copy_text(input->report->arena, err.reason), err.text);
}

static void take_entry(void *context, const struct zone_file_entry *entry)
{
    struct zone_input *input = context;
    unsigned marks;
    input->entry_count++;
    if (!check_place(input, entry))
        return;
    if (is_of_signer(entry->type)) {
        pass_over(input, entry);
        return;
    }
    if (!read_rdata(input, entry, &marks))
        return;
    if (entry->type == RR_DNSKEY && dname_equal(entry->owner, input->apex))
        input->has_key = true;
    if (entry->type == RR_SOA && dname_equal(entry->owner, input->apex)) {
        take_soa(input, entry);
        return;
    }
    check_fit(input, entry);
    put(input, entry, marks);
}

// ---- files --------------------------------------------------------------------------------------

static const struct input_file *find_file(const struct zone_input *input, const char *real)
{
    for (size_t i = 0; i < input->file_count; i++)
        if (!strcmp(input->files[i].real, real))
            return &input->files[i];
    return NULL;
}

static const struct input_file *add_file(struct zone_input *input, const char *shown,
                                         const char *real, struct buffer text)
{
    input->octets += text.len;
    mem_reserve(&input->files, &input->file_capacity, input->file_count + 1);
    input->files[input->file_count] = (struct input_file){
        arena_copy_text(input->report->arena, shown), mem_copy_text(real), text};
    return &input->files[input->file_count++];
}

// Of each one a single copy stays, however often it is included.
static const struct input_file *open_file(struct zone_input *input, const char *shown,
                                          const char *real, struct error *err)
{
    const struct input_file *found = find_file(input, real);
    if (found)
        return found;
    struct buffer text = {0};
    if (!disk_read(&text, real, FILE_OCTETS_MAX - input->octets, err))
        return NULL;
    return add_file(input, shown, real, text);
}

static bool check_include(const struct zone_input *input, const char *real, struct error *err)
{
    size_t len = strlen(input->folder);
    if (!strncmp(real, input->folder, len) && (real[len] == '/' || len == 1))
        return true;
    return error_set(err, FAULT_SPEC, "Include",
                     "it lies outside of the folder of the zone file, which may not be left");
}

// As it is named in the file that includes it.
static void write_path(struct buffer *out, struct text path, const char *from)
{
    const char *slash = strrchr(from, '/');
    if (slash && *path.at != '/')
        buffer_add(out, from, (size_t)(slash - from) + 1);
    buffer_add(out, path.at, path.len);
}

static bool include(void *context, struct text path, const char *from, struct text *out,
                    const char **file, struct error *err)
{
    struct zone_input *input = context;
    AUTO_BUFFER shown = {0};
    if (!path.len || memchr(path.at, '\\', path.len))
        return error_set(err, FAULT_SPEC, "Include", "expected the name of a file, not escaped");
    write_path(&shown, path, from);
    autofree char *real = disk_real_path(shown.at, err);
    if (real && !check_include(input, real, err))
        return false;
    const struct input_file *found = real ? open_file(input, shown.at, real, err) : NULL;
    if (!found) {
        input->unreadable_count++;
        return error_set(err, FAULT_SPEC, "Include", "%s",
                         arena_copy_text(input->report->arena, err->text));
    }
    *out = buffer_text(&found->text);
    *file = found->shown;
    return true;
}

// ---- results ------------------------------------------------------------------------------------

static void take_result(void *context, const void *tag, const struct zone_outcome *outcome)
{
    struct zone_input *input = context;
    if (outcome->reason == ZONE_FINE && !outcome->warnings)
        return;
    if (input->result_count == RESULTS_MAX) {
        input->report->counts[outcome->reason == ZONE_FINE ? REPORT_WARNING : REPORT_ERROR]++;
        return;
    }
    mem_reserve(&input->results, &input->result_capacity, input->result_count + 1);
    input->results[input->result_count++] = (struct result){tag, *outcome};
}

static void report_finding(struct zone_input *input, const struct tag *tag, enum report_level level,
                           enum zone_reason reason)
{
    AUTO_BUFFER object = {0};
    AUTO_BUFFER text = {0};
    uint8_t octets[DNAME_MAX];
    struct spot place = spot_at(input, input->files[tag->file].shown, tag->line, tag->column);
    write_object(&object, zone_record_owner(input->compiler, tag->record, octets),
                 zone_record_type(tag->record));
    zone_compiler_explain(input->compiler, tag->record, reason, &text);
    report_add_about(input->report, level, place, object.at, zone_reason_name(reason),
                     buffer_text(&text).at);
}

static void report_result(struct zone_input *input, const struct result *result)
{
    if (result->outcome.reason != ZONE_FINE)
        report_finding(input, result->tag, REPORT_ERROR, result->outcome.reason);
    for (uint32_t warnings = result->outcome.warnings; warnings; warnings &= warnings - 1) {
        enum zone_reason reason = ZONE_TTL_MISMATCH + (unsigned)__builtin_ctz(warnings);
        if (reason != ZONE_DUPLICATE)
            report_finding(input, result->tag, REPORT_WARNING, reason);
    }
}

// ---- the zone as a whole ------------------------------------------------------------------------

static void set_frame(struct zone_input *input)
{
    struct zone_soa soa;
    if (!input->soa)
        return;
    zone_soa_read(input->soa, &soa);
    const struct zone_frame frame = {
        .has_mname = true,
        .mname = soa.mname,
        .rname = soa.rname,
        .ttl_s = input->soa->ttl_s,
        .refresh_s = soa.refresh_s,
        .retry_s = soa.retry_s,
        .expire_s = soa.expire_s,
        .minimum_s = soa.minimum_s,
        .limits = ZONE_LIMITS_OF_NAMED,
    };
    zone_compiler_set_frame(input->compiler, &frame);
}

static void report_zone(struct zone_input *input, enum report_level level, enum zone_reason reason,
                        const char *text)
{
    AUTO_BUFFER object = {0};
    dname_write(&object, input->apex);
    report_add_about(input->report, level, input->soa_at, object.at, zone_reason_name(reason),
                     text);
}

static bool is_of_soa(enum zone_reason reason)
{
    return reason == ZONE_SOA_TIMERS || reason == ZONE_MNAME_NOT_IN_NS;
}

static void take_warning(void *context, enum zone_reason reason, struct text text)
{
    struct zone_input *input = context;
    AUTO_BUFFER copy = {0};
    if (!input->soa && is_of_soa(reason))
        return;
    buffer_add(&copy, text.at, text.len);
    report_zone(input, REPORT_WARNING, reason, buffer_text(&copy).at);
}

static void report_fault(struct zone_input *input)
{
    AUTO_BUFFER text = {0};
    AUTO_BUFFER object = {0};
    enum zone_reason reason = zone_compiler_fault(input->compiler, &text);
    if (reason != ZONE_FINE)
        report_zone(input, REPORT_ERROR, reason, buffer_text(&text).at);
    if (input->put_count > ZONE_RECORDS_MAX)
        report_zone(input, REPORT_ERROR, ZONE_TOO_LARGE, "there are more than 1,000,000 records");
    if (input->soa)
        return;
    dname_write(&object, input->apex);
    report_add_about(input->report, REPORT_ERROR, input->soa_at, object.at, "NoSOA",
                     "the file has no SOA record for the zone; is this its origin?");
}

// Nothing signs a zone without a key: such records say what is not so.
static void report_strays(struct zone_input *input)
{
    for (size_t i = 0; i < input->stray_count; i++) {
        const struct unsigned_record *stray = &input->strays[i];
        AUTO_BUFFER object = {0};
        AUTO_BUFFER text = {0};
        char type[10];
        write_object(&object, (struct dname){stray->owner, stray->owner_len}, stray->type);
        buffer_printf(
            &text, "%s records are a signer's, and the zone has no DNSKEY at its apex: remove it",
            rr_type_write(stray->type, type));
        report_add_about(input->report, REPORT_ERROR, stray->place, object.at,
                         zone_reason_name(ZONE_RESERVED_TYPE), text.at);
    }
    input->report->counts[REPORT_ERROR] += input->signed_count - input->stray_count;
}

static void report_signed(struct zone_input *input)
{
    AUTO_BUFFER text = {0};
    if (!input->signed_count)
        return;
    if (!input->has_key) {
        report_strays(input);
        return;
    }
    buffer_printf(&text,
                  "the zone is signed: %zu of its records are its signer's (RRSIG, NSEC, "
                  "NSEC3, NSEC3PARAM, ZONEMD) and were passed over",
                  input->signed_count);
    report_add_about(input->report, REPORT_INFO, input->signed_at, NULL, NULL, text.at);
}

static void judge(struct zone_input *input)
{
    set_frame(input);
    zone_compiler_settle(input->compiler, take_result, input);
    for (size_t i = 0; i < input->result_count; i++)
        report_result(input, &input->results[i]);
    report_fault(input);
    zone_compiler_warnings(input->compiler, take_warning, input);
    report_signed(input);
}

// ---- reading ------------------------------------------------------------------------------------

struct zone_input *zone_input_new(struct dname apex, enum report_level unfit, struct report *report)
{
    struct zone_input *input = mem_new_of(struct zone_input);
    memcpy(input->apex_octets, apex.at, apex.len);
    input->apex = (struct dname){input->apex_octets, apex.len};
    input->report = report;
    input->unfit = unfit;
    input->compiler = zone_compiler_new(input->apex, &ops);
    input->tags = arena_new();
    return input;
}

void zone_input_free(struct zone_input *input)
{
    if (!input)
        return;
    for (size_t i = 0; i < input->file_count; i++) {
        free(input->files[i].real);
        buffer_done(&input->files[i].text);
    }
    free(input->files);
    free(input->folder);
    free(input->results);
    free(input->strays);
    buffer_done(&input->rdata);
    rrset_unref(input->soa);
    zone_compiler_free(input->compiler);
    arena_free(input->tags);
    free(input);
}

static void read_all(struct zone_input *input, const struct input_file *file)
{
    const struct zone_file_calls calls = {take_entry, take_fault, include, input};
    input->soa_at = spot_at(input, file->shown, 1, 1);
    zone_file_read(buffer_text(&file->text), file->shown, input->apex, &calls);
    judge(input);
}

bool zone_input_read(struct zone_input *input, const char *path, struct error *err)
{
    autofree char *real = disk_real_path(path, err);
    if (!real)
        return false;
    input->folder = disk_folder_of(real);
    const struct input_file *file = open_file(input, path, real, err);
    if (!file)
        return false;
    read_all(input, file);
    return true;
}

void zone_input_take(struct zone_input *input, const struct zone *zone, const char *server)
{
    struct buffer text = {0};
    zone_write_file(&text, zone);
    input->is_served = true;
    read_all(input, add_file(input, server, server, text));
}

size_t zone_input_unreadable(const struct zone_input *input)
{
    return input->unreadable_count;
}

size_t zone_input_file_count(const struct zone_input *input)
{
    return input->file_count;
}

size_t zone_input_entry_count(const struct zone_input *input)
{
    return input->entry_count;
}

bool zone_input_has_soa(const struct zone_input *input)
{
    return input->soa != NULL;
}

struct zone *zone_input_zone(struct zone_input *input)
{
    struct zone_soa soa = {0};
    if (input->soa)
        zone_soa_read(input->soa, &soa);
    return zone_compiler_zone(input->compiler, soa.serial);
}
