#include "store/cluster/webhook_keeper.h"

#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/must.h"
#include "store/cluster/webhook_object.h"
#include "store/events.def"

enum {
    SEEN_WAIT_MS = 5000, // for the watch to show what was written
    RETRY_MIN_MS = 1000, // doubled with each failure
    RETRY_MAX_MS = 60000,
    LOOK_MAX_MS = 3600000, // the wall clock may step
    HOSTS_MAX = 32,
};

// ---- the two kinds, as far as a keeper knows them -----------------------------------------------

static void pack_nothing(const struct value *object, struct pack_writer *out)
{
    (void)object;
    (void)out;
}

static const struct kind secret_kind = {
    .group = "",
    .version = "v1",
    .name = "Secret",
    .plural = "secrets",
    .is_namespaced = true,
    .is_foreign = true,
    .is_secret = true,
    .pack_spec = pack_nothing,
};
static const struct kind configuration_kind = {
    .group = "admissionregistration.k8s.io",
    .version = "v1",
    .name = "ValidatingWebhookConfiguration",
    .plural = "validatingwebhookconfigurations",
    .is_foreign = true,
    .pack_spec = pack_nothing,
};

// One watched object.
struct seen {
    struct webhook_keeper *keeper;
    const struct kind *kind;
    struct watch *watch;
    bool is_known; // that it is there, or is not
    bool is_met;   // in the pass under way
};

struct webhook_keeper {
    struct webhook_keeper_options options;
    struct loop *loop;
    char *namespace_;
    char *secret_name;
    char *configuration_name;
    char *hosts[HOSTS_MAX];
    struct seen secret;
    struct seen configuration;
    bool has_secret;
    bool is_stranger; // the Secret is somebody else's
    struct webhook_keys keys;
    char *version;       // of the Secret
    struct arena *arena; // of the configuration
    struct value *tree;  // the configuration, or NULL
    bool is_leading;
    int64_t shown_since_s;
    enum webhook_step step; // that is being written
    struct api_call *call;
    bool is_waiting;   // the watch has not shown the last write yet, or a failure rests
    unsigned failures; // of writes, in a row
    struct loop_timer timer;
    bool is_used; // the frontend has a pair
    struct error fault;
};

static void look(struct webhook_keeper *keeper);

// ---- serving ------------------------------------------------------------------------------------

static void fail(struct webhook_keeper *keeper, const char *what, const struct error *error)
{
    bool is_news = strcmp(keeper->fault.text, error->text) != 0;
    keeper->fault = *error;
    log_line(keeper->options.log, is_news ? LOG_WARN : LOG_DEBUG, what,
             LOG_TEXT("error", error->text), LOG_END);
}

// On every replica, whoever wrote it.
static void serve(struct webhook_keeper *keeper)
{
    struct error err = {0};
    const struct x509_pair *leaf = &keeper->keys.leaf;
    if (!webhook_keys_serve(&keeper->keys))
        return;
    if (!keeper->options.use(keeper->options.context, text_of(leaf->certificate_pem), leaf->key_pem,
                             &err)) {
        fail(keeper, "certificate of the admission webhook is left aside", &err);
        return;
    }
    keeper->is_used = true;
    log_line(keeper->options.log, LOG_INFO, "certificate of the admission webhook is in use",
             LOG_TEXT("secret", keeper->secret_name), LOG_END);
}

static bool is_same_leaf(const struct webhook_keys *a, const struct webhook_keys *b)
{
    const char *left = a->leaf.certificate_pem;
    const char *right = b->leaf.certificate_pem;
    return left && right && !strcmp(left, right) && secret_equal(a->leaf.key_pem, b->leaf.key_pem);
}

// ---- what the watches show ----------------------------------------------------------------------

static void report_stranger(struct webhook_keeper *keeper)
{
    struct error err;
    error_set(
        &err, FAULT_SPEC, "NotOurs",
        "Secret %s/%s is somebody else's and stays as it is: rename or remove it, or give its "
        "certificate with --webhook-cert-dir",
        keeper->namespace_, keeper->secret_name);
    fail(keeper, "certificates of the admission webhook cannot be kept", &err);
}

