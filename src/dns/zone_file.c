#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "dns/period.h"
#include "dns/rr_type.h"
#include "dns/zone_file_private.h"

enum { CLASS_IN = 1, CLASS_CH = 3, CLASS_HS = 4, SHOWN_MAX = 80 };

static int shown(struct text text)
{
    return (int)utf8_prefix(text, SHOWN_MAX).len;
}

// ---- what stands before the rdata ---------------------------------------------------------------

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_ttl(struct zone_file_reader *reader, struct text text, uint32_t *ttl_s)
{
    uint64_t seconds;
    if (!period_read(text, &seconds)) {
        zone_file_report(reader, text.at, "InvalidTTL",
                         "expected a TTL, such as 3600 or 1h30m, found %.*s", shown(text), text.at);
        return false;
    }
    if (seconds > UINT32_MAX) {
        zone_file_report(reader, text.at, "InvalidTTL", "TTL %.*s is over 2147483647", shown(text),
                         text.at);
        return false;
    }
    *ttl_s = (uint32_t)seconds;
    return true;
}

static bool read_class_number(struct text text, uint16_t *class_)
{
    int64_t number;
    if (text.len < 6 || text.len > 10 ||
        !text_equal_nocase((struct text){text.at, 5}, TEXT("CLASS")) ||
        !text_to_int64((struct text){text.at + 5, text.len - 5}, &number) || number < 0 ||
        number > UINT16_MAX)
        return false;
    *class_ = (uint16_t)number;
    return true;
}

static bool read_class(struct text text, uint16_t *class_)
{
    static const struct {
        char name[3];
        uint16_t number;
    } classes[] = {{"IN", CLASS_IN}, {"CH", CLASS_CH}, {"HS", CLASS_HS}};
    for (size_t i = 0; text.len == 2 && i < COUNT_OF(classes); i++)
        if (text_equal_nocase(text, (struct text){classes[i].name, 2})) {
            *class_ = classes[i].number;
            return true;
        }
    return read_class_number(text, class_);
}

static bool is_obsolete(uint16_t type)
{
    enum { TYPE_MD = 3, TYPE_MF = 4 };
    return type == TYPE_MD || type == TYPE_MF;
}

static bool is_negative(struct text text)
{
    uint64_t seconds;
    return text.len > 1 && *text.at == '-' &&
           period_read((struct text){text.at + 1, text.len - 1}, &seconds);
}

static bool refuse_type(struct zone_file_reader *reader, size_t next)
{
    if (next == reader->count) {
        zone_file_report(reader, reader->words[next - 1].text.at, "Syntax",
                         "expected a type and its data behind %.*s",
                         shown(reader->words[next - 1].text), reader->words[next - 1].text.at);
        return false;
    }
    struct text text = reader->words[next].text;
    if (is_negative(text))
        zone_file_report(reader, text.at, "InvalidTTL", "TTL %.*s is below 0", shown(text),
                         text.at);
    else
        zone_file_report(reader, text.at, "InvalidType", "%.*s is no type", shown(text), text.at);
    return false;
}

// named and NSD refuse files with them; RFC 1035 3.3.4 has them rejected or converted.
static bool refuse_obsolete(struct zone_file_reader *reader, struct text text)
{
    zone_file_report(reader, text.at, "InvalidType",
                     "%.*s is obsolete (RFC 973): write MX 0 and the name", shown(text), text.at);
    return false;
}

bool zone_file_read_head(struct zone_file_reader *reader, size_t *next, struct zone_file_head *head)
{
    bool has_class = false;
    *head = (struct zone_file_head){.class_ = CLASS_IN};
    for (; *next < reader->count; (*next)++) {
        const struct rdata_word *word = &reader->words[*next];
        if (word->is_quoted)
            break;
        if (!head->has_ttl && is_digit(*word->text.at)) {
            if (!read_ttl(reader, word->text, &head->ttl_s))
                return false;
            head->has_ttl = true;
        } else if (!has_class && read_class(word->text, &head->class_)) {
            has_class = true;
        } else if (rr_type_read(word->text, &head->type)) {
            (*next)++;
            return !is_obsolete(head->type) || refuse_obsolete(reader, word->text);
        } else {
            break;
        }
    }
    return refuse_type(reader, *next);
}

