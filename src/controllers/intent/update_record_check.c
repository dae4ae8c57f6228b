#include <string.h>

#include "base/digest.h"
#include "base/must.h"
#include "controllers/intent/update_record_reconcile.h"
#include "kinds/secret/secret_kind.h"

// Whether a record can be used: its content, its owner id, where its records stand, its Secrets.

enum { CHECKSUM_OCTETS = 8, MESSAGE_MAX = 256, LINE_MIN = 8, SHOWN_USERS_MAX = 5 };
#define MASK "***"

static void set_fault(struct update_record_fault *fault, enum reason reason, const char *text)
{
    if (!fault->reason)
        *fault = (struct update_record_fault){reason, text};
}

// ---- content ------------------------------------------------------------------------------------

static void check_content(struct update_record_reconcile *reconcile)
{
    unsigned minor;
    const char *text = findings_join(&reconcile->findings, FINDING_ERROR);
    bool is_old =
        external_dns_release_read(reconcile->record.version, &minor) == EXTERNAL_DNS_TOO_OLD;
    if (text)
        set_fault(&reconcile->fault, is_old ? REASON_VERSION_UNSUPPORTED : REASON_INVALID_PARAMETER,
                  text);
}

static void check_owner(struct update_record_reconcile *reconcile)
{
    const struct object *holder = reconcile->view.owner_holder;
    if (holder)
        set_fault(&reconcile->fault, REASON_OWNER_CONFLICT,
                  arena_printf(reconcile->arena,
                               "DNSUpdateRecord %.*s/%.*s has the same owner id: two that share "
                               "one remove each other's records, so give txt-owner-id another "
                               "value, or leave it out",
                               TEXT_ARGS(object_namespace(holder)),
                               TEXT_ARGS(object_name(holder))));
}

// ---- place --------------------------------------------------------------------------------------

static bool makes_owner(const struct update_record *record)
{
    return !record->adopt_owner.len &&
           text_is(update_record_text(record, PARAMETER_TXT_OWNER_ID), "default");
}

static struct external_dns_input input_of(const struct update_record_reconcile *reconcile)
{
    return (struct external_dns_input){
        .record = &reconcile->record,
        .minor = reconcile->minor,
        .project = reconcile->view.project,
        .namespace_ = object_namespace(reconcile->in->subject),
        .pinned = &reconcile->pinned,
    };
}

// Where something of the record may stand: as it is pinned, or else as the Deployment says.
static struct external_dns_pinned standing_pinned(const struct update_record_reconcile *reconcile,
                                                  const struct external_dns_pinned *asked)
{
    size_t count;
    struct external_dns_pinned there = reconcile->record.pinned;
    const struct object *seen = reconcile->seen[EXTERNAL_DNS_DEPLOYMENT];
    if (there.place.len)
        return there;
    there.place = asked->place;
    there.signer = asked->signer;
    there.is_native = asked->is_native && !seen;
    if (!seen)
        return there;
    const struct text_pair *annotations =
        deployment_annotations(reconcile->arena, object_spec(seen), &count);
    struct text place = text_map_find(annotations, count, TEXT(UPDATE_RECORD_PLACE_ANNOTATION));
    if (place.len)
        there.place = place;
    return there;
}

// Is external-dns still to remove names?
static bool is_external_dns_draining(const struct update_record_reconcile *reconcile,
                                     const struct external_dns_pinned *there)
{
    for (size_t i = 0; !there->is_native && i < reconcile->view.user_count; i++)
        if (reconcile->view.users[i].is_draining)
            return true;
    return false;
}

// Returns whether something else is asked for than what is in force.
static bool choose_pinned(struct update_record_reconcile *reconcile)
{
    const struct update_record *record = &reconcile->record;
    struct external_dns_pinned asked;
    const struct external_dns_input input = input_of(reconcile);
    external_dns_pinned_ask(reconcile->arena, &input, text_of(reconcile->in->owner_id), &asked);
    struct external_dns_pinned there = standing_pinned(reconcile, &asked);
    bool is_free = !reconcile->may_stand && !reconcile->seen[EXTERNAL_DNS_DEPLOYMENT];
    bool is_changed = record->has_pinned && !is_free && !external_dns_is_same_place(&asked, &there);
    if (record->has_pinned && is_external_dns_draining(reconcile, &there))
        asked.is_native = false;
    reconcile->pinned = is_changed ? there : asked;
    reconcile->has_pinned = record->has_pinned || !makes_owner(record) || reconcile->in->owner_id;
    reconcile->is_native = reconcile->pinned.is_native;
    return is_changed;
}

