#include "scenarios/stage.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/must.h"
#include "commands/enabled_controllers.h"
#include "kinds/kinds.h"
#include "model/faulty_disk.h"
#include "model/model_cluster.h"
#include "model/tap_store.h"
#include "model/virtual_loop.h"
#include "scenarios/stage_recording.h"
#include "store/cache.h"
#include "store/folder/folder.h"

enum { PIECE_OCTETS = 100, START_UNIX_MS = 1767225600 }; // seconds: 2026-01-01T00:00:00Z

// ---- randomness that repeats --------------------------------------------------------------------

struct counted_random {
    struct random random;
    uint64_t state;
};

static void counted_fill(struct random *random, void *out, size_t len)
{
    struct counted_random *self = (struct counted_random *)random;
    uint8_t *at = out;
    for (size_t i = 0; i < len; i++) {
        self->state = self->state * 6364136223846793005ULL + 1442695040888963407ULL;
        at[i] = (uint8_t)(self->state >> 56);
    }
}

static struct random *random_new(void)
{
    struct counted_random *self = mem_new_of(struct counted_random);
    *self = (struct counted_random){{counted_fill}, 1};
    return &self->random;
}

// ---- log and events -----------------------------------------------------------------------------

static void log_write(void *context, struct text line)
{
    struct stage *stage = context;
    buffer_add(&stage->log_text, line.at, line.len);
}

static int64_t log_now(void *context)
{
    struct stage *stage = context;
    return loop_unix_ms(stage->loop);
}

static void noted(void *context, const struct kube_event *note)
{
    struct stage *stage = context;
    struct buffer name = {0};
    if (note->regarding)
        object_write_name(&name, note->regarding);
    else
        buffer_add_text(&name, "lease");
    mem_reserve(&stage->notes, &stage->note_capacity, stage->note_count + 1);
    stage->notes[stage->note_count++] =
        (struct stage_note){note->is_warning, buffer_steal(&name), mem_copy_text(note->reason),
                            mem_copy_text(note->text)};
    log_line(stage->log, LOG_INFO, "event",
             LOG_TEXT("object", stage->notes[stage->note_count - 1].object),
             LOG_TEXT("reason", note->reason), LOG_TEXT("text", note->text), LOG_END);
}

// ---- life ---------------------------------------------------------------------------------------

static void add_controller(struct stage *stage, const struct controller *controller)
{
    must(stage->controller_count < STAGE_CONTROLLERS_MAX);
    stage->controllers[stage->controller_count++] = controller;
    const struct dependency *at = NULL;
    while ((at = dependency_next(controller, BRINGS_CONTROLLER, at)))
        if (!at->option)
            add_controller(stage, at->controller);
}

void stage_switch_on(struct stage *stage, const char *setting)
{
    const struct dependency *at = NULL;
    for (size_t i = 0; i < controller_count; i++)
        while ((at = dependency_next(controllers[i], BRINGS_CONTROLLER, at)))
            if (at->option && !strcmp(at->option, setting))
                add_controller(stage, at->controller);
}

static const char *finalizer_of(const struct stage *stage, const struct kind *kind)
{
    for (size_t i = 0; i < stage->controller_count; i++)
        if (stage->controllers[i]->kind == kind)
            return stage->controllers[i]->finalizer;
    return NULL;
}

static bool is_dispensable(const struct stage *stage, const struct kind *kind)
{
    bool is_any = false;
    for (size_t i = 0; i < stage->controller_count; i++) {
        if (!controller_reads(stage->controllers[i], kind))
            continue;
        if (controller_needs(stage->controllers[i], kind) &&
            !controller_does_without(stage->controllers[i]))
            return false;
        is_any = true;
    }
    return is_any;
}

static void add_kinds(struct stage *stage)
{
    stage->kinds = mem_new_array(struct store_kind, kind_count);
    stage->kind_count = kind_count;
    for (size_t i = 0; i < kind_count; i++) {
        stage->kinds[i] = (struct store_kind){.kind = kinds[i],
                                              .finalizer = finalizer_of(stage, kinds[i]),
                                              .is_dispensable = is_dispensable(stage, kinds[i])};
        controllers_describe(stage->controllers, stage->controller_count, &stage->kinds[i]);
    }
}

