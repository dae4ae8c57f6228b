#include "commands/setup.h"

#include <string.h>

#include "base/memory.h"
#include "commands/rights.h"
#include "commands/settings.h"
#include "commands/subject.h"
#include "kinds/kinds.h"
#include "store/cluster/cluster.h"
#include "store/folder/folder.h"
#include "store/owner.h"

enum { KINDS_MAX = 64, READS_IN_FLIGHT = 16 };

const struct option setup_options[SETUP_OPTION_COUNT] = {
    {.name = "controllers",
     .type = OPTION_LIST,
     .placeholder = "NAMES",
     .doc = "Which controllers run; the default ones when not given."},
    {.name = "owner-id",
     .type = OPTION_TEXT,
     .placeholder = "ID",
     .doc = "Marks what this installation writes to shared backends: 1 to 24 of a-z, 0-9 and -. "
            "Drawn once and kept in "
            ".signpost/state.db or the Lease; one that is given replaces it."},
    {.name = "config",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "YAML file with any of these options as keys."},
};

// ---- controllers --------------------------------------------------------------------------------

static bool load(const struct invocation *invocation, const struct controller *controller,
                 bool is_check, void *settings, struct error *err)
{
    for (size_t i = 0; i < subject_count; i++)
        if (subjects[i]->controller == controller && subjects[i]->load &&
            !subjects[i]->load(invocation, is_check, settings, err))
            return false;
    return true;
}

static void unload(const struct controller *controller, void *settings)
{
    for (size_t i = 0; i < subject_count; i++)
        if (subjects[i]->controller == controller && subjects[i]->unload)
            subjects[i]->unload(settings);
}

static bool add_controller(struct setup *setup, const struct controller *controller, bool is_check,
                           struct error *err)
{
    size_t at = setup->controller_count;
    setup->settings[at] = settings_resolve(setup->invocation, controller, err);
    if (!setup->settings[at])
        return false;
    setup->controllers[at] = controller;
    setup->controller_count++;
    if (!load(setup->invocation, controller, is_check, setup->settings[at], err))
        return false;
    backends_add(setup->invocation->arena, &setup->backends, controller, setup->settings[at]);
    return true;
}

static bool choose_controllers(struct setup *setup, bool is_check, struct error *err)
{
    struct enabled_controllers enabled_controllers;
    if (!enabled_controllers_init(&enabled_controllers, setup->invocation, err))
        return false;
    for (size_t i = 0; i < enabled_controllers.count; i++)
        if (!add_controller(setup, enabled_controllers.items[i], is_check, err))
            return false;
    return true;
}

static bool check_owner(const struct setup *setup, struct error *err)
{
    const char *owner_id = option_text(setup->invocation, "owner-id");
    return !owner_id || owner_id_check(text_of(owner_id), err) ||
           option_blame(setup->invocation, "owner-id", owner_id, err);
}

void setup_done(struct setup *setup)
{
    for (size_t i = 0; i < setup->controller_count; i++)
        unload(setup->controllers[i], setup->settings[i]);
    setup->backends = (struct configured_backends){0};
}

void setup_set_access(struct setup *setup, const struct backend_access *access)
{
    for (size_t i = 0; i < setup->backends.count; i++)
        memcpy(setup->backends.items[i].settings, access, sizeof *access);
}

void *setup_settings(const struct setup *setup, const struct controller *controller)
{
    for (size_t i = 0; i < setup->controller_count; i++)
        if (setup->controllers[i] == controller)
            return setup->settings[i];
    return NULL;
}

bool setup_init(struct setup *setup, const struct invocation *invocation, struct error *err)
{
    *setup = (struct setup){.invocation = invocation};
    bool is_good = choose_controllers(setup, false, err) && check_owner(setup, err) &&
                   configured_store_find(&setup->place, invocation, err);
    if (!is_good)
        setup_done(setup);
    return is_good;
}

bool setup_init_settings(struct setup *setup, const struct invocation *invocation,
                         struct error *err)
{
    *setup = (struct setup){.invocation = invocation};
    bool is_good = choose_controllers(setup, true, err);
    if (!is_good)
        setup_done(setup);
    return is_good;
}

bool setup_check(const struct invocation *invocation, struct error *err)
{
    struct enabled_controllers enabled_controllers;
    if (!enabled_controllers_init(&enabled_controllers, invocation, err))
        return false;
    for (size_t i = 0; i < enabled_controllers.count; i++) {
        void *settings =
            arena_alloc(invocation->arena, 1, enabled_controllers.items[i]->settings_size + 1);
        if (!load(invocation, enabled_controllers.items[i], true, settings, err))
            return false;
    }
    return true;
}

bool setup_is_required(const struct setup *setup, const struct controller *controller)
{
    const char **names;
    size_t count = option_list(setup->invocation, "controllers", &names);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], controller->name))
            return true;
    for (size_t i = 0; i < setup->controller_count; i++)
        if (setup->controllers[i] != controller && !controller_does_without(setup->controllers[i]))
            return false;
    return setup_reads(setup, controller->kind);
}