static const char *list_users(const struct update_record_reconcile *reconcile)
{
    AUTO_BUFFER list = {0};
    const struct record_view *view = &reconcile->view;
    for (size_t i = 0; i < view->user_count && i < SHOWN_USERS_MAX; i++)
        buffer_printf(&list, "%s%.*s/%.*s/%.*s", i ? ", " : "",
                      TEXT_ARGS(view->users[i].composite_app), TEXT_ARGS(view->users[i].version),
                      TEXT_ARGS(view->users[i].group));
    if (view->user_count > SHOWN_USERS_MAX)
        buffer_printf(&list, " and %zu more", view->user_count - SHOWN_USERS_MAX);
    return arena_copy(reconcile->arena, list.at ? list.at : "", list.len);
}

static void check_place(struct update_record_reconcile *reconcile, bool is_pinned_changed)
{
    if (!is_pinned_changed)
        return;
    if (reconcile->record.may_move)
        reconcile->is_moving = true;
    else if (reconcile->may_stand)
        set_fault(
            &reconcile->fault, REASON_PINNED_CHANGE,
            arena_printf(
                reconcile->arena,
                "the records of %s would move to another place: take the change "
                "back, or let them be drained first by the annotation " MOVE_ANNOTATION
                ": drain (abandon, where the old place does not remove them and they may stay)",
                reconcile->view.user_count ? list_users(reconcile) : "DNSEndpoints that stand"));
}

void update_record_accept(struct update_record_reconcile *reconcile)
{
    struct update_record standing = reconcile->record;
    update_record_put_in_force(reconcile->arena, &standing);
    reconcile->is_native = standing.is_native;
    check_content(reconcile);
    if (reconcile->fault.reason)
        return;
    bool is_pinned_changed = choose_pinned(reconcile);
    reconcile->has_start = reconcile->has_pinned;
    const struct external_dns_input input = input_of(reconcile);
    if (reconcile->has_start)
        external_dns_start_make(reconcile->arena, &input, &reconcile->start);
    check_owner(reconcile);
    if (reconcile->has_start)
        check_place(reconcile, is_pinned_changed);
}

// ---- Secrets ------------------------------------------------------------------------------------

static const struct object *find_secret(const struct update_record_reconcile *reconcile,
                                        struct text name)
{
    const struct input_objects *secrets = &reconcile->in->inputs[UPDATE_RECORD_SECRETS];
    for (size_t i = 0; i < secrets->count; i++)
        if (text_equal(object_name(secrets->objects[i]), name))
            return secrets->objects[i];
    return NULL;
}

struct secret *update_record_secret(const struct update_record_reconcile *reconcile,
                                    const struct update_record_ref *ref)
{
    const struct object *object = find_secret(reconcile, ref->name);
    return object ? secret_kind_get(object_spec(object), ref->key) : NULL;
}

// Why the value that a Secret holds for a target cannot be used; NULL: no reason is known.
static const char *content_fault(const struct update_record_ref *ref, struct text content)
{
    const struct external_dns_parameter *row = external_dns_find(ref->target);
    return row && row->form == FORM_SECRET && row->check ? row->check(content) : NULL;
}

static void check_content_of(struct update_record_reconcile *reconcile,
                             const struct update_record_ref *ref, const char *name,
                             const struct secret *secret)
{
    struct text content = text_trim(secret_expose(secret));
    const char *fault = content_fault(ref, content);
    if (!content.len)
        set_fault(&reconcile->credentials, REASON_SECRET_KEY_MISSING,
                  arena_printf(reconcile->arena, "key %.*s of %s is empty: put the value there",
                               TEXT_ARGS(ref->key), name));
    else if (fault)
        set_fault(&reconcile->credentials, REASON_INVALID_CONFIGURATION,
                  arena_printf(reconcile->arena,
                               "key %.*s of %s %s: copy it from the server's key as it stands",
                               TEXT_ARGS(ref->key), name, fault));
}

static void check_ref(struct update_record_reconcile *reconcile,
                      const struct update_record_ref *ref)
{
    const struct object *object = find_secret(reconcile, ref->name);
    const char *name =
        arena_printf(reconcile->arena, "Secret %.*s/%.*s",
                     TEXT_ARGS(object_namespace(reconcile->in->subject)), TEXT_ARGS(ref->name));
    CLEANUP(secret) struct secret *secret = update_record_secret(reconcile, ref);
    if (!object)
        set_fault(&reconcile->credentials, REASON_SECRET_NOT_FOUND,
                  arena_printf(reconcile->arena, "%s does not exist: create it", name));
    else if (!secret)
        set_fault(&reconcile->credentials, REASON_SECRET_KEY_MISSING,
                  arena_printf(reconcile->arena, "%s has no key %.*s: add it", name,
                               TEXT_ARGS(ref->key)));
    else
        check_content_of(reconcile, ref, name, secret);
}