bool zone_file_read_owner(struct zone_file_reader *reader, struct text text)
{
    bool is_read = dname_read(text, &reader->origin, DNAME_OF_FILE, reader->owner_octets,
                              &reader->owner, &reader->err);
    reader->owner_state = is_read ? OWNER_KNOWN : OWNER_BROKEN;
    return is_read;
}

void zone_file_emit(struct zone_file_reader *reader, const struct zone_file_head *head, size_t next)
{
    const struct rdata_word *first = &reader->words[0];
    struct zone_file_place place = zone_file_place_of(reader, first->text.at - first->is_quoted);
    struct zone_file_entry entry = {
        .owner = reader->owner,
        .type = head->type,
        .class_ = head->class_,
        .has_ttl = head->has_ttl || reader->has_default_ttl || reader->has_ttl,
        .ttl_s = head->has_ttl             ? head->ttl_s
                 : reader->has_default_ttl ? reader->default_ttl_s
                                           : reader->ttl_s,
        .words = reader->words + next,
        .word_count = reader->count - next,
        .origin = reader->origin,
        .file = place.file,
        .line = place.line,
        .column = place.column,
    };
    reader->has_ttl = entry.has_ttl;
    reader->ttl_s = entry.ttl_s;
    reader->calls->entry(reader->calls->context, &entry);
}

static bool take_owner(struct zone_file_reader *reader, size_t *next)
{
    if (!reader->begins_blank) {
        *next = 1;
        if (zone_file_read_owner(reader, reader->words[0].text))
            return true;
        zone_file_report_error(reader, reader->words[0].text.at);
        return false;
    }
    if (reader->owner_state != OWNER_KNOWN)
        zone_file_report(
            reader, reader->words[0].text.at, "Syntax",
            reader->owner_state == OWNER_NONE
                ? "no entry stands before this one that could give it its name"
                : "the entry before has no good name that could be the name of this one");
    return reader->owner_state == OWNER_KNOWN;
}

static void take_record(struct zone_file_reader *reader)
{
    struct zone_file_head head;
    size_t next = 0;
    if (take_owner(reader, &next) && zone_file_read_head(reader, &next, &head))
        zone_file_emit(reader, &head, next);
}

// ---- directives ---------------------------------------------------------------------------------

static void read_source(struct zone_file_reader *reader, struct text text, const char *file);

static bool has_arguments(struct zone_file_reader *reader, size_t least, size_t most)
{
    struct text name = reader->words[0].text;
    if (reader->count > least && reader->count <= most + 1)
        return true;
    if (reader->count <= least)
        zone_file_report(reader, name.at, "Syntax", "%.*s needs more behind it", shown(name),
                         name.at);
    else
        zone_file_report(reader, reader->words[most + 1].text.at, "Syntax",
                         "%.*s takes nothing more", shown(name), name.at);
    return false;
}

static bool set_origin(struct zone_file_reader *reader, struct text text)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    if (!dname_read(text, &reader->origin, DNAME_OF_FILE, octets, &name, &reader->err))
        return false;
    memcpy(reader->origin_octets, octets, name.len);
    reader->origin.len = name.len;
    return true;
}

// Names below a $ORIGIN that is not understood would all be wrong.
static void take_origin(struct zone_file_reader *reader)
{
    if (reader->count == 2 && set_origin(reader, reader->words[1].text))
        return;
    if (reader->count != 2)
        error_set(&reader->err, FAULT_SPEC, "Syntax", "$ORIGIN needs one name");
    error_prefix(&reader->err, "the file is read no further: ");
    zone_file_report_error(reader, reader->words[reader->count > 1].text.at);
    reader->is_ended = true;
}

static void take_ttl(struct zone_file_reader *reader)
{
    if (has_arguments(reader, 1, 1) &&
        read_ttl(reader, reader->words[1].text, &reader->default_ttl_s))
        reader->has_default_ttl = true;
}

static bool may_include(struct zone_file_reader *reader)
{
    const char *at = reader->words[0].text.at;
    if (!has_arguments(reader, 1, 2))
        return false;
    if (reader->calls->include && reader->depth < ZONE_FILE_DEPTH_MAX &&
        reader->include_count < ZONE_FILE_INCLUDES_MAX)
        return true;
    if (!reader->calls->include)
        zone_file_report(reader, at, "Include", "$INCLUDE is not allowed here");
    else if (reader->depth == ZONE_FILE_DEPTH_MAX)
        zone_file_report(reader, at, "Include", "files include each other more than %d deep",
                         ZONE_FILE_DEPTH_MAX);
    else
        zone_file_report(reader, at, "Include", "more than %d files are included",
                         ZONE_FILE_INCLUDES_MAX);
    return false;
}