// ---- kinds --------------------------------------------------------------------------------------

static const char *finalizer_of(const struct setup *setup, const struct kind *kind)
{
    for (size_t i = 0; i < setup->controller_count; i++)
        if (setup->controllers[i]->kind == kind && setup->controllers[i]->finalizer)
            return setup->controllers[i]->finalizer;
    return NULL;
}

// A controller that was named cannot do without its kind.
static bool is_required(const struct setup *setup, const struct kind *kind)
{
    for (size_t i = 0; i < setup->controller_count; i++)
        if (setup->controllers[i]->kind == kind)
            return option_is_set(setup->invocation, "controllers") &&
                   !controller_does_without(setup->controllers[i]);
    return false;
}

bool setup_does_without(const struct setup *setup, const struct kind *kind)
{
    bool is_any = false;
    for (size_t i = 0; i < setup->controller_count; i++) {
        if (!controller_reads(setup->controllers[i], kind))
            continue;
        if (controller_needs(setup->controllers[i], kind) &&
            !controller_does_without(setup->controllers[i]))
            return false;
        is_any = true;
    }
    return is_any;
}

bool setup_reads(const struct setup *setup, const struct kind *kind)
{
    for (size_t i = 0; i < setup->controller_count; i++)
        if (controller_reads(setup->controllers[i], kind))
            return true;
    return false;
}

static bool reads_forbidden(const struct controller *controller,
                            bool (*is_forbidden)(const void *context, const struct kind *kind),
                            const void *context)
{
    for (size_t i = 0; i < kind_count; i++)
        if (!kinds[i]->is_secret && controller_needs(controller, kinds[i]) &&
            is_forbidden(context, kinds[i]))
            return !controller_does_without(controller);
    return false;
}

// With the one that it runs with, or that runs with it and shares what it knows.
static bool goes_too(const struct setup *setup, const bool *is_out, size_t at)
{
    for (size_t i = 0; i < setup->controller_count; i++) {
        const struct controller *a = setup->controllers[i], *b = setup->controllers[at];
        bool is_pair = controller_brings(a, b) || (controller_brings(b, a) && a->shared_model);
        if (is_out[i] && is_pair)
            return true;
    }
    return false;
}

static void drop_controllers(struct setup *setup, const bool *is_out, struct buffer *names)
{
    size_t kept = 0;
    for (size_t i = 0; i < setup->controller_count; i++) {
        if (!is_out[i]) {
            setup->controllers[kept] = setup->controllers[i];
            setup->settings[kept++] = setup->settings[i];
            continue;
        }
        buffer_printf(names, "%s%s", names->len ? ", " : "", setup->controllers[i]->name);
        unload(setup->controllers[i], setup->settings[i]);
    }
    setup->controller_count = kept;
    setup->backends = (struct configured_backends){0};
    for (size_t i = 0; i < kept; i++)
        backends_add(setup->invocation->arena, &setup->backends, setup->controllers[i],
                     setup->settings[i]);
}

void setup_leave_out(struct setup *setup,
                     bool (*is_forbidden)(const void *context, const struct kind *kind),
                     const void *context, struct buffer *names)
{
    bool is_out[ENABLED_CONTROLLERS_MAX] = {0};
    for (size_t i = 0; i < setup->controller_count; i++)
        is_out[i] = reads_forbidden(setup->controllers[i], is_forbidden, context);
    for (size_t pass = 0; pass < setup->controller_count; pass++)
        for (size_t i = 0; i < setup->controller_count; i++)
            is_out[i] = is_out[i] || goes_too(setup, is_out, i);
    drop_controllers(setup, is_out, names);
}

// A folder also has the kinds of controllers that do not run, and those that the core has.
static bool is_served(const struct setup *setup, const struct kind *kind)
{
    bool is_of_others = kind->is_foreign && (*kind->group || kind->is_observed);
    return (!setup->place.is_cluster && !is_of_others) || setup_reads(setup, kind);
}

static bool is_left_out(const struct kind *const *left_out, const struct kind *kind)
{
    for (; left_out && *left_out; left_out++)
        if (*left_out == kind)
            return true;
    return false;
}

static size_t list_kinds(const struct setup *setup, const struct kind *const *left_out,
                         struct store_kind *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < kind_count && count < KINDS_MAX; i++) {
        if (!is_served(setup, kinds[i]) || is_left_out(left_out, kinds[i]))
            continue;
        rows[count] = (struct store_kind){.kind = kinds[i],
                                          .finalizer = finalizer_of(setup, kinds[i]),
                                          .is_dispensable = setup_does_without(setup, kinds[i]),
                                          .is_required = is_required(setup, kinds[i])};
        controllers_describe(setup->controllers, setup->controller_count, &rows[count++]);
    }
    return count;
}

// ---- store --------------------------------------------------------------------------------------