static void take_secret(struct webhook_keeper *keeper, const struct value *tree)
{
    struct webhook_keys keys = {0};
    keeper->is_stranger = tree && !webhook_secret_is_ours(tree);
    if (keeper->is_stranger) {
        report_stranger(keeper);
        return;
    }
    if (tree)
        webhook_keys_read(tree, &keys);
    bool is_same = is_same_leaf(&keeper->keys, &keys);
    webhook_keys_done(&keeper->keys);
    free(keeper->version);
    keeper->keys = keys;
    keeper->has_secret = tree != NULL;
    struct text version = value_text_at(tree, "metadata.resourceVersion");
    keeper->version = mem_copy_text(version.at ? version.at : "");
    if (tree && !is_same)
        serve(keeper);
}

static void take_configuration(struct webhook_keeper *keeper, const struct value *tree)
{
    arena_reset(keeper->arena);
    keeper->tree = tree ? value_copy(keeper->arena, tree) : NULL;
}

static void take(struct seen *seen, const struct value *tree)
{
    struct webhook_keeper *keeper = seen->keeper;
    keeper->is_waiting = false;
    if (seen == &keeper->secret)
        take_secret(keeper, tree);
    else
        take_configuration(keeper, tree);
}

static void pass_begin(void *context, bool has_gone_back)
{
    struct seen *seen = context;
    (void)has_gone_back;
    seen->is_met = false;
}

static void object(void *context, bool is_deleted, const struct value *tree)
{
    struct seen *seen = context;
    seen->is_met = true;
    take(seen, is_deleted ? NULL : tree);
}

static void pass_end(void *context, bool may_sweep)
{
    struct seen *seen = context;
    if (!may_sweep)
        return;
    if (!seen->is_met)
        take(seen, NULL);
    seen->is_known = true;
    look(seen->keeper);
}

static void batch_end(void *context)
{
    const struct seen *seen = context;
    look(seen->keeper);
}

// ---- writing ------------------------------------------------------------------------------------

static void wait_ms(struct webhook_keeper *keeper, int64_t ms)
{
    keeper->is_waiting = true;
    loop_timer_set(keeper->loop, &keeper->timer, ms);
}

static void note_repair(const struct webhook_keeper *keeper)
{
    if (!keeper->options.note || !keeper->tree)
        return;
    struct object *regarding = object_new(&configuration_kind, NULL, keeper->tree);
    keeper->options.note(keeper->options.context,
                         &(struct kube_event){
                             .regarding = regarding,
                             .is_warning = true,
                             .reason = EVENT_CA_BUNDLE_REPAIRED,
                             .action = "Repair",
                             .text = "caBundle was changed by somebody else; it is put right",
                         });
    object_unref(regarding);
}

static int64_t wait_after_write(const struct webhook_keeper *keeper)
{
    int64_t retry_ms = backoff_ms(RETRY_MIN_MS, RETRY_MAX_MS, keeper->failures);
    return retry_ms > SEEN_WAIT_MS ? retry_ms : SEEN_WAIT_MS;
}

static void written(void *context, const struct api_reply *reply)
{
    struct webhook_keeper *keeper = context;
    keeper->call = NULL;
    if (reply->is_ok) {
        keeper->failures = 0;
        error_clear(&keeper->fault);
        if (keeper->step == WEBHOOK_REPAIR_BUNDLE)
            note_repair(keeper);
    } else if (reply->error.fault == FAULT_RACE) {
        log_line(keeper->options.log, LOG_DEBUG, "somebody else was first",
                 LOG_TEXT("error", reply->error.text), LOG_END);
    } else {
        keeper->failures++;
        fail(keeper, "certificates of the admission webhook could not be written", &reply->error);
    }
    // The watch may have shown it before the reply came.
    if (keeper->is_waiting)
        wait_ms(keeper, wait_after_write(keeper));
    else
        look(keeper);
}