static char *temporary_folder(void)
{
    char *path = mem_copy_text(access("/dev/shm", W_OK) ? "/tmp/scenario.XXXXXX"
                                                        : "/dev/shm/scenario.XXXXXX");
    must(mkdtemp(path) != NULL);
    return path;
}

static void open_cluster(struct stage *stage)
{
    stage->server = model_server_new(stage->loop, stage->kinds, stage->kind_count);
    stage->api =
        model_api_new(stage->server, MODEL_CLUSTER_URL, model_backend_http(stage->backend));
    stage->world.http = model_api_http(stage->api);
    model_cluster_prepare(stage->server);
    model_api_set_pieces(stage->api, 1, PIECE_OCTETS);
}

struct stage *stage_new(enum stage_store store_kind, bool renews_models)
{
    struct stage *stage = mem_new_of(struct stage);
    stage->store_kind = store_kind;
    stage->renews_models = renews_models;
    stage->loop = virtual_loop_new(1000LL * START_UNIX_MS);
    stage->backend = model_backend_new(stage->loop);
    stage->dns = model_dns_new(stage->loop);
    stage->disk = faulty_disk_new(disk_system(), stage->loop);
    stage->random = random_new();
    stage->log = log_new(&(struct log_sink){log_write, log_now, stage}, LOG_TEXTUAL, LOG_DEBUG);
    stage->world = (struct world){.loop = stage->loop,
                                  .http = model_backend_http(stage->backend),
                                  .dns = model_dns_net(stage->dns),
                                  .disk = stage->disk,
                                  .random = stage->random};
    stage->class_settings = dnsclass_defaults;
    stage->record_settings = dnsrecord_defaults;
    stage->piholes.arena = arena_new();
    stage->piholes.targets = pihole_targets_defaults;
    stage->zones.settings = zone_defaults;
    stage->zones.settings.config = &stage->zones.config;
    for (size_t i = 0; i < controller_count; i++)
        add_controller(stage, controllers[i]);
    add_kinds(stage);
    if (store_kind == STAGE_CLUSTER)
        open_cluster(stage);
    else
        stage->dir = temporary_folder();
    return stage;
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
    (void)stat;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void lists_free(struct stage *stage)
{
    for (size_t i = 0; i < stage->file_count; i++) {
        free(stage->files[i].name);
        free(stage->files[i].content);
    }
    for (size_t i = 0; i < stage->note_count; i++) {
        free(stage->notes[i].object);
        free(stage->notes[i].reason);
        free(stage->notes[i].text);
    }
    for (size_t i = 0; i < stage->server_count; i++)
        free(stage->servers[i].name);
    free(stage->files);
    free(stage->notes);
    free(stage->servers);
}

static void forget_piholes(struct stage_piholes *piholes)
{
    for (size_t i = 0; i < piholes->targets.count; i++)
        secret_unref(piholes->targets.items[i].secret);
    piholes->targets = pihole_targets_defaults;
}

void stage_free(struct stage *stage)
{
    if (!stage)
        return;
    stage_crash(stage);
    model_api_free(stage->api);
    model_server_free(stage->server);
    if (stage->dir)
        remove_tree(stage->dir);
    free(stage->dir);
    free(stage->owner);
    free(stage->refused);
    lists_free(stage);
    log_free(stage->log);
    buffer_done(&stage->log_text);
    buffer_done(&stage->replayed);
    model_dns_free(stage->dns);
    for (size_t i = 0; i < stage->zones.config_count; i++)
        zones_config_free(stage->zones.configs[i]);
    forget_piholes(&stage->piholes);
    arena_free(stage->piholes.arena);
    model_backend_free(stage->backend);
    faulty_disk_free(stage->disk);
    free(stage->random);
    free(stage->kinds);
    loop_free(stage->loop);
    free(stage);
}

// ---- the process --------------------------------------------------------------------------------

static struct store *open_store(struct stage *stage, struct error *err)
{
    if (stage->server)
        return model_cluster_new(&stage->world, stage->kinds, stage->kind_count, NULL, stage->log);
    return folder_new(&stage->world,
                      &(struct folder_options){.dir = stage->dir,
                                               .allow_empty = stage->allow_empty,
                                               .kinds = stage->kinds,
                                               .kind_count = stage->kind_count},
                      stage->log, err);
}

static const void *settings_of(const struct stage *stage, const struct controller *controller)
{
    if (controller == &dnsclass_controller)
        return &stage->class_settings;
    if (controller == &dnsrecord_controller)
        return &stage->record_settings;
    if (!strcmp(controller->name, "zone") || !strcmp(controller->name, "record"))
        return &stage->zones.settings;
    if (controller->settings_size == sizeof(struct pihole_targets))
        return &stage->piholes.targets;
    return NULL;
}

void stage_settings(const struct stage *stage, const void *settings[STAGE_CONTROLLERS_MAX])
{
    for (size_t i = 0; i < stage->controller_count; i++)
        settings[i] = settings_of(stage, stage->controllers[i]);
}

struct primary_frontend *stage_frontend_new(const struct stage *stage, struct loop *loop,
                                            struct engine *engine)
{
    const struct primary_frontend_options options = {.loop = loop,
                                                     .random = stage->random,
                                                     .log = stage->log,
                                                     .published = engine_published(engine)};
    struct primary_frontend *frontend = primary_frontend_new(&options, NULL);
    primary_frontend_set_config(frontend, stage->zones.config);
    engine_set_zones(engine, stage->zones.config);
    return frontend;
}

struct engine *stage_engine_new(const struct stage *stage, const struct world *world,
                                struct store *store)
{
    const void *settings[STAGE_CONTROLLERS_MAX];
    stage_settings(stage, settings);
    return engine_new(&(struct engine_options){.world = world,
                                               .log = stage->log,
                                               .store = store,
                                               .controllers = stage->controllers,
                                               .settings = settings,
                                               .controller_count = stage->controller_count,
                                               .providers = providers,
                                               .provider_count = provider_count,
                                               .sync_period_ms = stage->sync_period_ms,
                                               .renews_models = stage->renews_models,
                                               .recorder = stage->recorder,
                                               .crowd = stage->crowd});
}

bool stage_start(struct stage *stage, struct error *err)
{
    stage->is_started = true;
    if (stage->engine)
        return true;
    faulty_disk_heal(stage->disk);
    stage->starts++;
    log_line(stage->log, LOG_INFO, "---- start", LOG_INT("number", stage->starts), LOG_END);
    stage->inner = open_store(stage, err);
    if (!stage->inner)
        return false;
    stage->recorder = stage->is_recorded ? stage_recording_new(stage) : NULL;
    stage->store = tap_store_new(stage->inner, noted, stage);
    stage->engine = stage_engine_new(stage, &stage->world, stage->store);
    stage->frontend = stage_frontend_new(stage, stage->loop, stage->engine);
    model_dns_set_primary(stage->dns, 0, stage->frontend, stage->loop);
    return engine_start(stage->engine, err);
}

static void remember_owner(struct stage *stage)
{
    const char *owner = stage->store ? store_owner_id(stage->store) : NULL;
    if (!owner)
        return;
    free(stage->owner);
    stage->owner = mem_copy_text(owner);
}

void stage_kill(struct stage *stage)
{
    remember_owner(stage);
    model_dns_set_primary(stage->dns, 0, NULL, NULL);
    primary_frontend_free(stage->frontend);
    stage->frontend = NULL;
    engine_free(stage->engine);
    if (stage->recorder)
        stage_recording_end(stage, steal(stage->recorder), &stage->replayed);
    store_free(stage->store);
    virtual_loop_drop_deferred(stage->loop);
    stage->engine = NULL;
    stage->store = stage->inner = NULL;
}

void stage_crash(struct stage *stage)
{
    stage_kill(stage);
    if (stage->server && !stage->is_without_lease)
        model_cluster_free_lease(stage->server);
}

static bool stage_stays_down(struct stage *stage, struct error *err)
{
    if (!stage->may_fail_to_start)
        return false;
    log_line(stage->log, LOG_INFO, "---- cannot start", LOG_TEXT("error", err->text), LOG_END);
    error_clear(err);
    stage_crash(stage);
    return true;
}

bool stage_advance(struct stage *stage, int64_t ms, struct error *err)
{
    int64_t until_ms = loop_mono_ms(stage->loop) + ms;
    for (;;) {
        if (!stage_start(stage, err) && !stage_stays_down(stage, err))
            return false;
        virtual_loop_run_until(stage->loop, until_ms);
        if (!virtual_loop_is_stopped(stage->loop))
            return true;
        log_line(stage->log, LOG_INFO, "---- the process dies", LOG_END);
        stage_crash(stage);
    }
}

// ---- files --------------------------------------------------------------------------------------

static struct stage_file *find_file(const struct stage *stage, const char *name)
{
    for (size_t i = 0; i < stage->file_count; i++)
        if (!strcmp(stage->files[i].name, name))
            return &stage->files[i];
    return NULL;
}

const char *stage_file(const struct stage *stage, const char *name)
{
    const struct stage_file *file = find_file(stage, name);
    return file ? file->content : NULL;
}

static void make_parents(const char *path)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0755);
        *slash = '/';
    }
}

