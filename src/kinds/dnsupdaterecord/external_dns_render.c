#include "kinds/dnsupdaterecord/external_dns_render.h"

#include <string.h>

#include "base/must.h"
#include "kinds/emco_name.h"

enum {
    LABEL_SLUG = 40,
    OWNER_SLUG = 20,
    HASH_DIGITS = 8,
    LAST_OLD_PREFIX = 21, // the last release with the old prefix of annotations
};
#define MOUNTS EXTERNAL_DNS_FILES "/"

struct renderer {
    struct arena *arena;
    const struct external_dns_input *input;
    const char **args;
    size_t arg_count;
    size_t arg_capacity;
    struct external_dns_env *env;
    struct external_dns_file *files;
    struct external_dns_start *out;
};

// ---- names --------------------------------------------------------------------------------------

static const char *copy_buffer(struct arena *arena, const struct buffer *buffer)
{
    return arena_copy(arena, buffer->at, buffer->len);
}

const char *update_record_label(struct arena *arena, struct text project, struct text record)
{
    AUTO_BUFFER label = {0};
    const struct text components[] = {project, record};
    emco_slug_write(&label, record, LABEL_SLUG);
    buffer_add_char(&label, '-');
    emco_hash_write(&label, HASH_DIGITS, components, COUNT_OF(components));
    return copy_buffer(arena, &label);
}

static struct text make_owner(struct arena *arena, struct text project, struct text record,
                              struct text process_owner)
{
    AUTO_BUFFER id = {0};
    const struct text components[] = {project, record, process_owner};
    buffer_add_text(&id, "signpost-");
    emco_slug_write(&id, project, OWNER_SLUG);
    buffer_add_char(&id, '-');
    emco_slug_write(&id, record, OWNER_SLUG);
    buffer_add_char(&id, '-');
    emco_hash_write(&id, HASH_DIGITS, components, COUNT_OF(components));
    return text_of(copy_buffer(arena, &id));
}

static const char *default_prefix(unsigned minor)
{
    return minor > LAST_OLD_PREFIX ? "external-dns.kubernetes.io/"
                                   : "external-dns.alpha.kubernetes.io/";
}

void external_dns_pinned_make(struct arena *arena, const struct update_record *record,
                              unsigned minor, struct text project, struct text process_owner,
                              struct external_dns_pinned *out)
{
    struct text given = update_record_text(record, PARAMETER_TXT_OWNER_ID);
    struct text prefix = update_record_text(record, PARAMETER_ANNOTATION_PREFIX);
    *out = (struct external_dns_pinned){
        .owner_id = given,
        .txt_prefix = update_record_text(record, PARAMETER_TXT_PREFIX),
        .annotation_prefix = prefix.len ? prefix : text_of(default_prefix(minor)),
    };
    if (record->adopt_owner.len)
        out->owner_id = record->adopt_owner;
    else if (text_is(given, "default"))
        out->owner_id = make_owner(arena, project, record->name, process_owner);
}

// ---- arguments ----------------------------------------------------------------------------------

static void __attribute__((format(printf, 2, 3)))
add_arg(struct renderer *renderer, const char *format, ...)
{
    AUTO_BUFFER arg = {0};
    va_list args;
    va_start(args, format);
    buffer_vprintf(&arg, format, args);
    va_end(args);
    arena_reserve(renderer->arena, &renderer->args, &renderer->arg_capacity,
                  renderer->arg_count + 1);
    renderer->args[renderer->arg_count++] = copy_buffer(renderer->arena, &arg);
}

static const char *flag_of(const struct renderer *renderer, enum external_dns_id id)
{
    return external_dns_flag(&external_dns_parameters[id], renderer->input->minor);
}

static void add_text(struct renderer *renderer, enum external_dns_id id, struct text text)
{
    const char *flag = flag_of(renderer, id);
    if (flag && text.len)
        add_arg(renderer, "--%s=%.*s", flag, TEXT_ARGS(text));
}

static void add_flag(struct renderer *renderer, enum external_dns_id id, bool is_on)
{
    const char *flag = flag_of(renderer, id);
    if (flag)
        add_arg(renderer, "--%s%s", is_on ? "" : "no-", flag);
}

static const struct value *value_of(const struct renderer *renderer, enum external_dns_id id)
{
    return renderer->input->record->values[id];
}

static void render_plain(struct renderer *renderer, enum external_dns_id id)
{
    const struct value *value = value_of(renderer, id);
    if (value && value->type == VALUE_INT)
        add_arg(renderer, "--%s=%lld", flag_of(renderer, id), (long long)value->integer);
    else
        add_text(renderer, id, value_text(value));
}

static void render_list(struct renderer *renderer, enum external_dns_id id)
{
    size_t count;
    const struct text *entries =
        external_dns_entries(renderer->arena, value_of(renderer, id), &count);
    for (size_t i = 0; i < count; i++)
        add_text(renderer, id, entries[i]);
}

