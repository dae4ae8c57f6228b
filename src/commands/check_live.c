#include "commands/check_live.h"

#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/dry_run.h"
#include "commands/look.h"
#include "commands/metrics_guard.h"
#include "commands/print.h"
#include "commands/process.h"
#include "commands/read_probe.h"
#include "commands/webhook.h"
#include "commands/write_probe.h"
#include "kinds/condition.h"
#include "kinds/dnsplan/dnsplan.h"
#include "kinds/kinds.h"
#include "store/cluster/access.h"
#include "store/cluster/api.h"

enum { LOOK_MS = 20, CHECKS_MAX = 256, DNS_PORT = 53 };

struct live {
    struct invocation *invocation;
    struct setup setup;
    struct buffer text;
    struct buffer *json; // NULL: text
    bool has_error;
    struct proposal proposal;
    const char *owner_id; // of the store, or NULL
    struct ledger_memory memory;
    struct buffer ledgers; // names of their pages, a line each
    // of a cluster
    struct process_world process;
    struct api *api;
    struct access *access;
    struct loop_timer timer;
    size_t kind_at;
    bool are_kinds_done;
};

static void write_json_line(struct buffer *out, const char *level, const char *what,
                            const char *text)
{
    AUTO_BUFFER clean = {0};
    text_clean(&clean, text_of(text), SIZE_MAX);
    buffer_printf(out, "%s{\"level\": \"%s\", \"what\": ", out->len ? ",\n " : "\n ", level);
    value_write_json_text(out, text_of(what));
    buffer_add_text(out, ", \"text\": ");
    value_write_json_text(out, buffer_text(&clean));
    buffer_add_char(out, '}');
}

static void write_line(struct live *live, const char *level, const char *what, const char *text)
{
    if (live->json) {
        write_json_line(live->json, level, what, text);
        return;
    }
    buffer_printf(&live->text, "%-5s  %s: ", level, what);
    text_clean(&live->text, text_of(text), SIZE_MAX);
    buffer_add_char(&live->text, '\n');
}

static void say(struct live *live, bool is_ok, const char *what, const char *text)
{
    write_line(live, is_ok ? "ok" : "error", what, text);
    live->has_error = live->has_error || !is_ok;
}

// ---- kinds --------------------------------------------------------------------------------------

static void ask_next_kind(struct live *live);

static void kind_answered(void *context, const struct api_reply *reply)
{
    struct live *live = context;
    const struct kind *kind = kinds[live->kind_at++];
    AUTO_BUFFER what = {0};
    AUTO_BUFFER version = {0};
    kind_api_version(&version, kind);
    buffer_printf(&what, "kind %s", kind->name);
    const char *fault = reply->status == 404
                            ? "is not installed; apply what `signpost manifests --crd` prints"
                            : reply->error.text;
    if (reply->is_ok)
        say(live, true, what.at, version.at);
    else if (setup_does_without(&live->setup, kind))
        write_line(live, "warn", what.at, fault);
    else
        say(live, false, what.at, fault);
    ask_next_kind(live);
}

static bool is_asked(const struct live *live, const struct kind *kind)
{
    return !kind->is_foreign && setup_reads(&live->setup, kind);
}

// One object is as good as all to see whether the kind is served in our version.
static void ask_next_kind(struct live *live)
{
    AUTO_BUFFER path = {0};
    while (live->kind_at < kind_count && !is_asked(live, kinds[live->kind_at]))
        live->kind_at++;
    live->are_kinds_done = live->kind_at == kind_count;
    if (live->are_kinds_done)
        return;
    const char *const *namespaces = configured_store_namespaces(&live->setup.place);
    const struct kind *kind = kinds[live->kind_at];
    api_path(&path, kind, kind->is_namespaced && namespaces ? text_of(namespaces[0]) : TEXT(""),
             TEXT(""), NULL);
    buffer_add_text(&path, "?limit=1");
    api_send(live->api, &(struct api_request){.method = "GET", .path = path.at}, kind_answered,
             live);
}

// ---- rights -------------------------------------------------------------------------------------

