#include "commands/webhook.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/url.h"
#include "commands/manifest.h"
#include "commands/rights.h"
#include "frontends/admission/admission.h"
#include "frontends/admission/cert_files.h"
#include "kinds/kinds.h"
#include "store/cluster/webhook_keeper.h"

const struct option webhook_options[WEBHOOK_OPTION_COUNT] = {
    {.name = "admission",
     .variable = "ENABLE_WEBHOOKS",
     .type = OPTION_FLAG,
     .doc = "Judge objects before they are stored, for a cluster's API server or by hand."},
    {.name = "webhook-cert-dir",
     .alias = "webhook-cert-path",
     .type = OPTION_TEXT,
     .placeholder = "PATH",
     .doc =
         "Folder with tls.crt and tls.key of the admission webhook; they may change at any time. "
         "Without it they are made in a cluster."},
    {.name = "admission-strict",
     .type = OPTION_FLAG,
     .doc = "Deny what is only warned of else: a record whose class is missing or cannot sign for "
            "want of its Secret, a class with a Secret that is known to be missing, a name that "
            "another record holds."},
    {.name = "webhook-port",
     .type = OPTION_INT,
     .fallback = "9443",
     .placeholder = "PORT",
     .min = 0,
     .max = UINT16_MAX,
     .doc = "Where admission is served over HTTPS; 0: any free port. On a folder at 127.0.0.1 "
            "only."},
    {.name = "webhook-url",
     .type = OPTION_TEXT,
     .placeholder = "URL",
     .doc = "Where the API server reaches admission, if not through a Service: its host joins "
            "those that the certificate is made for."},
};

bool webhook_judges(const struct invocation *invocation, const struct kind *kind)
{
    return kind->judged_with && option_flag(invocation, kind->judged_with);
}

struct webhook {
    struct webhook_options options;
    enum finding_level level;
    struct admission *frontend;
    struct cert_files *files;      // NULL: the keeper's
    struct webhook_keeper *keeper; // NULL: the files'
    struct watch_memory memory;
};

static void judge(void *context, const struct kind *kind, const struct value *object,
                  struct findings *findings)
{
    const struct webhook *webhook = context;
    engine_admit(webhook->options.engine, kind, object, webhook->level, findings);
}

static bool use(void *context, struct text certificate_pem, const struct secret *key_pem,
                struct error *err)
{
    const struct webhook *webhook = context;
    return admission_set_certificate(webhook->frontend, certificate_pem, key_pem, err);
}

static void report_port(void *context, const struct hostport *at, const char *trouble)
{
    const struct webhook *webhook = context;
    process_world_report_port(webhook->options.process, at, trouble);
}

static bool check_url(const struct invocation *invocation, struct error *err)
{
    struct url url;
    const char *text = option_text(invocation, "webhook-url");
    if (!text)
        return true;
    if (!url_parse(&url, text_of(text), err))
        return option_blame(invocation, "webhook-url", text, err);
    if (url.is_https)
        return true;
    error_set(err, FAULT_SPEC, "", "expected an https URL");
    return option_blame(invocation, "webhook-url", text, err);
}

static bool is_frontend_wanted(const struct invocation *invocation, bool is_cluster)
{
    return option_is_set(invocation, "admission") ? option_flag(invocation, "admission")
                                                  : is_cluster;
}

bool webhook_makes_certificates(const struct invocation *invocation, bool is_cluster)
{
    return is_cluster && is_frontend_wanted(invocation, is_cluster) &&
           !option_text(invocation, "webhook-cert-dir");
}

bool webhook_check_options(const struct invocation *invocation, bool is_cluster, bool *is_wanted,
                           struct error *err)
{
    *is_wanted = is_frontend_wanted(invocation, is_cluster);
    if (*is_wanted && !is_cluster && !option_text(invocation, "webhook-cert-dir"))
        return error_set(err, FAULT_SPEC, "",
                         "--admission on a folder needs --webhook-cert-dir: name a folder with "
                         "tls.crt and tls.key");
    return check_url(invocation, err);
}

// ---- certificates -------------------------------------------------------------------------------

static void open_files(struct webhook *webhook, const struct webhook_options *options,
                       const char *folder)
{
    webhook->files = cert_files_new(
        options->process->world.loop,
        &(struct cert_files_options){
            .log = options->process->log, .folder = folder, .use = use, .context = webhook});
}

static size_t list_hosts(const struct webhook_options *options, const char *hosts[3])
{
    struct url url;
    struct arena *arena = options->invocation->arena;
    const char *text = option_text(options->invocation, "webhook-url");
    hosts[0] = arena_printf(arena, "%s.%s.svc", MANIFEST_WEBHOOK_SERVICE, options->namespace_);
    hosts[1] = arena_printf(arena, "%s.cluster.local", hosts[0]);
    if (!text || !url_parse(&url, text_of(text), NULL))
        return 2;
    hosts[2] = arena_copy_text(arena, url.host);
    return 3;
}