static void render_flag(struct renderer *renderer, enum external_dns_id id)
{
    if (value_of(renderer, id))
        add_flag(renderer, id, update_record_bool(renderer->input->record, id, false));
}

// The file of secretRefs, or the path as it was given if there is none.
static void render_file(struct renderer *renderer, enum external_dns_id id)
{
    const struct external_dns_parameter *row = &external_dns_parameters[id];
    if (!external_dns_is_used(row, renderer->input->record->provider))
        return;
    if (update_record_find_ref(renderer->input->record, text_of(row->name)))
        add_arg(renderer, "--%s=" MOUNTS "%s", row->name, row->name);
    else
        add_text(renderer, id, value_text(value_of(renderer, id)));
}

static void render_nothing(struct renderer *renderer, enum external_dns_id id)
{
    (void)renderer;
    (void)id;
}

// ---- otherwise than by form ---------------------------------------------------------------------

static void render_health(struct renderer *renderer, enum external_dns_id id)
{
    const struct value *opposite = value_of(renderer, PARAMETER_NO_AWS_EVALUATE_TARGET_HEALTH);
    if (opposite)
        add_flag(renderer, id, !opposite->boolean);
    else
        render_flag(renderer, id);
}

// The provider puts its keys behind the prefix as it stands.
static void render_coredns_prefix(struct renderer *renderer, enum external_dns_id id)
{
    struct text text = value_text(value_of(renderer, id));
    if (text.len)
        add_arg(renderer, "--%s=%s%.*s%s", flag_of(renderer, id), text_starts(text, "/") ? "" : "/",
                TEXT_ARGS(text), text_ends(text, "/") ? "" : "/");
}

// The port is passed along with the hosts: external-dns has no port of its own.
static void render_hosts(struct renderer *renderer, enum external_dns_id id)
{
    const struct update_record *record = renderer->input->record;
    bool is_tls = update_record_bool(record, PARAMETER_RFC2136_USE_TLS, false);
    render_list(renderer, id);
    if (record->provider == EXTERNAL_DNS_RFC2136 && !record->values[PARAMETER_RFC2136_PORT])
        add_arg(renderer, "--rfc2136-port=%d", is_tls ? 853 : 53);
    else
        render_plain(renderer, PARAMETER_RFC2136_PORT);
}

static void render_axfr(struct renderer *renderer, enum external_dns_id id)
{
    const struct update_record *record = renderer->input->record;
    bool is_sync = text_is(update_record_text(record, PARAMETER_POLICY), "sync");
    if (record->values[id])
        render_flag(renderer, id);
    else if (record->provider == EXTERNAL_DNS_RFC2136 && is_sync)
        add_flag(renderer, id, true);
}

static void render_txt_prefix(struct renderer *renderer, enum external_dns_id id)
{
    add_text(renderer, id, renderer->input->pinned->txt_prefix);
}

static void (*const by_form[])(struct renderer *, enum external_dns_id) = {
    [FORM_PLAIN] = render_plain,    [FORM_LIST] = render_list,      [FORM_FLAG] = render_flag,
    [FORM_FILE] = render_file,      [FORM_SECRET] = render_nothing, [FORM_IGNORED] = render_nothing,
    [FORM_FOLDED] = render_nothing,
};
static void (*const by_id[PARAMETERS])(struct renderer *, enum external_dns_id) = {
    [PARAMETER_AWS_EVALUATE_TARGET_HEALTH] = render_health,
    [PARAMETER_COREDNS_PREFIX] = render_coredns_prefix,
    [PARAMETER_RFC2136_HOST] = render_hosts,
    [PARAMETER_RFC2136_PORT] = render_nothing,
    [PARAMETER_RFC2136_TSIG_AXFR] = render_axfr,
    [PARAMETER_TXT_PREFIX] = render_txt_prefix,
};

static void render_table(struct renderer *renderer)
{
    for (size_t i = 0; i < PARAMETERS; i++) {
        const struct external_dns_parameter *row = &external_dns_parameters[i];
        if (row->traits & TRAIT_FIXED)
            continue;
        (by_id[i] ? by_id[i] : by_form[row->form])(renderer, (enum external_dns_id)i);
    }
}

// ---- fixed part ---------------------------------------------------------------------------------

static void render_always(struct renderer *renderer, enum external_dns_id id)
{
    add_text(renderer, id, update_record_text(renderer->input->record, id));
}

static void render_types(struct renderer *renderer)
{
    static const char *const published[] = {"A", "AAAA", "CNAME"};
    size_t before = renderer->arg_count;
    render_list(renderer, PARAMETER_MANAGED_RECORD_TYPES);
    for (size_t i = 0; renderer->arg_count == before + i && i < COUNT_OF(published); i++)
        add_text(renderer, PARAMETER_MANAGED_RECORD_TYPES, text_of(published[i]));
}