static bool write_to_folder(struct stage *stage, const char *name, const char *content,
                            struct error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", stage->dir, name);
    if (!content)
        return disk_remove(disk_system(), path, err);
    make_parents(path);
    return disk_replace(disk_system(), path, text_of(content), 0600, false, err);
}

static const struct kind *kind_of(const struct value *document)
{
    bool is_known;
    return kind_lookup(kinds, kind_count, document, &is_known);
}

static struct object_ref_key key_of(const struct value *document)
{
    const struct kind *kind = kind_of(document);
    struct text namespace_ = value_text_at(document, "metadata.namespace");
    if (kind && kind->is_namespaced && !namespace_.at)
        namespace_ = TEXT("default");
    if (kind && !kind->is_namespaced)
        namespace_ = TEXT("");
    return (struct object_ref_key){kind, namespace_, value_text_at(document, "metadata.name")};
}

static struct value *read_all(struct arena *arena, const char *content)
{
    struct value *list = value_make(arena, VALUE_LIST);
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(text_of(content), &value_manifest_limits);
    for (;;) {
        bool has;
        struct value *document;
        if (!yaml_reader_next(reader, arena, &document, &has, NULL) || !has)
            return list;
        if (document && kind_of(document))
            value_append(list, document);
    }
}

static bool is_in(const struct value *list, const struct object_ref_key *key)
{
    value_each (item, list) {
        struct object_ref_key found = key_of(item);
        if (found.kind == key->kind && text_equal(found.name, key->name) &&
            text_equal(found.namespace_, key->namespace_))
            return true;
    }
    return false;
}

