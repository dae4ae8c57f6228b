#include "dns/rdata.h"
#include "dns/rr_type.h"
#include "dns/zone.h"

enum {
    OWNER_WIDTH_MAX = 32, // a longer one pushes its own line only
    TTL_WIDTH = 6,
    TYPE_WIDTH = 5,
    KUBIZONE_TTL_WIDTH = 8,
};

// Blanks up to a column's end, which stands `width` octets behind `from`; and one that parts it
// from the next.
static void end_column(struct buffer *out, size_t from, size_t width)
{
    do
        buffer_add_char(out, ' ');
    while (out->len < from + width + 1);
}

static void write_number_column(struct buffer *out, uint32_t number, size_t width)
{
    size_t from = out->len;
    buffer_add_number(out, number);
    end_column(out, from, width);
}

static void write_text_column(struct buffer *out, const char *text, size_t width)
{
    size_t from = out->len;
    buffer_add_text(out, text);
    end_column(out, from, width);
}

// ---- owners -------------------------------------------------------------------------------------

static size_t text_len(struct dname name, struct buffer *scratch)
{
    buffer_clear(scratch);
    dname_write(scratch, name);
    return scratch->len;
}

// What stands behind a name within the zone: a dot, and the apex but for the root's own.
static size_t apex_suffix_len(struct dname apex)
{
    AUTO_BUFFER scratch = {0};
    return dname_is_root(apex) ? 1 : text_len(apex, &scratch) + 1;
}

static void write_relative(struct buffer *out, struct dname owner, struct dname apex,
                           size_t suffix_len)
{
    if (dname_equal(owner, apex)) {
        buffer_add_char(out, '@');
        return;
    }
    dname_write(out, owner);
    if (!dname_is_within(owner, apex))
        return;
    out->len -= suffix_len;
    out->at[out->len] = '\0';
}

static size_t longest_owner(const struct zone *zone)
{
    AUTO_BUFFER scratch = {0};
    size_t longest = 0;
    const struct rrset *set;
    for (struct zone_walk walk = {.zone = zone}; (set = zone_walk(&walk));) {
        size_t len = text_len(rrset_owner(set), &scratch);
        longest = len > longest ? len : longest;
    }
    return longest;
}

// ---- lines --------------------------------------------------------------------------------------

struct layout {
    struct dname apex;
    size_t suffix_len;
    size_t owner_width;
    void (*write)(struct buffer *out, const struct rrset *set, struct text rdata);
};

static void write_set(struct buffer *out, const struct layout *layout, const struct rrset *set)
{
    struct text rdata;
    AUTO_BUFFER owner = {0};
    write_relative(&owner, rrset_owner(set), layout->apex, layout->suffix_len);
    end_column(&owner, 0, layout->owner_width);
    for (size_t cursor = 0; rrset_next(set, &cursor, &rdata);) {
        buffer_add(out, owner.at, owner.len);
        layout->write(out, set, rdata);
        buffer_add_char(out, '\n');
    }
}

// The SOA, then all the others in canonical order; each line has its end.
static void write_sets(struct buffer *out, const struct layout *layout, const struct zone *zone)
{
    const struct rrset *set;
    write_set(out, layout, zone_soa(zone));
    for (struct zone_walk walk = {.zone = zone}; (set = zone_walk(&walk));)
        if (set != zone_soa(zone))
            write_set(out, layout, set);
}

static void write_origin(struct buffer *out, struct dname apex)
{
    buffer_add_text(out, "$ORIGIN ");
    dname_write(out, apex);
    buffer_add_char(out, '\n');
}

static void write_file_data(struct buffer *out, const struct rrset *set, struct text rdata)
{
    char number[10];
    const char *type = rr_type_write_portable(set->type, number);
    write_number_column(out, set->ttl_s, TTL_WIDTH);
    buffer_add_text(out, "IN ");
    write_text_column(out, type, TYPE_WIDTH);
    if (type == number)
        rdata_write_generic(out, rdata);
    else
        rdata_write(out, set->type, rdata);
}

static void write_kubizone_data(struct buffer *out, const struct rrset *set, struct text rdata)
{
    char type[10];
    write_number_column(out, set->ttl_s, KUBIZONE_TTL_WIDTH);
    buffer_add_text(out, "IN ");
    write_text_column(out, rr_type_write(set->type, type), 0);
    if (set->type == RR_SOA)
        zone_write_kubizone_soa(out, set);
    else
        rdata_write(out, set->type, rdata);
}

void zone_write_file(struct buffer *out, const struct zone *zone)
{
    struct layout layout = {
        .apex = zone_apex(zone),
        .suffix_len = apex_suffix_len(zone_apex(zone)),
        .write = write_file_data,
    };
    size_t longest = longest_owner(zone);
    layout.owner_width = longest > layout.suffix_len ? longest - layout.suffix_len : 1;
    if (layout.owner_width > OWNER_WIDTH_MAX)
        layout.owner_width = OWNER_WIDTH_MAX;
    write_origin(out, layout.apex);
    write_sets(out, &layout, zone);
}

void zone_write_kubizone(struct buffer *out, const struct zone *zone)
{
    struct layout layout = {
        .apex = zone_apex(zone),
        .suffix_len = apex_suffix_len(zone_apex(zone)),
        .owner_width = longest_owner(zone),
        .write = write_kubizone_data,
    };
    write_origin(out, layout.apex);
    buffer_add_char(out, '\n');
    write_sets(out, &layout, zone);
    out->at[--out->len] = '\0'; // it ends without line feed
}

void zone_write_kubizone_soa(struct buffer *out, const struct rrset *set)
{
    struct zone_soa soa;
    zone_soa_read(set, &soa);
    const uint32_t numbers[] = {soa.serial, soa.refresh_s, soa.retry_s, soa.expire_s,
                                soa.minimum_s};
    dname_write(out, soa.mname);
    buffer_add_char(out, ' ');
    dname_write(out, soa.rname);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        buffer_add_text(out, i ? " " : " (");
        buffer_add_number(out, numbers[i]);
    }
    buffer_add_char(out, ')');
}

void zone_write_record(struct buffer *out, const struct rrset *set, struct text rdata)
{
    char type[10];
    dname_write(out, rrset_owner(set));
    buffer_add_char(out, ' ');
    write_number_column(out, set->ttl_s, 0);
    buffer_add_text(out, "IN ");
    write_text_column(out, rr_type_write(set->type, type), 0);
    rdata_write(out, set->type, rdata);
}
