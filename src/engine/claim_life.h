#pragma once

#include <stdbool.h>

// The life of a claim as a table of states and moves. A state has two parts: the standing of the
// claim among those on its name, which its key sees in the receipt, and the work that is being done
// for it. Pure: claim_move() in claim_state.h carries a move out and checks the state that it leads
// to.
//
//     struct claim_life life = {STANDING_WAITING, WORK_QUEUED};
//     claim_life_move(&life, MOVE_UNQUEUE); // {STANDING_WAITING, WORK_READY}

enum claim_standing {
    STANDING_NEW,       // no plan of its name has seen it yet
    STANDING_SUSPENDED, // holds its name, and must not be sent yet
    STANDING_WAITING,   // is to be sent, or waits for another claim of its name
    STANDING_SETTLED,   // stands at the backend as wanted
    STANDING_SHARING,   // waits with the holder of its name, which wants the same content
    STANDING_SHARED,    // stands as wanted through that holder
    STANDING_LOST,      // another claim holds the name
    STANDING_EVICTED,   // the same, and what stands there of this one must be removed first
    STANDING_FORGOTTEN, // its key does not want it any more, but it is in flight or in a plan
    CLAIM_STANDINGS,
};

enum claim_work {
    WORK_NONE,        // nothing is to be done, and nothing is kept for it
    WORK_PARKED,      // the same, but the fingerprint that it wants is kept: another stands there
    WORK_READY,       // what it sends (or found) is in memory; neither queued nor in flight
    WORK_QUEUED,      // in the queue of its backend
    WORK_IN_FLIGHT,   // in an exchange
    WORK_BACKING_OFF, // has failed, and waits before it is sent again
    CLAIM_WORKS,
};

enum claim_move {
    // A plan of its name gives it another standing; its work stays as it is.
    MOVE_SUSPEND,
    MOVE_SEND,        // to WAITING: it is its turn
    MOVE_WAIT_BEHIND, // to WAITING: another claim of its name comes first
    MOVE_SETTLE,
    MOVE_SHARE,
    MOVE_SHARE_SETTLED,
    MOVE_LOSE,
    MOVE_EVICT,
    // By its key.
    MOVE_PREPARE, // to READY: what it sends is put into memory
    MOVE_FORGET,
    // Its work goes on; its standing stays as it is.
    MOVE_QUEUE,
    MOVE_UNQUEUE,        // back to READY
    MOVE_BEGIN_EXCHANGE, // to IN_FLIGHT
    MOVE_END_EXCHANGE,   // back to READY
    MOVE_BACK_OFF,
    MOVE_END_BACK_OFF, // back to READY
    // Nothing is to be done for it any more.
    MOVE_STOP,  // to READY: keeps all that is in memory
    MOVE_PARK,  // to PARKED
    MOVE_CLEAR, // to NONE
    CLAIM_MOVES,
};

struct claim_life {
    enum claim_standing standing;
    enum claim_work work;
};

// False, and `life` stays as it is: there is no such move from that state.
bool claim_life_move(struct claim_life *life, enum claim_move move);