static void write_to_server(struct stage *stage, const char *old, const char *content)
{
    struct error err = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *before = read_all(arena, old ? old : "");
    struct value *after = read_all(arena, content ? content : "");
    free(stage->refused);
    stage->refused = NULL;
    value_each (item, after)
        if (!model_server_apply(stage->server, item, &err)) {
            free(stage->refused);
            stage->refused = mem_copy_text(err.text);
        }
    value_each (item, before) {
        struct object_ref_key key = key_of(item);
        if (!is_in(after, &key))
            model_server_delete(stage->server, &key);
    }
}

bool stage_write_file(struct stage *stage, const char *name, const char *content, struct error *err)
{
    struct stage_file *file = find_file(stage, name);
    if (stage->server)
        write_to_server(stage, file ? file->content : NULL, content);
    else if (!write_to_folder(stage, name, content, err))
        return false;
    if (!file) {
        mem_reserve(&stage->files, &stage->file_capacity, stage->file_count + 1);
        file = &stage->files[stage->file_count++];
        *file = (struct stage_file){.name = mem_copy_text(name)};
    }
    char *copy = content ? mem_copy_text(content) : NULL;
    free(file->content);
    file->content = copy;
    return true;
}

static bool edit_file(const struct stage *stage, const struct object_ref_key *key, const char *path,
                      const char *value, struct error *err)
{
    AUTO_BUFFER file = {0};
    AUTO_BUFFER text = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    buffer_printf(&file, "%s/.signpost/children/%s.%.*s.%.*s.yaml", stage->dir, key->kind->plural,
                  TEXT_ARGS(key->namespace_), TEXT_ARGS(key->name));
    if (!disk_read(&text, file.at, 1 << 20, err))
        return false;
    const struct value *list = read_all(arena, text.at);
    struct value *tree = value_copy(arena, list->first);
    value_put_text(arena, tree, path, value);
    text.len = 0;
    value_write_yaml(&text, tree, 0);
    return disk_replace(disk_system(), file.at, buffer_text(&text), 0644, false, err);
}

