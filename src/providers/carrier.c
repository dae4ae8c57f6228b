#include "providers/carrier.h"

static void answer(struct carrier *carrier, struct ask_result result)
{
    result.kind = carrier->kind;
    carrier->kind = ASK_DONE;
    carrier->came(carrier->context, &result);
}

static void http_came(void *context, const struct http_reply *reply)
{
    answer(context, (struct ask_result){.http = reply});
}

static void dns_came(void *context, const struct dns_reply *reply)
{
    answer(context, (struct ask_result){.dns = reply});
}

static void file_came(void *context, const struct file_reply *reply)
{
    answer(context, (struct ask_result){.file = reply});
}

static void process_came(void *context, const struct process_result *result)
{
    answer(context, (struct ask_result){.process = result});
}

static void wait_is_over(void *context)
{
    answer(context, (struct ask_result){0});
}

static void wait(struct carrier *carrier, int64_t wait_ms)
{
    carrier->timer = (struct loop_timer){
        .call = wait_is_over, .context = carrier, .handle = carrier->timer.handle};
    loop_timer_set(carrier->world->loop, &carrier->timer, wait_ms);
}

bool carrier_send(struct carrier *carrier, enum ask_kind kind, const struct ask *ask)
{
    const struct world *world = carrier->world;
    carrier->kind = kind;
    switch (kind) {
    case ASK_HTTP:
        carrier->call.http = http_send(world->http, &ask->http, http_came, carrier);
        return true;
    case ASK_DNS:
        carrier->call.dns = dns_send(world->dns, &ask->dns, dns_came, carrier);
        return true;
    case ASK_FILE:
        carrier->call.local = local_file(world->local, &ask->file, file_came, carrier);
        return true;
    case ASK_PROCESS:
        carrier->call.local = local_process(world->local, &ask->process, process_came, carrier);
        return true;
    case ASK_WAIT:
        wait(carrier, ask->wait_ms);
        return true;
    case ASK_DONE:
        break;
    }
    return false;
}

void carrier_cancel(struct carrier *carrier)
{
    const struct world *world = carrier->world;
    loop_timer_cancel(world->loop, &carrier->timer);
    if (carrier->kind == ASK_HTTP)
        http_cancel(world->http, carrier->call.http);
    else if (carrier->kind == ASK_DNS)
        dns_cancel(world->dns, carrier->call.dns);
    else if (carrier->kind == ASK_FILE || carrier->kind == ASK_PROCESS)
        local_cancel(world->local, carrier->call.local);
    carrier->kind = ASK_DONE;
}