static void report_rights(struct live *live)
{
    struct store_check checks[CHECKS_MAX];
    size_t count = access_checks(live->access, checks, CHECKS_MAX);
    const char *fault = access_fault(live->access);
    for (size_t i = 0; i < count; i++)
        if (checks[i].is_advice)
            write_line(live, "warn", checks[i].name, checks[i].text);
        else
            say(live, false, checks[i].name, checks[i].text);
    if (fault)
        say(live, false, "rights", fault);
    else if (!count && access_is_over(live->access))
        say(live, true, "rights", "all that `signpost run` asks for");
    else if (count)
        write_line(live, "warn", "rights",
                   "those above are what the account of `signpost run` needs: ask with its "
                   "kubeconfig; `signpost manifests --rbac` prints them");
}

static const struct kube_right *rights_of(const struct live *live)
{
    const struct setup_store how = {
        .keeps_certificates = webhook_makes_certificates(live->invocation, true),
        .judges_bearers = option_flag(live->invocation, metrics_guard_option.name),
    };
    return setup_rights(&live->setup, &how, live->invocation->arena);
}

static void look(void *context)
{
    struct live *live = context;
    if (live->are_kinds_done && access_is_over(live->access))
        loop_stop(live->process.world.loop);
    else
        loop_timer_set(live->process.world.loop, &live->timer, LOOK_MS);
}

static void time_is_over(void *context)
{
    struct live *live = context;
    say(live, false, "cluster", "did not answer all questions within --timeout");
    loop_stop(live->process.world.loop);
}

static void ask_cluster(struct live *live, struct kube_access *access)
{
    struct world *world = &live->process.world;
    struct loop_timer deadline = {.call = time_is_over, .context = live};
    live->api = api_new(world, live->process.log, access);
    live->access = access_new(&(struct access_options){
        .world = world,
        .api = live->api,
        .rights = rights_of(live),
        .own_namespace = live->setup.place.own_namespace,
        .lease_namespace = setup_lease_namespace(&live->setup),
        .namespaces = configured_store_namespaces(&live->setup.place),
    });
    live->timer = (struct loop_timer){.call = look, .context = live};
    access_start(live->access);
    ask_next_kind(live);
    loop_timer_set(world->loop, &live->timer, LOOK_MS);
    loop_timer_set(world->loop, &deadline, option_ms(live->invocation, "timeout"));
    loop_run(world->loop);
    loop_timer_cancel(world->loop, &deadline);
    loop_timer_cancel(world->loop, &live->timer);
    report_rights(live);
    access_free(live->access);
    api_free(live->api);
}

// Whether it can be asked at all: what comes of that is told of each kind below.
static bool is_there(struct live *live, struct error *err)
{
    const struct kind *any[] = {&dnsplan_kind};
    struct configured_store place = live->setup.place;
    CLEANUP(look)
    struct look *look =
        look_new(&place, any, COUNT_OF(any), option_ms(live->invocation, "timeout"), err);
    return look != NULL;
}

static bool check_cluster(struct live *live, struct error *err)
{
    if (!is_there(live, err))
        return false;
    if (!process_world_init(&live->process, live->invocation, err))
        return false;
    struct kube_access *access = configured_store_access(&live->setup.place, err);
    if (access)
        ask_cluster(live, access);
    process_world_done(&live->process);
    return access != NULL;
}

// ---- classes ------------------------------------------------------------------------------------

static void health(void *context, const char *class_name, const struct outcome *outcome)
{
    struct live *live = context;
    AUTO_BUFFER what = {0};
    buffer_printf(&what, "DNSClass %s", class_name);
    say(live, outcome->is_done, what.at,
        outcome->is_done ? "its server answers and takes our signature" : outcome->error->text);
}

static void take_shards(void *context, const struct store_shard *shards, size_t count)
{
    struct live *live = context;
    ledger_memory_take(&live->memory, shards, count);
    for (size_t i = 0; i < count; i++)
        buffer_printf(&live->ledgers, "%.*s\n", TEXT_ARGS(shards[i].name));
}

// Warns of backends that a ledger remembers and no setting names any more: what is ours there
// stays.
static void report_given_up(struct live *live)
{
    const struct provider *provider;
    struct text rest = buffer_text(&live->ledgers), shard, name, last = {0};
    while (text_cut(&rest, '\n', &shard)) {
        AUTO_BUFFER backend = {0};
        AUTO_BUFFER what = {0};
        AUTO_BUFFER text = {0};
        if (!backend_of_shard(shard, &provider, &name) || text_equal(name, last))
            continue;
        last = name;
        buffer_printf(&backend, "%s-%.*s", provider->name, TEXT_ARGS(name));
        if (backends_find(&live->setup.backends, buffer_text(&backend)))
            continue;
        buffer_printf(&what, "%s %.*s", provider->title, TEXT_ARGS(name));
        buffer_printf(&text,
                      "it is kept no more, and its names stay there; `signpost import %s "
                      "--release` removes them",
                      provider->name);
        write_line(live, "warn", what.at, text.at);
    }
}