static void render_fixed(struct renderer *renderer)
{
    const struct external_dns_input *input = renderer->input;
    const struct update_record *record = input->record;
    add_arg(renderer, "--source=crd");
    add_arg(renderer, "--namespace=%.*s", TEXT_ARGS(input->namespace_));
    add_arg(renderer, "--label-filter=" DNS_GROUP "/update-record=%s",
            update_record_label(renderer->arena, input->project, record->name));
    add_arg(renderer, "--provider=%s", external_dns_providers[record->provider]);
    render_always(renderer, PARAMETER_POLICY);
    render_always(renderer, PARAMETER_REGISTRY);
    add_text(renderer, PARAMETER_TXT_OWNER_ID, input->pinned->owner_id);
    render_always(renderer, PARAMETER_METRICS_ADDRESS);
    add_arg(renderer, "--events");
    render_always(renderer, PARAMETER_MIN_EVENT_SYNC_INTERVAL);
    add_arg(renderer, "--events-emit=RecordError");
    render_types(renderer);
    add_text(renderer, PARAMETER_ANNOTATION_PREFIX, input->pinned->annotation_prefix);
    if (record->provider == EXTERNAL_DNS_COREDNS)
        add_flag(renderer, PARAMETER_COREDNS_STRICTLY_OWNED,
                 update_record_bool(record, PARAMETER_COREDNS_STRICTLY_OWNED, true));
}

static void render_extra(struct renderer *renderer)
{
    const struct update_record *record = renderer->input->record;
    for (size_t i = 0; i < record->extra_arg_count; i++) {
        const struct update_record_pair *arg = &record->extra_args[i];
        add_arg(renderer, "--%.*s%s%.*s", TEXT_ARGS(arg->name), arg->value.at ? "=" : "",
                TEXT_ARGS(arg->value));
    }
}

// ---- environment and files ----------------------------------------------------------------------

static const char *mount_file(struct renderer *renderer, struct text name,
                              const struct update_record_ref *ref)
{
    const char *path = arena_printf(renderer->arena, MOUNTS "%.*s", TEXT_ARGS(name));
    renderer->files[renderer->out->file_count++] =
        (struct external_dns_file){path, name, ref->name, ref->key};
    return path;
}

static void add_env(struct renderer *renderer, struct external_dns_env env)
{
    renderer->env[renderer->out->env_count++] = env;
}

static void add_variable(struct renderer *renderer, struct text name,
                         const struct update_record_ref *ref)
{
    const struct external_dns_variable *variable =
        external_dns_find_env(name, renderer->input->record->provider);
    if (variable && variable->is_file)
        add_env(renderer, (struct external_dns_env){
                              variable->name, .value = text_of(mount_file(renderer, name, ref))});
    else if (variable)
        add_env(renderer,
                (struct external_dns_env){variable->name, .secret = ref->name, .key = ref->key});
}

static void add_secret_flag(struct renderer *renderer, const struct update_record_ref *ref)
{
    AUTO_BUFFER name = {0};
    external_dns_variable_write(&name, ref->target);
    add_env(renderer, (struct external_dns_env){copy_buffer(renderer->arena, &name),
                                                .secret = ref->name, .key = ref->key});
}

static void render_ref(struct renderer *renderer, const struct update_record_ref *ref)
{
    const struct external_dns_parameter *row = external_dns_find(ref->target);
    struct text variable = external_dns_target_variable(ref->target);
    if (variable.at)
        add_variable(renderer, variable, ref);
    else if (external_dns_is_secret_flag(ref->target))
        add_secret_flag(renderer, ref);
    else if (row && external_dns_is_used(row, renderer->input->record->provider))
        mount_file(renderer, ref->target, ref);
}

static void render_environment(struct renderer *renderer)
{
    const struct update_record *record = renderer->input->record;
    renderer->env = arena_new_array(renderer->arena, struct external_dns_env,
                                    record->env_count + record->ref_count + 1);
    renderer->files =
        arena_new_array(renderer->arena, struct external_dns_file, record->ref_count + 1);
    for (size_t i = 0; i < record->env_count; i++)
        add_env(renderer,
                (struct external_dns_env){
                    arena_copy(renderer->arena, record->env[i].name.at, record->env[i].name.len),
                    .value = record->env[i].value});
    for (size_t i = 0; i < record->ref_count; i++)
        render_ref(renderer, &record->refs[i]);
}

static unsigned metrics_port(const struct update_record *record)
{
    struct text host;
    unsigned port = 0;
    must(external_dns_address_read(update_record_text(record, PARAMETER_METRICS_ADDRESS), &host,
                                   &port));
    return port;
}

void external_dns_start_make(struct arena *arena, const struct external_dns_input *input,
                             struct external_dns_start *out)
{
    struct renderer renderer = {.arena = arena, .input = input, .out = out};
    *out = (struct external_dns_start){.port = metrics_port(input->record)};
    render_fixed(&renderer);
    render_table(&renderer);
    render_extra(&renderer);
    render_environment(&renderer);
    out->args = renderer.args;
    out->arg_count = renderer.arg_count;
    out->env = renderer.env;
    out->files = renderer.files;
}
