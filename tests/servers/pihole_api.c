// Requests of the API on their way through the model.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "pihole.h"

struct flight {
    struct pihole *pihole;
    struct wire_client *client;
    uint64_t number;
    struct pihole_reply reply;
    struct loop_timer timer;
};

static void answer(void *context)
{
    struct flight *flight = context;
    struct pihole *pihole = flight->pihole;
    const struct pihole_reply *reply = &flight->reply;
    if (!model_pihole_is_alive(pihole->model, flight->number, loop_mono_ms(pihole->loop))) {
        wire_drop(flight->client);
        return;
    }
    wire_reply(flight->client, &(struct wire_reply){.status = reply->status,
                                                    .headers = reply->headers,
                                                    .header_count = reply->header_count,
                                                    .body = reply->body,
                                                    .is_cut = reply->is_cut,
                                                    .cut_octets = reply->cut_octets});
}

static size_t names_of(const char *entry)
{
    size_t count = 0;
    for (; *entry && *entry != '#'; entry++)
        count += entry[0] == ' ' && entry[1] != ' ' && entry[1] != '#' && entry[1];
    return count;
}

static size_t count_names(const struct model_pihole *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model_pihole_count(model, PIHOLE_HOSTS); i++)
        count += names_of(model_pihole_at(model, PIHOLE_HOSTS, i));
    return count;
}

// As measured with FTL 6.4.1 on loopback: a PUT takes 45 ms more with each 1,000 names that are
// there (each in a line of its own then; that several in one cost as much is the worst case), a
// PATCH 15 ms more with each 45,000 octets.
static void set_cost(struct pihole *pihole, const struct wire_request *request)
{
    size_t names = count_names(pihole->model);
    bool is_patch = strcmp(request->method, "PATCH") == 0;
    size_t cost_ms = is_patch ? 5 + request->body.len / 3000 : 4 + names * 45 / 1000;
    int64_t now_ms = loop_mono_ms(pihole->loop);
    char text[32];
    snprintf(text, sizeof text, "%zu", cost_ms);
    model_pihole_set(pihole->model, now_ms, "write_ms", text, NULL);
    model_pihole_set(pihole->model, now_ms, "read_ms", "0", NULL);
}

// Who has read may write what he read next.
static void note_read(struct pihole *pihole, const struct wire_request *request)
{
    bool is_read = strcmp(request->method, "GET") == 0;
    if (text_starts(request->target, "/api/config"))
        pihole->read_ms = is_read ? loop_mono_ms(pihole->loop) : 0;
}

static void note_work(struct pihole *pihole, const struct pihole_reply *reply)
{
    int64_t until_ms = loop_mono_ms(pihole->loop) + reply->delay_ms;
    bool works = pihole->is_real_time && reply->fate == PIHOLE_ANSWERS;
    if (works && until_ms > pihole->works_ms)
        pihole->works_ms = until_ms;
}

static void depart(struct flight *flight)
{
    const struct pihole_reply *reply = &flight->reply;
    if (reply->fate == PIHOLE_REFUSES)
        wire_drop(flight->client);
    else if (reply->fate == PIHOLE_ANSWERS && reply->delay_ms > 0)
        loop_timer_set(flight->pihole->loop, &flight->timer, reply->delay_ms);
    else if (reply->fate == PIHOLE_ANSWERS)
        answer(flight);
}

static void asked(void *context, struct wire_client *client, const struct wire_request *request)
{
    struct pihole *pihole = context;
    struct flight *flight = mem_new_of(struct flight);
    *flight = (struct flight){.pihole = pihole, .client = client};
    flight->timer = (struct loop_timer){.call = answer, .context = flight};
    wire_set_note(client, flight);
    if (pihole->is_real_time)
        set_cost(pihole, request);
    const struct pihole_request asking = {.method = request->method,
                                          .target = request->target,
                                          .headers = request->headers,
                                          .header_count = request->header_count,
                                          .body = request->body};
    flight->number =
        model_pihole_begin(pihole->model, loop_mono_ms(pihole->loop), &asking, &flight->reply);
    printf("%s %.*s %zu: %d\n", request->method, TEXT_ARGS(request->target), request->body.len,
           flight->reply.fate == PIHOLE_ANSWERS ? flight->reply.status : -1);
    note_read(pihole, request);
    note_work(pihole, &flight->reply);
    pihole_sync_soon(pihole);
    depart(flight);
}

static void ended(void *context, struct wire_client *client)
{
    struct pihole *pihole = context;
    struct flight *flight = wire_note(client);
    loop_timer_cancel(pihole->loop, &flight->timer);
    model_pihole_end(pihole->model, flight->number);
    free(flight);
    pihole_sync_soon(pihole);
}

const struct wire_calls pihole_api_calls = {.asked = asked, .ended = ended};
