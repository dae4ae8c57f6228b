#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/model_backend_private.h"

// A Pi-hole on the virtual network.

struct pihole_host {
    struct model_host host;
    struct loop *loop;
    struct model_pihole *pihole;
};

static void copy_reply(struct http_call *call, const struct pihole_reply *reply)
{
    call->delay_ms = reply->delay_ms;
    model_backend_answer(call, reply->status, reply->body);
    for (size_t i = 0; i < reply->header_count; i++)
        model_backend_add_header(call, reply->headers[i].name, reply->headers[i].value);
    if (reply->is_cut)
        model_backend_break(call, HTTP_UNREACHABLE, "the connection broke");
}

static void pihole_serve(struct model_host *host, struct http_call *call,
                         const struct http_request *request, const struct model_request *kept)
{
    struct pihole_reply reply;
    struct http_header headers[16] = {{"User-Agent", request->user_agent}};
    struct pihole_host *self = (struct pihole_host *)host;
    size_t count = request->user_agent != NULL;
    for (size_t i = 0; i < request->header_count && count < COUNT_OF(headers); i++)
        headers[count++] = request->headers[i];
    const struct pihole_request sent = {.method = request->method,
                                        .target = text_of(kept->path),
                                        .headers = headers,
                                        .header_count = count,
                                        .body = request->body};
    call->flight = model_pihole_begin(self->pihole, loop_mono_ms(self->loop), &sent, &reply);
    if (reply.fate == PIHOLE_ANSWERS)
        copy_reply(call, &reply);
    else if (reply.fate == PIHOLE_REFUSES)
        model_backend_break(call, HTTP_UNREACHABLE, "cannot connect: connection refused");
    else
        model_backend_break(call, HTTP_TIMEOUT, "no answer in time");
    call->reply.is_unsent = reply.fate == PIHOLE_REFUSES;
}

static void pihole_arrive(struct model_host *host, struct http_call *call)
{
    struct pihole_host *self = (struct pihole_host *)host;
    bool is_alive = model_pihole_is_alive(self->pihole, call->flight, loop_mono_ms(self->loop));
    if (call->reply.failure == HTTP_OK && !is_alive)
        model_backend_break(call, HTTP_UNREACHABLE, "the connection broke");
}

static void pihole_leave(struct model_host *host, struct http_call *call)
{
    model_pihole_end(((struct pihole_host *)host)->pihole, call->flight);
}

static void pihole_host_free(struct model_host *host)
{
    struct pihole_host *self = (struct pihole_host *)host;
    model_pihole_free(self->pihole);
    free(self->host.url);
    free(self);
}

static const struct model_host_ops pihole_ops = {pihole_serve, pihole_arrive, pihole_leave,
                                                 pihole_host_free};

struct model_host *model_pihole_host_new(struct loop *loop, const char *url,
                                         struct model_pihole *pihole)
{
    struct pihole_host *self = mem_new_of(struct pihole_host);
    self->host = (struct model_host){.ops = &pihole_ops, .url = mem_copy_text(url)};
    self->loop = loop;
    self->pihole = pihole;
    return &self->host;
}
