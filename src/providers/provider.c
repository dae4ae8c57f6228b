#include "providers/provider.h"

#include <stdio.h>
#include <string.h>

const struct provider *provider_find(const char *name)
{
    for (size_t i = 0; i < provider_count; i++)
        if (!strcmp(providers[i]->name, name))
            return providers[i];
    return NULL;
}

bool provider_refuse_key(struct error *err, const char *key)
{
    error_prefix(err, "%s: ", key);
    if (err)
        snprintf(err->reason, sizeof err->reason, "%s", INVALID_CONFIGURATION);
    return false;
}

void provider_refuse_changes(struct job *job, const char *text)
{
    struct error *err = arena_new_of(job->arena, struct error);
    error_set(err, FAULT_SPEC, "", "%s", text);
    for (size_t i = 0; i < job->change_count; i++)
        job->changes[i].outcome = (struct outcome){.error = err};
}

bool provider_open_none(const struct session_setup *setup, void **session, struct error *err)
{
    (void)setup;
    (void)err;
    *session = NULL;
    return true;
}

void provider_close_none(void *session)
{
    (void)session;
}

void provider_fingerprint_none(const void *session, const struct record_set *set,
                               uint8_t out[FINGERPRINT_OCTETS])
{
    (void)session;
    (void)set;
    memset(out, 0, FINGERPRINT_OCTETS);
}

bool provider_question_address(const struct job *job, struct hostport *out, struct error *err)
{
    struct hostport server;
    struct text text = value_text_at(job->about, "address");
    if (!hostport_parse(&server, text, 0, false, err))
        return error_prefix(err, "question %s: address: ", job->question);
    if (!*server.host || !server.port)
        return error_set(err, FAULT_SPEC, "", "question %s: address: write IP:port", job->question);
    *out = server;
    return true;
}