bool stage_edit(struct stage *stage, const struct object_ref_key *key, const char *path,
                const char *value, struct error *err)
{
    if (!stage->server)
        return edit_file(stage, key, path, value, err);
    return model_server_edit(stage->server, key, path, value) ||
           error_set(err, FAULT_SPEC, "", "there is none");
}

// ---- servers ------------------------------------------------------------------------------------

static const struct stage_server *find_server(const struct stage *stage, const char *name)
{
    for (size_t i = 0; i < stage->server_count; i++)
        if (!strcmp(stage->servers[i].name, name))
            return &stage->servers[i];
    return NULL;
}

struct model_webhook *stage_server(const struct stage *stage, const char *name)
{
    const struct stage_server *found = find_server(stage, name);
    return found ? found->webhook : NULL;
}

struct model_pihole *stage_pihole(const struct stage *stage, const char *name)
{
    const struct stage_server *found = find_server(stage, name);
    return found ? found->pihole : NULL;
}

const struct model_host *stage_host(const struct stage *stage, const char *name)
{
    const struct stage_server *found = find_server(stage, name);
    return found ? found->host : NULL;
}

static void add_server(struct stage *stage, const char *name, const char *url,
                       struct model_webhook *webhook, struct model_pihole *pihole)
{
    mem_reserve(&stage->servers, &stage->server_capacity, stage->server_count + 1);
    stage->servers[stage->server_count++] = (struct stage_server){
        mem_copy_text(name), model_backend_host(stage->backend, url), webhook, pihole};
}

struct model_webhook *stage_add_server(struct stage *stage, const char *name, const char *url)
{
    struct model_webhook *webhook = model_backend_add(stage->backend, url);
    add_server(stage, name, url, webhook, NULL);
    return webhook;
}

struct model_pihole *stage_add_pihole(struct stage *stage, const char *name, const char *url,
                                      const char *password)
{
    struct model_pihole *pihole = model_backend_add_pihole(stage->backend, url, password);
    add_server(stage, name, url, NULL, pihole);
    return pihole;
}

const char *stage_breach(const struct stage *stage)
{
    const char *breach = stage->replayed.len ? stage->replayed.at : model_dns_breach(stage->dns);
    for (size_t i = 0; i < stage->server_count && !breach; i++)
        if (stage->servers[i].pihole)
            breach = model_pihole_breach(stage->servers[i].pihole);
    return breach;
}

// ---- zones --------------------------------------------------------------------------------------

static bool read_secret(void *context, const char *file, struct buffer *out, struct error *err)
{
    (void)context;
    (void)err;
    buffer_add_text(out, file);
    return true;
}

static struct zones_config *read_zones(const char *yaml, struct error *err)
{
    bool has;
    struct value *tree = NULL;
    CLEANUP(arena) struct arena *arena = arena_new();
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(text_of(yaml), &value_manifest_limits);
    struct findings findings = {.arena = arena};
    if (!yaml_reader_next(reader, arena, &tree, &has, err))
        return NULL;
    struct zones_config *config = zones_config_new(has ? tree : NULL, read_secret, NULL, &findings);
    if (!config)
        error_set(err, FAULT_SPEC, "", "%s: %s", findings.items[0].path, findings.items[0].text);
    return config;
}

bool stage_set_zones(struct stage *stage, const char *yaml, struct error *err)
{
    struct stage_zones *zones = &stage->zones;
    must(zones->config_count < STAGE_CONFIGS_MAX);
    struct zones_config *config = read_zones(yaml, err);
    if (!config)
        return false;
    zones->configs[zones->config_count++] = config;
    zones->config = config;
    model_dns_set_config(stage->dns, config);
    if (!stage->engine)
        return true;
    primary_frontend_set_config(stage->frontend, config);
    engine_set_zones(stage->engine, config);
    return true;
}

// ---- Pi-holes that names go to ------------------------------------------------------------------

static bool read_piholes(struct stage_piholes *piholes, const char *yaml, struct error *err)
{
    bool has;
    struct value *tree = NULL;
    struct pihole_targets *targets = &piholes->targets;
    const struct pihole_target defaults = {0};
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(text_of(yaml), &value_manifest_limits);
    targets->items = arena_new_array(piholes->arena, struct pihole_target, PIHOLE_TARGETS_MAX);
    return yaml_reader_next(reader, piholes->arena, &tree, &has, err) &&
           pihole_targets_read(piholes->arena, has ? tree : NULL, &defaults, targets, err);
}

