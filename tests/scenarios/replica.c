#include "scenarios/replica.h"

#include "base/must.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"

enum { PIECE_OCTETS = 100 };

// ---- life ---------------------------------------------------------------------------------------

void replica_init(struct replica *replica, struct stage *stage, size_t at)
{
    *replica = (struct replica){.stage = stage, .at = at, .world = stage->world};
    must(stage->server && !stage->engine);
    must(loop_mono_ms(stage->loop) == VIRTUAL_LOOP_START_MS); // all clocks begin together
    replica->loop = virtual_loop_new(loop_unix_ms(stage->loop));
    replica->http = model_backend_http_new(stage->backend, replica->loop);
    replica->api = model_api_new(stage->server, MODEL_CLUSTER_URL, replica->http);
    model_api_set_loop(replica->api, replica->loop);
    model_api_set_pieces(replica->api, at + 1, PIECE_OCTETS);
    replica->net = model_dns_net_new(stage->dns, replica->loop);
    replica->world.loop = replica->loop;
    replica->world.http = model_api_http(replica->api);
    replica->world.dns = replica->net;
}

void replica_done(struct replica *replica)
{
    replica_kill(replica);
    model_api_free(replica->api);
    http_free(replica->http);
    dnsnet_free(replica->net);
    loop_free(replica->loop);
}

void replica_start(struct replica *replica)
{
    struct error err;
    const struct stage *stage = replica->stage;
    if (replica->engine)
        return;
    log_line(stage->log, LOG_INFO, "---- start", LOG_INT("replica", (int64_t)replica->at), LOG_END);
    replica->store =
        model_cluster_new(&replica->world, stage->kinds, stage->kind_count, NULL, stage->log);
    replica->engine = stage_engine_new(stage, &replica->world, replica->store);
    replica->frontend = stage_frontend_new(stage, replica->loop, replica->engine);
    model_dns_set_primary(stage->dns, replica->at, replica->frontend, replica->loop);
    must(engine_start(replica->engine, &err));
}

void replica_kill(struct replica *replica)
{
    if (!replica->engine)
        return;
    model_dns_set_primary(replica->stage->dns, replica->at, NULL, NULL);
    primary_frontend_free(replica->frontend);
    engine_free(replica->engine);
    store_free(replica->store);
    virtual_loop_drop_deferred(replica->loop);
    replica->frontend = NULL;
    replica->engine = NULL;
    replica->store = NULL;
    replica->is_stopped = false;
}

void replica_stop(struct replica *replica)
{
    if (!replica->engine)
        return;
    replica->is_stopped = true;
    model_dns_set_primary(replica->stage->dns, replica->at, NULL, NULL);
}

void replica_continue(struct replica *replica)
{
    if (!replica->is_stopped)
        return;
    replica->is_stopped = false;
    model_dns_set_primary(replica->stage->dns, replica->at, replica->frontend, replica->loop);
}

// ---- looking in ---------------------------------------------------------------------------------

bool replica_leads(const struct replica *replica)
{
    return replica->engine && !replica->is_stopped && engine_is_leading(replica->engine) &&
           store_may_write(replica->store);
}

const struct zone *replica_zone(const struct replica *replica, struct dname apex)
{
    const struct published_zone *zone =
        replica->engine ? published_find(engine_published(replica->engine), apex) : NULL;
    return zone && zone->state != PUBLISHED_WITHHELD ? zone_history_newest(zone->history) : NULL;
}

// ---- time ---------------------------------------------------------------------------------------

static void run_one(struct replica *replica)
{
    int64_t now_ms = loop_mono_ms(replica->loop);
    if (replica->is_stopped)
        return;
    virtual_loop_run_until(replica->loop, now_ms);
    if (!virtual_loop_is_stopped(replica->loop))
        return;
    log_line(replica->stage->log, LOG_INFO, "---- dies", LOG_INT("replica", (int64_t)replica->at),
             LOG_END);
    replica_kill(replica);
    virtual_loop_run_until(replica->loop, now_ms);
}

static bool run_all(struct replica *replicas, size_t count)
{
    struct loop *own = replicas[0].stage->loop;
    bool has_due;
    virtual_loop_run_until(own, loop_mono_ms(own));
    for (size_t i = 0; i < count; i++)
        run_one(&replicas[i]);
    has_due = virtual_loop_has_due(own);
    for (size_t i = 0; i < count; i++)
        has_due |= !replicas[i].is_stopped && virtual_loop_has_due(replicas[i].loop);
    return has_due;
}

static int64_t sooner(const struct loop *loop, int64_t until_ms)
{
    int64_t next_ms = virtual_loop_next_ms(loop);
    return next_ms >= 0 && next_ms < until_ms ? next_ms : until_ms;
}

// Whoever runs at a moment finds the clocks of all at it.
static void move_all(struct replica *replicas, size_t count, int64_t until_ms)
{
    struct loop *own = replicas[0].stage->loop;
    int64_t next_ms = sooner(own, until_ms);
    for (size_t i = 0; i < count; i++)
        if (!replicas[i].is_stopped)
            next_ms = sooner(replicas[i].loop, next_ms);
    int64_t delta_ms = next_ms - loop_mono_ms(own);
    virtual_loop_stall(own, delta_ms);
    for (size_t i = 0; i < count; i++)
        virtual_loop_stall(replicas[i].loop, delta_ms);
}

void replicas_advance(struct replica *replicas, size_t count, int64_t ms)
{
    struct loop *own = replicas[0].stage->loop;
    int64_t until_ms = loop_mono_ms(own) + ms;
    for (;;) {
        while (run_all(replicas, count))
            continue;
        if (loop_mono_ms(own) == until_ms)
            return;
        move_all(replicas, count, until_ms);
    }
}