static void report_backend(void *context, const char *level, const char *what, const char *text)
{
    struct live *live = context;
    write_line(live, level, what, text);
    live->has_error = live->has_error || !strcmp(level, "error");
}

static bool probe_backends(struct live *live, struct error *err)
{
    const char *given = option_text(live->invocation, "owner-id");
    const struct read_probe probe = {
        .invocation = live->invocation,
        .backends = &live->setup.backends,
        .owner_id = given ? given : live->owner_id,
        .memory = &live->memory,
        .timeout_ms = option_ms(live->invocation, "timeout"),
        .reported = report_backend,
        .context = live,
    };
    if (!live->setup.backends.count)
        return true;
    report_given_up(live);
    return read_probe(&probe, err);
}

// What is found at fault without writing would be found at fault again.
static bool try_backends(struct live *live, struct error *err)
{
    struct hostport resolver;
    const char *given = option_text(live->invocation, "resolver");
    struct write_probe probe = {
        .setup = &live->setup,
        .timeout_ms = option_ms(live->invocation, "timeout"),
        .reported = report_backend,
        .context = live,
    };
    if (!option_flag(live->invocation, "write") || !live->setup.backends.count || live->has_error)
        return true;
    if (given && !hostport_parse(&resolver, text_of(given), DNS_PORT, false, err))
        return error_prefix(err, "--resolver: ");
    if (given)
        probe.resolver = &resolver;
    struct error why = {0};
    if (!write_probe(&probe, &why))
        say(live, false, "write", why.text);
    return true;
}

// One name that is no good keeps no other out.
static void warn_of_names(struct live *live, const char *what,
                          const struct proposal_obstacle *obstacle)
{
    AUTO_BUFFER text = {0};
    buffer_printf(&text, "%s: %s", obstacle->reason, obstacle->message);
    write_line(live, "warn", what, text.at);
}

static void report_obstacle(struct live *live, const struct proposal_obstacle *obstacle)
{
    AUTO_BUFFER what = {0};
    if (!strcmp(obstacle->reason, reason_name(REASON_PAUSED))) // somebody wants it so
        return;
    proposal_write_object(&what, obstacle->kind, obstacle->namespace_, obstacle->object);
    if (obstacle->kind->advised)
        warn_of_names(live, what.at, obstacle);
    else if (obstacle->kind == &dnsplan_kind)
        write_line(live, "warn", what.at, obstacle->message);
    else
        say(live, false, what.at, obstacle->message);
}

static bool check_classes(struct live *live, struct error *err)
{
    struct dry_run dry_run = {
        .setup = &live->setup,
        .leaves_backends = true,
        .timeout_ms = option_ms(live->invocation, "timeout"),
        .health = health,
        .shards = live->setup.backends.count ? take_shards : NULL,
        .context = live,
    };
    if (!run_dry(&dry_run, &live->proposal, err))
        return false;
    live->owner_id = dry_run.owner_id;
    if (dry_run.owner_fault)
        write_line(live, "warn", "owner id", dry_run.owner_fault);
    for (size_t i = 0; i < live->proposal.obstacle_count; i++)
        report_obstacle(live, &live->proposal.obstacles[i]);
    return true;
}

int check_live(struct invocation *invocation, struct buffer *json)
{
    struct error err;
    struct live live = {
        .invocation = invocation, .json = json, .proposal = {.arena = invocation->arena}};
    int code = 0;
    if (!setup_init(&live.setup, invocation, &err))
        return command_fail(2, "%s", err.text);
    live.memory.backends = &live.setup.backends;
    bool is_read = (!live.setup.place.is_cluster || check_cluster(&live, &err)) &&
                   (live.has_error || check_classes(&live, &err)) && probe_backends(&live, &err) &&
                   try_backends(&live, &err);
    if (live.has_error)
        code = 1;
    struct error out;
    if (live.text.len && !print_out(&live.text, &out))
        code = command_fail(1, "%s", out.text);
    if (!is_read)
        code = command_fail(2, "%s", err.text);
    proposal_done(&live.proposal);
    buffer_done(&live.text);
    buffer_done(&live.ledgers);
    ledger_memory_done(&live.memory);
    setup_done(&live.setup);
    return code;
}
