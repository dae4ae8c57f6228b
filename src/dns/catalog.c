#include "dns/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/must.h"
#include "dns/rr_type.h"

// RFC 9432 4.1: what of the SOA and NS no server needs.
enum { REFRESH_S = 3600, RETRY_S = 600, EXPIRE_S = 2147483646, STRING_MAX = 255 };

static const uint8_t invalid_octets[] = "\7invalid";
static const struct dname invalid = {invalid_octets, sizeof invalid_octets};

// What the catalog is made of so far.
struct writer {
    struct dname apex;
    struct rrset **sets;
    size_t count;
};

// `labels` in wire format, before the apex.
static struct dname name_of(const struct writer *writer, struct text labels, uint8_t out[DNAME_MAX])
{
    must(labels.len + writer->apex.len <= DNAME_MAX);
    memcpy(out, labels.at, labels.len);
    memcpy(out + labels.len, writer->apex.at, writer->apex.len);
    return (struct dname){out, labels.len + writer->apex.len};
}

static void add(struct writer *writer, struct text labels, uint16_t type, struct text rdata)
{
    uint8_t octets[DNAME_MAX];
    struct dname owner = name_of(writer, labels, octets);
    writer->sets[writer->count++] = rrset_new(owner, type, 0, &rdata, 1);
}

static void add_string(struct writer *writer, struct text labels, struct text string)
{
    char rdata[1 + STRING_MAX];
    must(string.len <= STRING_MAX);
    rdata[0] = (char)string.len;
    memcpy(rdata + 1, string.at, string.len);
    add(writer, labels, RR_TXT, (struct text){rdata, 1 + string.len});
}

static struct text text_of_name(struct dname name)
{
    return (struct text){(const char *)name.at, name.len};
}

void catalog_write_label(const struct catalog_member *member, char out[CATALOG_LABEL_LEN + 1])
{
    uint8_t hash[DIGEST_MAX];
    struct digest_state *state = digest_begin(DIGEST_SHA256);
    digest_add(state, member->fqdn.at, member->fqdn.len);
    digest_add(state, member->uid.at, member->uid.len);
    digest_end(state, hash);
    hex_encode(hash, CATALOG_LABEL_LEN / 2, out);
}

static void add_member(struct writer *writer, const struct catalog_member *member,
                       struct text group)
{
    static const char front[] = "\5group";
    static const char back[] = "\5zones";
    enum { FRONT = sizeof front - 1, BACK = sizeof back - 1 };
    char labels[FRONT + 1 + CATALOG_LABEL_LEN + BACK + 1];
    memcpy(labels, front, FRONT);
    labels[FRONT] = CATALOG_LABEL_LEN;
    catalog_write_label(member, labels + FRONT + 1);
    memcpy(labels + FRONT + 1 + CATALOG_LABEL_LEN, back, sizeof back);
    struct text with_group = {labels, sizeof labels - 1};
    struct text own = {labels + FRONT, with_group.len - FRONT};
    add(writer, own, RR_PTR, text_of_name(member->fqdn));
    if (group.len)
        add_string(writer, with_group, group);
}

struct zone *catalog_zone_new(struct dname apex, uint32_t serial,
                              const struct catalog_member *members, size_t count, struct text group)
{
    must(apex.len <= CATALOG_APEX_MAX);
    autofree struct rrset **sets = mem_new_array(struct rrset *, 2 + 2 * count);
    struct writer writer = {.apex = apex, .sets = sets};
    struct zone_soa soa = {.mname = invalid,
                           .rname = invalid,
                           .serial = serial,
                           .refresh_s = REFRESH_S,
                           .retry_s = RETRY_S,
                           .expire_s = EXPIRE_S};
    add(&writer, TEXT(""), RR_NS, text_of_name(invalid));
    add_string(&writer, TEXT("\7version"), TEXT("2"));
    for (size_t i = 0; i < count; i++)
        add_member(&writer, &members[i], group);
    return zone_new(zone_soa_set(apex, 0, &soa), writer.sets, writer.count);
}