static struct folder_options folder_options_of(const struct setup *setup,
                                               const struct store_kind *rows, size_t count)
{
    const struct invocation *invocation = setup->invocation;
    return (struct folder_options){
        .dir = option_text(invocation, "dir"),
        .state_dir = option_text(invocation, "state-dir"),
        .allow_empty = option_flag(invocation, "allow-empty"),
        .owner_id = option_text(invocation, "owner-id"),
        .kinds = rows,
        .kind_count = count,
    };
}

static struct store *open_folder(const struct setup *setup, const struct setup_store *how,
                                 const struct store_kind *rows, size_t count, struct error *err)
{
    struct folder_options options = folder_options_of(setup, rows, count);
    options.is_reading = how->is_reading;
    return folder_new(how->world, &options, how->log, err);
}

const char *setup_lease_namespace(const struct setup *setup)
{
    const char *given = option_text(setup->invocation, "leader-elect-resource-namespace");
    return given ? given : setup->place.own_namespace;
}

// Whose is what stands in the backends? The Lease knows.
static void add_reader(struct cluster_options *options, const struct setup *setup)
{
    if (!setup->backends.count)
        return;
    options->lease_namespace = setup_lease_namespace(setup);
    options->lease_name = option_text(setup->invocation, "leader-elect-resource-name");
}

static void add_writer(struct cluster_options *options, const struct setup *setup)
{
    const struct invocation *invocation = setup->invocation;
    options->lease_namespace = setup_lease_namespace(setup);
    options->lease_name = option_text(invocation, "leader-elect-resource-name");
    options->lease_duration_ms = option_ms(invocation, "leader-elect-lease-duration");
    options->lease_renew_deadline_ms = option_ms(invocation, "leader-elect-renew-deadline");
    options->lease_retry_ms = option_ms(invocation, "leader-elect-retry-period");
    options->is_elected = option_flag(invocation, "leader-elect");
    options->max_in_flight = (unsigned)option_int(invocation, "kube-api-inflight");
    options->rate = (unsigned)option_int(invocation, "kube-api-qps");
    options->burst = (unsigned)option_int(invocation, "kube-api-burst");
}

const struct kube_right *setup_rights(const struct setup *setup, const struct setup_store *how,
                                      struct arena *arena)
{
    const struct rights_needs needs = {
        .controllers = setup->controllers,
        .settings = setup->settings,
        .controller_count = setup->controller_count,
        .lease_name = option_text(setup->invocation, "leader-elect-resource-name"),
        .has_owner_id = option_is_set(setup->invocation, "owner-id"),
        .keeps_certificates = how->keeps_certificates,
        .judges_bearers = how->judges_bearers,
    };
    return rights_make(arena, &needs);
}

static struct store *open_cluster(struct setup *setup, const struct setup_store *how,
                                  const struct store_kind *rows, size_t count, struct error *err)
{
    struct kube_access *access = configured_store_access(&setup->place, err);
    if (!access)
        return NULL;
    struct cluster_options options = {
        .access = access,
        .namespaces = configured_store_namespaces(&setup->place),
        .own_namespace = setup->place.own_namespace,
        .instance = setup->place.instance,
        .kinds = rows,
        .kind_count = count,
        .is_reading = how->is_reading,
        .owner_id = option_text(setup->invocation, "owner-id"),
        .max_in_flight = READS_IN_FLIGHT,
        .failed = how->failed,
        .context = how->context,
    };
    CLEANUP(arena) struct arena *arena = arena_new();
    if (how->is_reading) {
        add_reader(&options, setup);
    } else {
        add_writer(&options, setup);
        options.rights = setup_rights(setup, how, arena);
    }
    return cluster_new(how->world, &options, how->log);
}

struct store *setup_open_store(struct setup *setup, const struct setup_store *how,
                               struct error *err)
{
    struct store_kind rows[KINDS_MAX];
    size_t count = list_kinds(setup, how->left_out, rows);
    return setup->place.is_cluster ? open_cluster(setup, how, rows, count, err)
                                   : open_folder(setup, how, rows, count, err);
}

static void take_entry(void *context, const struct folder_entry *entry)
{
    const struct setup_reader *reader = context;
    if (entry->fault)
        reader->refused(reader->context, entry->fault);
    if (entry->is_gone && reader->gone)
        reader->gone(reader->context, entry->kind, entry->tree);
}

bool setup_read_folder(const struct setup *setup, struct arena *arena,
                       const struct setup_reader *reader, struct error *err)
{
    struct store_kind rows[KINDS_MAX];
    struct setup_reader given = *reader;
    const struct folder_options options =
        folder_options_of(setup, rows, list_kinds(setup, NULL, rows));
    return setup->place.is_cluster || folder_read(&options, arena, take_entry, &given, err);
}

bool setup_read_kinds(const struct setup *setup, const struct kind *const *of, size_t count,
                      struct arena *arena,
                      void (*entry)(void *context, const struct folder_entry *entry), void *context)
{
    struct store_kind rows[KINDS_MAX] = {0};
    for (size_t i = 0; i < count; i++)
        rows[i].kind = of[i];
    const struct folder_options options = folder_options_of(setup, rows, count);
    return !setup->place.is_cluster && folder_read(&options, arena, entry, context, NULL);
}