bool stage_set_piholes(struct stage *stage, const struct pihole_targets *settings, const char *yaml,
                       struct error *err)
{
    struct pihole_targets *targets = &stage->piholes.targets;
    forget_piholes(&stage->piholes);
    *targets = *settings;
    if (!read_piholes(&stage->piholes, arena_copy_text(stage->piholes.arena, yaml), err))
        return false;
    for (size_t i = 0; i < targets->count; i++) {
        const char *token = targets->items[i].token_env;
        targets->items[i].secret = token ? secret_new(token, strlen(token)) : NULL;
    }
    return true;
}

const char *stage_owner(const struct stage *stage)
{
    const char *owner = stage->store ? store_owner_id(stage->store) : NULL;
    if (owner)
        return owner;
    return stage->owner ? stage->owner : "";
}

// ---- objects ------------------------------------------------------------------------------------

struct fetch {
    struct arena *arena;
    struct value *tree;
    bool is_done;
};

static void fetched(void *context, const struct store_reply *reply)
{
    struct fetch *fetch = context;
    fetch->is_done = true;
    if (reply->is_ok && reply->tree)
        fetch->tree = value_copy(fetch->arena, reply->tree);
}

struct value *stage_find(struct stage *stage, struct arena *arena, const struct object_ref_key *key)
{
    if (stage->server)
        return model_server_find(stage->server, arena, key);
    struct fetch fetch = {.arena = arena};
    store_get(stage->inner, key, fetched, &fetch);
    for (int i = 0; i < 1000 && !fetch.is_done; i++)
        virtual_loop_run_until(stage->loop, loop_mono_ms(stage->loop) + (i > 0));
    must(fetch.is_done);
    return fetch.tree;
}

bool stage_key(const struct stage *stage, struct arena *arena, const char *text,
               struct object_ref_key *out)
{
    struct text piece[3] = {{0}};
    struct text rest = text_of(arena_copy_text(arena, text));
    size_t count = 0;
    while (count < 3 && text_cut(&rest, '/', &piece[count]))
        count++;
    for (size_t i = 0; i < stage->kind_count; i++) {
        const struct kind *kind = stage->kinds[i].kind;
        if (!text_is(piece[0], kind->name) || count != (kind->is_namespaced ? 3U : 2U))
            continue;
        *out = (struct object_ref_key){kind, kind->is_namespaced ? piece[1] : TEXT(""),
                                       kind->is_namespaced ? piece[2] : piece[1]};
        return true;
    }
    return false;
}

// ---- the end state ------------------------------------------------------------------------------

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct lines {
    char **items;
    size_t count;
    size_t capacity;
};

static void lines_add(struct lines *lines, struct buffer *line)
{
    mem_reserve(&lines->items, &lines->capacity, lines->count + 1);
    lines->items[lines->count++] = buffer_steal(line);
}

static void lines_flush(struct lines *lines, struct buffer *out)
{
    if (lines->count)
        qsort(lines->items, lines->count, sizeof *lines->items, compare_lines);
    for (size_t i = 0; i < lines->count; i++) {
        buffer_printf(out, "%s\n", lines->items[i]);
        free(lines->items[i]);
    }
    free(lines->items);
}

static void dump_webhook(const struct stage_server *server, struct lines *lines)
{
    const struct webhook_record *record;
    for (size_t at = 0; (record = model_webhook_at(server->webhook, at)); at++) {
        struct buffer line = {0};
        buffer_printf(&line, "record %s %s", server->name, record->content.at);
        lines_add(lines, &line);
    }
}

static void dump_pihole(const struct stage_server *server, struct lines *lines)
{
    static const enum pihole_list lists[] = {PIHOLE_HOSTS, PIHOLE_CNAMES};
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (size_t at = 0; at < model_pihole_count(server->pihole, lists[i]); at++) {
            struct buffer line = {0};
            buffer_printf(&line, "record %s %s", server->name,
                          model_pihole_at(server->pihole, lists[i], at));
            lines_add(lines, &line);
        }
}

static void dump_records(const struct stage *stage, struct buffer *out)
{
    struct lines lines = {0};
    for (size_t i = 0; i < stage->server_count; i++)
        if (stage->servers[i].webhook)
            dump_webhook(&stage->servers[i], &lines);
        else
            dump_pihole(&stage->servers[i], &lines);
    lines_flush(&lines, out);
}

