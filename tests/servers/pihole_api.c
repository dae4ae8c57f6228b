// Requests of the API on their way through the model.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "pihole.h"

struct pihole_flying {
    struct pihole *pihole;
    struct pihole_flying *next;
    struct wire_client *client;
    uint64_t number;
    struct pihole_reply reply;
    int64_t due_ms; // when it is answered
    bool is_answered;
    struct loop_timer timer;
};

static void answer(void *context)
{
    struct pihole_flying *flight = context;
    struct pihole *pihole = flight->pihole;
    const struct pihole_reply *reply = &flight->reply;
    flight->is_answered = true;
    loop_timer_cancel(pihole->loop, &flight->timer);
    if (!model_pihole_is_alive(pihole->model, flight->number, flight->due_ms)) {
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

void pihole_answer_due(struct pihole *pihole, int64_t now_ms)
{
    for (struct pihole_flying *flight = pihole->flying, *next; flight; flight = next) {
        next = flight->next;
        if (flight->reply.fate == PIHOLE_ANSWERS && !flight->is_answered &&
            flight->due_ms <= now_ms)
            answer(flight);
    }
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

static void depart(struct pihole_flying *flight)
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
    int64_t now_ms = loop_mono_ms(pihole->loop);
    pihole_answer_due(pihole, now_ms);
    struct pihole_flying *flight = mem_new_of(struct pihole_flying);
    *flight = (struct pihole_flying){.pihole = pihole, .client = client, .next = pihole->flying};
    pihole->flying = flight;
    flight->timer = (struct loop_timer){.call = answer, .context = flight};
    wire_set_note(client, flight);
    if (pihole->is_real_time)
        set_cost(pihole, request);
    const struct pihole_request asking = {.method = request->method,
                                          .target = request->target,
                                          .headers = request->headers,
                                          .header_count = request->header_count,
                                          .body = request->body};
    flight->number = model_pihole_begin(pihole->model, now_ms, &asking, &flight->reply);
    flight->due_ms = now_ms + flight->reply.delay_ms;
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
    struct pihole_flying *flight = wire_note(client);
    struct pihole_flying **link = &pihole->flying;
    while (*link != flight)
        link = &(*link)->next;
    *link = flight->next;
    loop_timer_cancel(pihole->loop, &flight->timer);
    model_pihole_end(pihole->model, flight->number);
    free(flight);
    pihole_sync_soon(pihole);
}

const struct wire_calls pihole_api_calls = {.asked = asked, .ended = ended};