static void note(void *context, const struct kube_event *reported)
{
    const struct webhook *webhook = context;
    if (webhook->options.note)
        webhook->options.note(webhook->options.context, reported);
}

static void open_keeper(struct webhook *webhook, const struct webhook_options *options)
{
    const char *hosts[3];
    size_t host_count = list_hosts(options, hosts);
    webhook->keeper = webhook_keeper_new(
        &(struct webhook_keeper_options){.world = &options->process->world,
                                         .log = options->process->log,
                                         .api = options->api,
                                         .memory = &webhook->memory,
                                         .namespace_ = options->namespace_,
                                         .secret = RIGHTS_CERTIFICATE_SECRET,
                                         .configuration = RIGHTS_ADMISSION_CONFIGURATION,
                                         .hosts = hosts,
                                         .host_count = host_count,
                                         .use = use,
                                         .note = note,
                                         .context = webhook});
    webhook_keeper_set_leading(webhook->keeper, engine_is_leading(options->engine));
    webhook_keeper_start(webhook->keeper);
}

// ---- life ---------------------------------------------------------------------------------------

static size_t list_judged(const struct invocation *invocation, const struct kind **out)
{
    size_t count = 0;
    for (size_t i = 0; i < kind_count; i++)
        if (!kinds[i]->judged_with || webhook_judges(invocation, kinds[i]))
            out[count++] = kinds[i];
    return count;
}

static struct admission *open_frontend(struct webhook *webhook, struct error *err)
{
    const struct kind **judged =
        arena_new_array(webhook->options.invocation->arena, const struct kind *, kind_count);
    const struct webhook_options *options = &webhook->options;
    const struct admission_options frontend = {
        .address = options->api ? "" : "127.0.0.1",
        .port = (uint16_t)option_int(options->invocation, "webhook-port"),
        .kinds = judged,
        .kind_count = list_judged(options->invocation, judged),
        .judge = judge,
        .listening = report_port,
        .context = webhook,
    };
    return admission_new(options->process->world.loop, &frontend, err);
}

struct webhook *webhook_new(const struct webhook_options *options, struct error *err)
{
    const struct invocation *invocation = options->invocation;
    const char *folder = option_text(invocation, "webhook-cert-dir");
    struct webhook *webhook = mem_new_of(struct webhook);
    webhook->options = *options;
    webhook->level = option_flag(invocation, "admission-strict") ? FINDING_ERROR : FINDING_WARNING;
    webhook->frontend = open_frontend(webhook, err);
    if (!webhook->frontend) {
        webhook_free(webhook);
        return NULL;
    }
    if (folder)
        open_files(webhook, options, folder);
    else
        open_keeper(webhook, options);
    log_line(options->process->log, LOG_INFO, "serving admission",
             LOG_INT("port", admission_port(webhook->frontend)), LOG_END);
    return webhook;
}

void webhook_free(struct webhook *webhook)
{
    if (!webhook)
        return;
    cert_files_free(webhook->files);
    webhook_keeper_free(webhook->keeper);
    admission_free(webhook->frontend);
    free(webhook);
}

void webhook_set_leading(struct webhook *webhook, bool is_leading)
{
    if (webhook && webhook->keeper)
        webhook_keeper_set_leading(webhook->keeper, is_leading);
}

void webhook_reload(struct webhook *webhook)
{
    if (webhook && webhook->files)
        cert_files_look(webhook->files);
}

void webhook_drain(struct webhook *webhook)
{
    if (webhook)
        admission_drain(webhook->frontend);
}

void webhook_write_metrics(const struct webhook *webhook, struct buffer *out)
{
    if (webhook)
        admission_write_metrics(webhook->frontend, out);
}

static size_t certificate_checks(struct webhook *webhook, struct store_check *out, size_t capacity)
{
    if (!capacity)
        return 0;
    if (webhook->keeper)
        return webhook_keeper_checks(webhook->keeper, out, capacity);
    *out = cert_files_check(webhook->files);
    return 1;
}

size_t webhook_checks(struct webhook *webhook, struct store_check *out, size_t capacity)
{
    const char *trouble = webhook ? admission_trouble(webhook->frontend) : NULL;
    if (!webhook || !capacity)
        return 0;
    if (trouble) {
        *out = (struct store_check){.name = "webhook-port", .text = trouble};
        return 1 + certificate_checks(webhook, out + 1, capacity - 1);
    }
    return certificate_checks(webhook, out, capacity);
}