struct named_key {
    const struct kind *kind;
    char *namespace_;
    char *name;
};

struct key_list {
    struct named_key *items;
    size_t count;
    size_t capacity;
};

static void collect_key(void *context, const struct object *object)
{
    struct key_list *list = context;
    if (!object->kind->has_status)
        return;
    mem_reserve(&list->items, &list->capacity, list->count + 1);
    list->items[list->count++] =
        (struct named_key){object->kind, mem_copy_text(object_namespace(object).at),
                           mem_copy_text(object_name(object).at)};
}

static void drop_keys(struct value *map, const char *const *keys)
{
    for (; *keys; keys++)
        value_remove(map, *keys);
}

// The order of first writing is no difference.
static struct value *sorted(struct arena *arena, struct value *map)
{
    struct value *out = value_make(arena, VALUE_MAP);
    while (map->first) {
        struct value *least = map->first;
        value_each (item, map)
            if (text_compare(item->key, least->key) < 0)
                least = item;
        struct value *copy = value_copy(arena, least);
        struct text key = least->key;
        value_remove(map, arena_copy(arena, key.at, key.len));
        value_set(out, key, copy);
    }
    return out;
}

// How many serials it took depends on what came together.
static void blur_soa(const struct value *entries)
{
    static const char *const rdata[] = {"rdata", NULL};
    value_each (item, entries)
        if (text_is(value_text_at(item, "type"), "SOA"))
            drop_keys(item, rdata);
}

static void blur_status(struct value *status)
{
    static const char *const top[] = {
        "lastSyncTime", "lastHealthCheck",    "attempts", "nextAttempt",
        "attemptHash",  "observedGeneration", "serial",   NULL};
    static const char *const times[] = {
        "lastTransitionTime", "since",     "drainingSince", "lastSyncTime",       "time",
        "timestamp",          "lastCheck", "traceID",       "observedGeneration", "serial",
        "fetchedSerial",      NULL};
    if (!status)
        return;
    blur_soa(value_find(status, "entries"));
    drop_keys(status, top);
    value_each (field, status) {
        if (field->type == VALUE_MAP)
            drop_keys(field, times);
        value_each (item, field->type == VALUE_LIST ? field : NULL)
            if (item->type == VALUE_MAP)
                drop_keys(item, times);
    }
}

static bool is_ready(const struct value *status)
{
    value_each (item, value_find(status, "conditions"))
        if (text_is(value_text_at(item, "type"), "Ready"))
            return text_is(value_text_at(item, "status"), "True");
    return false;
}

// Of an object that goes or failed, what is known of the server depends on what happened last.
static void blur_applied(const struct value *status)
{
    static const char *const known[] = {"hash", "digest", NULL};
    value_each (item, value_find(status, "applied"))
        drop_keys(item, known);
}

static void dump_object(struct stage *stage, const struct object_ref_key *key, struct buffer *line)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *tree = stage_find(stage, arena, key);
    struct value *status = value_find(tree, "status");
    const struct value *metadata = value_find(tree, "metadata");
    bool is_going = value_find(metadata, "deletionTimestamp") != NULL;
    blur_status(status);
    if (is_going || !is_ready(status))
        blur_applied(status);
    buffer_printf(line, "%s %.*s/%.*s ", key->kind->name, TEXT_ARGS(key->namespace_),
                  TEXT_ARGS(key->name));
    buffer_add_text(line, is_going ? "going " : "");
    if (value_find(metadata, "finalizers"))
        value_write_json(line, value_find(metadata, "finalizers"));
    value_each (item, value_find(metadata, "annotations"))
        buffer_printf(line, " %.*s=%.*s", TEXT_ARGS(item->key), TEXT_ARGS(item->text));
    value_each (item, value_find(metadata, "labels"))
        buffer_printf(line, " %.*s=%.*s", TEXT_ARGS(item->key), TEXT_ARGS(item->text));
    buffer_add_char(line, ' ');
    if (status)
        value_write_json(line, sorted(arena, status));
}

