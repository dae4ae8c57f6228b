#include "kinds/pihole_annotations.h"

#include "base/memory.h"

const char *const pihole_annotation_names[PIHOLE_ANNOTATIONS] = {
    [PIHOLE_REGISTER] = PIHOLE_PREFIX "register",
    [PIHOLE_HOSTS] = PIHOLE_PREFIX "hosts",
    [PIHOLE_TARGET_IP] = PIHOLE_PREFIX "target-ip",
    [PIHOLE_TARGET_CNAME] = PIHOLE_PREFIX "target-cname",
    [PIHOLE_CNAME_TTL] = PIHOLE_PREFIX "cname-ttl",
    [PIHOLE_INSTANCES] = PIHOLE_PREFIX "instances",
    [PIHOLE_DELETION_POLICY] = PIHOLE_PREFIX "deletion-policy",
};

static const struct value *annotations_of(const struct value *object)
{
    return value_find(value_find(object, "metadata"), "annotations");
}

// ---- annotations --------------------------------------------------------------------------------

// The usual value of `register` is a bit of its own.
enum { ANNOTATION_TRUE = 1 << PIHOLE_ANNOTATIONS };

void pihole_annotations_decode(const struct value *object, struct pihole_annotations *out)
{
    const struct value *annotations = annotations_of(object);
    *out = (struct pihole_annotations){0};
    value_each (item, annotations && annotations->type == VALUE_MAP ? annotations : NULL) {
        if (!text_starts(item->key, PIHOLE_PREFIX))
            continue;
        for (size_t i = 0; i < PIHOLE_ANNOTATIONS; i++)
            if (text_is(item->key, pihole_annotation_names[i]))
                out->at[i] = value_text(item);
    }
}

static unsigned annotation_flags(const struct pihole_annotations *annotations)
{
    unsigned flags = 0;
    for (unsigned i = 0; i < PIHOLE_ANNOTATIONS; i++)
        flags |= annotations->at[i].at ? 1U << i : 0;
    if (text_is(annotations->at[PIHOLE_REGISTER], "true"))
        flags = (flags & ~(1U << PIHOLE_REGISTER)) | ANNOTATION_TRUE;
    return flags;
}

void pihole_annotations_pack(const struct value *object, struct pack_writer *out)
{
    struct pihole_annotations annotations;
    pihole_annotations_decode(object, &annotations);
    unsigned flags = annotation_flags(&annotations);
    if (!flags)
        return;
    pack_number(out, flags);
    for (unsigned i = 0; i < PIHOLE_ANNOTATIONS; i++)
        if (flags & 1U << i)
            pack_text(out, annotations.at[i]);
}

void pihole_annotations_unpack(struct pack_reader *in, struct pihole_annotations *out)
{
    *out = (struct pihole_annotations){0};
    if (in->at == in->body.len)
        return;
    unsigned flags = (unsigned)unpack_number(in);
    for (unsigned i = 0; i < PIHOLE_ANNOTATIONS; i++)
        if (flags & 1U << i)
            out->at[i] = unpack_text(in);
    if (flags & ANNOTATION_TRUE)
        out->at[PIHOLE_REGISTER] = TEXT("true");
}

// ---- ours ---------------------------------------------------------------------------------------

enum ours_flag {
    OURS_HOSTS = 1 << 0,
    OURS_BY = 1 << 1,
    OURS_STATUS = 1 << 2,
    OURS_SATISFIED = 1 << 3,
};

// One by one, as each may stand in the spec: (1, name) ..., ended by 0.
static void pack_names(struct pack_writer *out, struct text list)
{
    struct text name;
    while (text_cut(&list, ',', &name)) {
        pack_number(out, 1);
        pack_text(out, name);
    }
    pack_number(out, 0);
}

static struct text unpack_names(struct arena *arena, struct pack_reader *in)
{
    AUTO_BUFFER list = {0};
    for (size_t i = 0; unpack_number(in); i++) {
        struct text name = unpack_text(in);
        if (i)
            buffer_add_char(&list, ',');
        buffer_add(&list, name.at, name.len);
    }
    struct text text = buffer_text(&list);
    return (struct text){arena_copy(arena, text.at, text.len), text.len};
}