// Its names are not those of the file around it (RFC 1035 5.1).
static void read_included(struct zone_file_reader *reader, struct text text, const char *file)
{
    struct zone_file_source source = reader->source;
    uint8_t owner[DNAME_MAX];
    struct dname name = reader->owner;
    enum zone_file_owner state = reader->owner_state;
    memcpy(owner, reader->owner_octets, sizeof owner);
    reader->owner_state = OWNER_NONE;
    reader->depth++;
    reader->include_count++;
    read_source(reader, text, file);
    reader->depth--;
    reader->owner_state = state;
    reader->owner = name;
    memcpy(reader->owner_octets, owner, sizeof owner);
    reader->source = source;
    reader->is_ended = false;
}

static void take_include(struct zone_file_reader *reader)
{
    struct text text;
    const char *file;
    uint8_t origin[DNAME_MAX];
    size_t len = reader->origin.len;
    if (!may_include(reader))
        return;
    if (!reader->calls->include(reader->calls->context, reader->words[1].text, reader->source.file,
                                &text, &file, &reader->err)) {
        zone_file_report_error(reader, reader->words[1].text.at);
        return;
    }
    memcpy(origin, reader->origin_octets, len);
    if (reader->count == 2 || set_origin(reader, reader->words[2].text))
        read_included(reader, text, file);
    else
        zone_file_report_error(reader, reader->words[2].text.at);
    memcpy(reader->origin_octets, origin, len);
    reader->origin.len = len;
}

static void take_directive(struct zone_file_reader *reader)
{
    static const struct {
        struct text name;
        void (*take)(struct zone_file_reader *reader);
    } rows[] = {{{"$ORIGIN", 7}, take_origin},
                {{"$TTL", 4}, take_ttl},
                {{"$INCLUDE", 8}, take_include},
                {{"$GENERATE", 9}, zone_file_generate}};
    struct text name = reader->words[0].text;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (text_equal_nocase(name, rows[i].name)) {
            rows[i].take(reader);
            return;
        }
    zone_file_report(reader, name.at, "Syntax",
                     "%.*s is not known: $ORIGIN, $TTL, $INCLUDE and $GENERATE are", shown(name),
                     name.at);
}

// ---- sources ------------------------------------------------------------------------------------

static bool is_directive(const struct zone_file_reader *reader)
{
    const struct rdata_word *first = &reader->words[0];
    return !reader->begins_blank && !first->is_quoted && *first->text.at == '$';
}

// What comes after it may want its name.
static void take_broken(struct zone_file_reader *reader)
{
    zone_file_report_error(reader, reader->fault_at);
    if (reader->begins_blank)
        return;
    if (!reader->count || reader->words[0].text.at + reader->words[0].text.len >= reader->fault_at)
        reader->owner_state = OWNER_BROKEN;
    else if (!is_directive(reader))
        zone_file_read_owner(reader, reader->words[0].text);
    else
        reader->is_ended = text_equal_nocase(reader->words[0].text, TEXT("$ORIGIN"));
}

static void read_entry(struct zone_file_reader *reader)
{
    zone_file_scan(reader);
    if (reader->has_fault)
        take_broken(reader);
    else if (!reader->count)
        return;
    else if (is_directive(reader))
        take_directive(reader);
    else
        take_record(reader);
}

static void read_source(struct zone_file_reader *reader, struct text text, const char *file)
{
    static const char mark[] = "\xef\xbb\xbf"; // some editors begin a file with it
    size_t skipped = text_starts(text, mark) ? sizeof mark - 1 : 0;
    const char *at = text.at + skipped;
    reader->source = (struct zone_file_source){file, at, text.at + text.len, at, 1};
    while (reader->source.at < reader->source.end && !reader->is_ended)
        read_entry(reader);
}

void zone_file_read(struct text text, const char *file, struct dname origin,
                    const struct zone_file_calls *calls)
{
    struct zone_file_reader reader;
    memset(&reader, 0, offsetof(struct zone_file_reader, err));
    reader.calls = calls;
    reader.origin = (struct dname){reader.origin_octets, origin.len};
    memcpy(reader.origin_octets, origin.at, origin.len);
    read_source(&reader, text, file);
    free(reader.words);
}
