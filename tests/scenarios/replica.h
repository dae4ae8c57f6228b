#pragma once

#include "scenarios/stage.h"

// One of several Signpost processes on the cluster of a stage, whose own process is not started:
// each with a loop, calls to the API server, an engine and a frontend of its own. It can be killed
// and started anew, and stopped and continued while time goes on.
//
//     replica_init(&replicas[0], stage, 0);
//     replica_start(&replicas[0]);
//     replicas_advance(replicas, 2, 1000);

struct replica {
    struct stage *stage;
    size_t at; // among those whom servers ask
    struct loop *loop;
    struct http *http; // to all servers but the cluster's
    struct model_api *api;
    struct dnsnet *net;
    struct world world;
    struct store *store;
    struct engine *engine; // NULL: it does not run
    struct primary_frontend *frontend;
    bool is_stopped;
};

void replica_init(struct replica *replica, struct stage *stage, size_t at);
void replica_done(struct replica *replica); // before its stage

void replica_start(struct replica *replica); // fine on one that runs
void replica_kill(struct replica *replica);  // the lease stays
// As by SIGSTOP and SIGCONT.
void replica_stop(struct replica *replica);
void replica_continue(struct replica *replica);

// It runs, and may write and tell.
bool replica_leads(const struct replica *replica);
// What it would hand over; NULL: nothing.
const struct zone *replica_zone(const struct replica *replica, struct dname apex);

// The clocks of all and of the stage move on; what dies on the way stays dead.
void replicas_advance(struct replica *replicas, size_t count, int64_t ms);
