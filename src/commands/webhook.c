#include "commands/webhook.h"

#include <stdlib.h>

#include "base/memory.h"
#include "doors/admission/admission.h"
#include "doors/admission/cert_files.h"
#include "kinds/kinds.h"

const struct option webhook_options[WEBHOOK_OPTION_COUNT] = {
    {.name = "admission",
     .variable = "ENABLE_WEBHOOKS",
     .type = OPTION_FLAG,
     .doc = "Judge objects before they are stored, for a cluster's API server or by hand."},
    {.name = "admission-strict",
     .type = OPTION_FLAG,
     .doc = "Deny what is only warned of else: a class or Secret that is missing, a name that "
            "another record holds."},
    {.name = "webhook-port",
     .type = OPTION_INT,
     .fallback = "9443",
     .placeholder = "PORT",
     .min = 0,
     .max = UINT16_MAX,
     .doc = "Where admission is served over HTTPS; 0: any free port. On a folder at 127.0.0.1 "
            "only."},
    {.name = "webhook-cert-dir",
     .alias = "webhook-cert-path",
     .type = OPTION_TEXT,
     .placeholder = "PATH",
     .doc = "Folder with tls.crt and tls.key of the admission door; they may change at any time."},
};

struct webhook {
    struct engine *engine;
    enum finding_level level;
    struct admission *door;
    struct cert_files *files;
};

static void judge(void *context, const struct kind *kind, const struct value *object,
                  struct findings *findings)
{
    const struct webhook *webhook = context;
    engine_admit(webhook->engine, kind, object, webhook->level, findings);
}

static bool use(void *context, struct text certificate_pem, const struct secret *key_pem,
                struct error *err)
{
    const struct webhook *webhook = context;
    return admission_set_certificate(webhook->door, certificate_pem, key_pem, err);
}

bool webhook_check_options(const struct invocation *invocation, bool is_cluster, bool *is_wanted,
                           struct error *err)
{
    *is_wanted =
        option_is_set(invocation, "admission") ? option_flag(invocation, "admission") : is_cluster;
    if (*is_wanted && !is_cluster && !option_text(invocation, "webhook-cert-dir"))
        return error_set(err, FAULT_SPEC, "",
                         "--admission on a folder needs --webhook-cert-dir: name a folder with "
                         "tls.crt and tls.key");
    return true;
}

struct webhook *webhook_new(const struct webhook_options *options, struct error *err)
{
    const struct invocation *invocation = options->invocation;
    const char *folder = option_text(invocation, "webhook-cert-dir");
    struct loop *loop = options->process->world.loop;
    struct webhook *webhook = mem_new_of(struct webhook);
    webhook->engine = options->engine;
    webhook->level = option_flag(invocation, "admission-strict") ? FINDING_ERROR : FINDING_WARNING;
    webhook->door = admission_new(
        loop,
        &(struct admission_options){.address = options->is_cluster ? "" : "127.0.0.1",
                                    .port = (uint16_t)option_int(invocation, "webhook-port"),
                                    .kinds = kinds,
                                    .kind_count = kind_count,
                                    .judge = judge,
                                    .context = webhook},
        err);
    if (!webhook->door) {
        webhook_free(webhook);
        return NULL;
    }
    if (folder)
        webhook->files = cert_files_new(loop, &(struct cert_files_options){
                                                  .log = options->process->log,
                                                  .folder = folder,
                                                  .use = use,
                                                  .context = webhook,
                                              });
    log_line(options->process->log, LOG_INFO, "serving admission",
             LOG_INT("port", admission_port(webhook->door)), LOG_END);
    return webhook;
}

void webhook_free(struct webhook *webhook)
{
    if (!webhook)
        return;
    cert_files_free(webhook->files);
    admission_free(webhook->door);
    free(webhook);
}

void webhook_reload(struct webhook *webhook)
{
    if (webhook && webhook->files)
        cert_files_look(webhook->files);
}

void webhook_drain(struct webhook *webhook)
{
    if (webhook)
        admission_drain(webhook->door);
}

void webhook_write_metrics(const struct webhook *webhook, struct buffer *out)
{
    if (webhook)
        admission_write_metrics(webhook->door, out);
}

size_t webhook_checks(const struct webhook *webhook, struct store_check *out, size_t capacity)
{
    if (!webhook || !webhook->files || !capacity)
        return 0;
    *out = cert_files_check(webhook->files);
    return 1;
}