static void dump_objects(struct stage *stage, struct buffer *out)
{
    struct lines lines = {0};
    struct key_list list = {0};
    cache_each(stage->inner->cache, NULL, collect_key, &list);
    for (size_t i = 0; i < list.count; i++) {
        struct buffer line = {0};
        const struct object_ref_key key = {list.items[i].kind, text_of(list.items[i].namespace_),
                                           text_of(list.items[i].name)};
        dump_object(stage, &key, &line);
        lines_add(&lines, &line);
        free(list.items[i].namespace_);
        free(list.items[i].name);
    }
    free(list.items);
    lines_flush(&lines, out);
}

static const char *const state_names[] = {
    [PUBLISHED_WITHHELD] = "held", [PUBLISHED_SERVED] = "served", [PUBLISHED_FROZEN] = "frozen"};

const struct published_zone *stage_zone(const struct stage *stage, struct dname apex)
{
    return stage->engine ? published_find(engine_published(stage->engine), apex) : NULL;
}

const char *stage_zone_state(const struct published_zone *zone)
{
    return state_names[zone->state];
}

static void zone_line(struct lines *lines, const char *what, const struct zone *zone,
                      const char *state)
{
    char hash[21];
    struct buffer line = {0};
    zone_write_hash(zone, hash);
    buffer_printf(&line, "zone %s ", what);
    dname_write(&line, zone_apex(zone));
    buffer_printf(&line, " %s %s", hash, state);
    lines_add(lines, &line);
}

static void dump_published(const struct stage *stage, struct lines *lines)
{
    size_t cursor = 0;
    const struct published_zone *zone;
    const struct published *published = engine_published(stage->engine);
    while ((zone = published_next(published, &cursor)))
        if (zone_history_newest(zone->history))
            zone_line(lines, "here", zone_history_newest(zone->history), stage_zone_state(zone));
}

// Is it what is published?
static bool is_newest(const struct stage *stage, const struct zone *copy)
{
    const struct published_zone *zone = stage_zone(stage, zone_apex(copy));
    const struct zone *newest = zone ? zone_history_newest(zone->history) : NULL;
    return newest && zone_serial(newest) == zone_serial(copy);
}

static void dump_zones(const struct stage *stage, struct buffer *out)
{
    struct lines lines = {0};
    const struct model_secondary *server;
    if (stage->engine)
        dump_published(stage, &lines);
    for (size_t i = 0; (server = model_dns_at(stage->dns, i)); i++) {
        const struct zone *copy;
        for (size_t at = 0; (copy = model_secondary_at(server, at)); at++)
            zone_line(&lines, model_secondary_name(server), copy,
                      is_newest(stage, copy) ? "current" : "old");
    }
    lines_flush(&lines, out);
}

// An owner id may be drawn at random.
static void blur_owner(const char *owner, const struct buffer *from, struct buffer *out)
{
    const char *at = from->at ? from->at : "";
    for (const char *hit; *owner && (hit = strstr(at, owner)); at = hit + strlen(owner)) {
        buffer_add(out, at, (size_t)(hit - at));
        buffer_add_text(out, "{owner}");
    }
    buffer_add_text(out, at);
}

void stage_dump(struct stage *stage, struct buffer *out)
{
    AUTO_BUFFER all = {0};
    dump_records(stage, &all);
    if (stage->inner)
        dump_objects(stage, &all);
    dump_zones(stage, &all);
    blur_owner(stage_owner(stage), &all, out);
}

// Which versions were told and fetched; when, and who was asked for it, depends on what else woke
// the zone.
static void dump_messages(const struct stage *stage, struct buffer *out)
{
    AUTO_BUFFER log = {0};
    struct lines lines = {0};
    model_dns_write_log(stage->dns, &log);
    struct text rest = buffer_text(&log);
    for (struct text line; text_cut(&rest, '\n', &line);) {
        struct buffer copy = {0};
        struct text time;
        if (!text_cut(&line, ' ', &time) || text_starts(line, "SOA "))
            continue;
        buffer_add(&copy, line.at, line.len);
        lines_add(&lines, &copy);
    }
    lines_flush(&lines, out);
}

void stage_dump_requests(const struct stage *stage, struct buffer *out)
{
    for (size_t i = 0; i < model_backend_request_count(stage->backend); i++) {
        const struct model_request *request = model_backend_request(stage->backend, i);
        buffer_printf(out, "%lld %s %s%s %s %d\n", (long long)request->at_ms, request->method,
                      request->host ? model_host_url(request->host) : "?", request->path,
                      request->body, request->status);
    }
    dump_messages(stage, out);
}