static void send_write(struct webhook_keeper *keeper, const char *method, const struct seen *seen,
                       const char *name, const char *type, struct text body)
{
    AUTO_BUFFER path = {0};
    api_path(&path, seen->kind, seen == &keeper->secret ? text_of(keeper->namespace_) : TEXT(""),
             text_of(name), NULL);
    buffer_add_text(&path, "?fieldManager=signpost");
    keeper->is_waiting = true;
    keeper->call = api_send(
        keeper->options.api,
        &(struct api_request){
            .method = method, .path = buffer_text(&path).at, .content_type = type, .body = body},
        written, keeper);
}

static void send_keys(struct webhook_keeper *keeper, const struct webhook_keys *keys)
{
    struct buffer body = {0};
    if (keeper->has_secret) {
        webhook_keys_write_patch(&body, keeper->version, keys);
        send_write(keeper, "PATCH", &keeper->secret, keeper->secret_name,
                   "application/merge-patch+json", buffer_text(&body));
    } else {
        webhook_keys_write_new(&body, keeper->namespace_, keeper->secret_name, keys);
        send_write(keeper, "POST", &keeper->secret, "", NULL, buffer_text(&body));
    }
    secret_wipe(body.at, body.capacity);
    buffer_done(&body);
}

static void write_keys(struct webhook_keeper *keeper, const struct webhook_now *now)
{
    struct error err = {0};
    struct webhook_keys keys;
    if (!webhook_keys_make(now, keeper->step, keeper->options.world->random, &keys, &err)) {
        fail(keeper, "certificates of the admission webhook could not be made", &err);
        wait_ms(keeper, RETRY_MAX_MS);
        return;
    }
    send_keys(keeper, &keys);
    webhook_keys_done(&keys);
}

static struct webhook_hosts hosts_of(const struct webhook_keeper *keeper)
{
    return (struct webhook_hosts){(const char *const *)keeper->hosts, keeper->options.host_count};
}

static void write_bundle(struct webhook_keeper *keeper, const char *pem)
{
    AUTO_BUFFER body = {0};
    const struct webhook_hosts hosts = hosts_of(keeper);
    webhook_bundle_write_patch(&body, keeper->tree, &hosts, pem);
    send_write(keeper, "PATCH", &keeper->configuration, keeper->configuration_name,
               "application/json-patch+json", buffer_text(&body));
}

// ---- looking ------------------------------------------------------------------------------------

static struct webhook_now now_of(const struct webhook_keeper *keeper, struct arena *arena)
{
    const struct webhook_hosts hosts = hosts_of(keeper);
    struct webhook_now now = {
        .keys = keeper->has_secret ? &keeper->keys : NULL,
        .hosts = (const char *const *)keeper->hosts,
        .host_count = keeper->options.host_count,
        .now_s = loop_unix_ms(keeper->loop) / 1000,
        .shown_since_s = keeper->shown_since_s,
    };
    webhook_bundle_read(arena, keeper->tree, &hosts, &now.bundle);
    return now;
}

static void rest(struct webhook_keeper *keeper, const struct webhook_plan *plan)
{
    int64_t delay_ms = plan->wake_s * 1000 - loop_unix_ms(keeper->loop);
    if (delay_ms > LOOK_MAX_MS)
        delay_ms = LOOK_MAX_MS;
    loop_timer_set(keeper->loop, &keeper->timer, delay_ms > 0 ? delay_ms : RETRY_MIN_MS);
}

static void act(struct webhook_keeper *keeper, const struct webhook_now *now,
                const struct webhook_plan *plan)
{
    keeper->step = plan->step;
    log_line(keeper->options.log, plan->step == WEBHOOK_REPAIR_BUNDLE ? LOG_WARN : LOG_INFO,
             "certificates of the admission webhook", LOG_TEXT("why", plan->why), LOG_END);
    if (plan->bundle && (plan->step == WEBHOOK_SET_BUNDLE || plan->step == WEBHOOK_REPAIR_BUNDLE))
        write_bundle(keeper, plan->bundle);
    else
        write_keys(keeper, now);
}

static void look(struct webhook_keeper *keeper)
{
    CLEANUP(arena) struct arena *arena = NULL;
    struct webhook_plan plan;
    if (!keeper->is_leading || !keeper->secret.is_known || !keeper->configuration.is_known ||
        keeper->call || keeper->is_waiting || keeper->is_stranger)
        return;
    arena = arena_new();
    struct webhook_now now = now_of(keeper, arena);
    webhook_plan(arena, &now, &plan);
    if (!plan.is_shown)
        keeper->shown_since_s = 0;
    else if (!keeper->shown_since_s)
        keeper->shown_since_s = now.now_s;
    if (plan.step == WEBHOOK_REST)
        rest(keeper, &plan);
    else
        act(keeper, &now, &plan);
}