// A hash of the contents would let weak ones be guessed.
static const char *make_checksum(const struct update_record_reconcile *reconcile)
{
    uint8_t octets[DIGEST_MAX];
    char hex[2 * CHECKSUM_OCTETS + 1];
    const struct update_record *record = &reconcile->record;
    struct digest_state *digest = digest_begin(DIGEST_SHA256);
    for (size_t i = 0; i < record->ref_count; i++) {
        char uid[37];
        const struct object *object = find_secret(reconcile, record->refs[i].name);
        object_write_uid(object, uid);
        const char *line =
            arena_printf(reconcile->arena, "%.*s\n%s\n%.*s\n", TEXT_ARGS(record->refs[i].name), uid,
                         TEXT_ARGS(object_version(object)));
        digest_add(digest, line, strlen(line));
    }
    digest_end(digest, octets);
    hex_encode(octets, CHECKSUM_OCTETS, hex);
    return arena_copy_text(reconcile->arena, hex);
}

void update_record_read_secrets(struct update_record_reconcile *reconcile)
{
    const char *text;
    const char *unreadable = reconcile->in->inputs[UPDATE_RECORD_SECRETS].unreadable;
    const struct update_record *record = &reconcile->record;
    if (reconcile->fault.reason == REASON_INVALID_PARAMETER ||
        reconcile->fault.reason == REASON_VERSION_UNSUPPORTED)
        return;
    enum reason reason = update_record_credentials(record, &text);
    if (reason)
        set_fault(&reconcile->credentials, reason, text);
    if (record->ref_count && unreadable)
        set_fault(&reconcile->credentials, REASON_FORBIDDEN, unreadable);
    for (size_t i = 0; i < record->ref_count; i++)
        check_ref(reconcile, &record->refs[i]);
    if (record->ref_count && !reconcile->credentials.reason)
        reconcile->checksum = make_checksum(reconcile);
}

// ---- foreign texts ------------------------------------------------------------------------------

static struct text trim_end(struct text text)
{
    while (text.len && strchr(" \t\r\n", text.at[text.len - 1]))
        text.len--;
    return text;
}

static void replace_all(struct buffer *text, struct text secret)
{
    AUTO_BUFFER out = {0};
    const char *found;
    struct text rest = buffer_text(text);
    while (rest.len && (found = memmem(rest.at, rest.len, secret.at, secret.len))) {
        buffer_add(&out, rest.at, (size_t)(found - rest.at));
        buffer_add_text(&out, MASK);
        size_t taken = (size_t)(found - rest.at) + secret.len;
        rest = (struct text){rest.at + taken, rest.len - taken};
    }
    if (!out.len)
        return;
    buffer_add(&out, rest.at, rest.len);
    buffer_clear(text);
    buffer_add(text, out.at, out.len);
}

// Of a secret with several lines those that say something.
static void mask_lines(struct buffer *text, struct text secret)
{
    struct text line;
    size_t least = secret.len && memchr(secret.at, '\n', secret.len) ? LINE_MIN : 1;
    while (secret.len && text_cut(&secret, '\n', &line))
        if (line.len >= least)
            replace_all(text, line);
}

static struct text last_line(struct text text)
{
    struct text line = trim_end(text);
    const char *before = line.len ? memrchr(line.at, '\n', line.len) : NULL;
    if (!before)
        return line;
    return (struct text){before + 1, (size_t)(line.at + line.len - before - 1)};
}

const char *update_record_mask(const struct update_record_reconcile *reconcile, struct text text)
{
    AUTO_BUFFER masked = {0};
    AUTO_BUFFER clean = {0};
    struct text line = last_line(text);
    buffer_add(&masked, line.at ? line.at : "", line.len);
    for (size_t i = 0; i < reconcile->record.ref_count; i++) {
        CLEANUP(secret)
        struct secret *secret = update_record_secret(reconcile, &reconcile->record.refs[i]);
        mask_lines(&masked, secret ? trim_end(secret_expose(secret)) : TEXT(""));
    }
    text_clean(&clean, buffer_text(&masked), MESSAGE_MAX);
    return arena_copy(reconcile->arena, clean.at ? clean.at : "", clean.len);
}