void pihole_managed_pack(const struct value *object, struct pack_writer *out)
{
    const struct value *annotations = annotations_of(object);
    struct text hosts = value_text(value_find(annotations, PIHOLE_MANAGED_HOSTS));
    struct text by = value_text(value_find(annotations, PIHOLE_MANAGED_BY));
    struct text status = value_text(value_find(annotations, PIHOLE_STATUS));
    struct text satisfied = value_text(value_find(annotations, PIHOLE_SATISFIED_HOSTS));
    unsigned flags = (hosts.at ? OURS_HOSTS : 0) | (by.at ? OURS_BY : 0) |
                     (status.at ? OURS_STATUS : 0) | (satisfied.at ? OURS_SATISFIED : 0);
    if (!flags)
        return;
    pack_number(out, flags);
    if (hosts.at)
        pack_names(out, hosts);
    if (by.at)
        pack_text(out, by);
    if (status.at)
        pack_text(out, status);
    if (satisfied.at)
        pack_names(out, satisfied);
}

void pihole_managed_unpack(struct arena *arena, struct text spec, struct text ours,
                           struct pihole_managed *out)
{
    *out = (struct pihole_managed){0};
    if (!ours.len)
        return;
    struct pack_reader in = pack_open_behind(spec, ours);
    unsigned flags = (unsigned)unpack_number(&in);
    if (flags & OURS_HOSTS)
        out->managed_hosts = unpack_names(arena, &in);
    if (flags & OURS_BY)
        out->managed_by = unpack_text(&in);
    if (flags & OURS_STATUS)
        out->status = unpack_text(&in);
    if (flags & OURS_SATISFIED)
        out->satisfied_hosts = unpack_names(arena, &in);
}

// ---- names --------------------------------------------------------------------------------------

bool pihole_is_listed(struct text list, struct text name)
{
    struct text piece;
    while (text_cut(&list, ',', &piece))
        if (text_equal_nocase(text_trim(piece), name))
            return true;
    return false;
}

// The annotations of an object, which hold for all of its hosts.
struct host_lister {
    struct kind_names *out;
    struct pihole_annotations desired;
    bool is_asked_for;
    struct text managed; // absent where nobody of Signpost wrote it
    struct text satisfied;
};

static struct text annotation_of(const struct value *object, const char *name)
{
    return value_text(value_find(annotations_of(object), name));
}

static void say_what_became(const struct host_lister *lister, struct kind_name *host)
{
    if (pihole_is_listed(lister->managed, host->name)) {
        host->status = "True";
        host->reason = TEXT("Synced");
    } else if (pihole_is_listed(lister->satisfied, host->name)) {
        host->status = "True";
        host->reason = TEXT("Satisfied");
        host->message = TEXT("a line that somebody else wrote says the same");
    }
}

static void list_host(const struct host_lister *lister, struct text name)
{
    name = text_trim(name);
    if (!name.len)
        return;
    const struct text *at = lister->desired.at;
    struct kind_name *host = kind_names_add(
        lister->out, lister->is_asked_for ? KIND_NAME_RECORDS : KIND_NAME_MENTION, name);
    host->values = at[PIHOLE_TARGET_CNAME].len ? at[PIHOLE_TARGET_CNAME] : at[PIHOLE_TARGET_IP];
    if (lister->is_asked_for)
        say_what_became(lister, host);
    else
        host->message = TEXT("it asks for no record at a Pi-hole: the annotation "
                             "pihole.io/register: \"true\" does");
}

void pihole_list_names(const struct value *object, struct kind_names *out)
{
    struct host_lister lister = {.out = out};
    struct text piece;
    size_t before = out->count;
    pihole_annotations_decode(object, &lister.desired);
    lister.is_asked_for = text_is(lister.desired.at[PIHOLE_REGISTER], "true");
    lister.satisfied = annotation_of(object, PIHOLE_SATISFIED_HOSTS);
    if (text_starts(annotation_of(object, PIHOLE_MANAGED_BY), PIHOLE_MANAGED_BY_PREFIX))
        lister.managed = annotation_of(object, PIHOLE_MANAGED_HOSTS);
    struct text given = lister.desired.at[PIHOLE_HOSTS];
    while (text_cut(&given, ',', &piece))
        list_host(&lister, piece);
    if (out->count > before)
        return;
    value_each (rule, value_list_at(object, "spec.rules"))
        list_host(&lister, value_text_at(rule, "host"));
    value_each (name, value_list_at(object, "spec.hostnames"))
        list_host(&lister, value_text(name));
}