static void wake(void *context)
{
    struct webhook_keeper *keeper = context;
    keeper->is_waiting = false;
    look(keeper);
}

// ---- life ---------------------------------------------------------------------------------------

static void open_watch(struct webhook_keeper *keeper, struct seen *seen, const struct kind *kind,
                       const char *namespace_, const char *name)
{
    const struct webhook_keeper_options *options = &keeper->options;
    *seen = (struct seen){.keeper = keeper, .kind = kind};
    seen->watch = watch_new(&(struct watch_options){.world = options->world,
                                                    .log = options->log,
                                                    .api = options->api,
                                                    .kind = kind,
                                                    .namespace_ = namespace_,
                                                    .name = name,
                                                    .is_required = true,
                                                    .memory = options->memory},
                            &(struct watch_sink){.pass_begin = pass_begin,
                                                 .pass_end = pass_end,
                                                 .object = object,
                                                 .batch_end = batch_end,
                                                 .context = seen});
}

struct webhook_keeper *webhook_keeper_new(const struct webhook_keeper_options *options)
{
    struct webhook_keeper *keeper = mem_new_of(struct webhook_keeper);
    must(options->host_count > 0 && options->host_count <= HOSTS_MAX);
    keeper->options = *options;
    keeper->loop = options->world->loop;
    keeper->arena = arena_new();
    keeper->namespace_ = mem_copy_text(options->namespace_);
    keeper->secret_name = mem_copy_text(options->secret);
    keeper->configuration_name = mem_copy_text(options->configuration);
    for (size_t i = 0; i < options->host_count; i++)
        keeper->hosts[i] = mem_copy_text(options->hosts[i]);
    keeper->timer = (struct loop_timer){.call = wake, .context = keeper};
    open_watch(keeper, &keeper->secret, &secret_kind, keeper->namespace_, keeper->secret_name);
    open_watch(keeper, &keeper->configuration, &configuration_kind, NULL,
               keeper->configuration_name);
    return keeper;
}

void webhook_keeper_start(struct webhook_keeper *keeper)
{
    watch_start(keeper->secret.watch);
    watch_start(keeper->configuration.watch);
}

void webhook_keeper_free(struct webhook_keeper *keeper)
{
    if (!keeper)
        return;
    loop_timer_cancel(keeper->loop, &keeper->timer);
    if (keeper->call)
        api_cancel(keeper->options.api, keeper->call);
    watch_free(keeper->secret.watch);
    watch_free(keeper->configuration.watch);
    webhook_keys_done(&keeper->keys);
    for (size_t i = 0; i < keeper->options.host_count; i++)
        free(keeper->hosts[i]);
    free(keeper->version);
    free(keeper->namespace_);
    free(keeper->secret_name);
    free(keeper->configuration_name);
    arena_free(keeper->arena);
    free(keeper);
}

void webhook_keeper_set_leading(struct webhook_keeper *keeper, bool is_leading)
{
    keeper->is_leading = is_leading;
    keeper->shown_since_s = 0;
    look(keeper);
}

static const char *why_unused(const struct webhook_keeper *keeper)
{
    if (*keeper->fault.text)
        return keeper->fault.text;
    return "there is no certificate yet: whoever leads makes it";
}

size_t webhook_keeper_checks(struct webhook_keeper *keeper, struct store_check *out,
                             size_t capacity)
{
    const struct store_check checks[] = {
        {.name = "webhook-certificate",
         .is_ok = keeper->is_used,
         .text = keeper->is_used ? "" : why_unused(keeper)},
        watch_check(keeper->secret.watch),
        watch_check(keeper->configuration.watch),
    };
    size_t count = capacity < COUNT_OF(checks) ? capacity : COUNT_OF(checks);
    memcpy(out, checks, count * sizeof *checks);
    return count;
}
