#pragma once

#include <stdbool.h>

// The life of a claim as a table of states and moves. A state has two parts: how the claim stands
// among those on its name, which its key hears of as a receipt, and what is being done for it.
// Pure: claim_move() in claim_state.h carries a move out and proves the state that it leads to.
//
//     struct claim_life life = {STANDING_WAITING, WORK_DUE};
//     claim_life_move(&life, MOVE_TAKE); // {STANDING_WAITING, WORK_IDLE}

enum claim_standing {
    STANDING_NEW,       // its name was not planned with it yet
    STANDING_SUSPENDED, // wins its name, and is not to be sent yet
    STANDING_WAITING,   // is to be sent, or waits for another claim of its name
    STANDING_SETTLED,   // stands as wanted
    STANDING_SHARING,   // waits with the holder of its name, which wants the very same
    STANDING_SHARED,    // stands as wanted through that holder
    STANDING_LOST,      // another holds the name
    STANDING_EVICTED,   // that, and what stands there of this one must go first
    STANDING_FORGOTTEN, // its key wants it no more; in flight, or others wait to hear of it
    CLAIM_STANDINGS,
};

enum claim_work {
    WORK_NONE,
    WORK_RESTING,     // nothing is to be done, but what is wanted differs from what stands there
    WORK_IDLE,        // something is kept for it that is neither in line nor in flight
    WORK_DUE,         // in the line of its backend
    WORK_IN_FLIGHT,   // in an exchange
    WORK_BACKING_OFF, // has failed and waits
    CLAIM_WORKS,
};

enum claim_move {
    // By the plan of its name.
    MOVE_SUSPEND,
    MOVE_WAIT,  // it is to be sent
    MOVE_AWAIT, // another claim of its name comes first
    MOVE_SETTLE,
    MOVE_SHARE,
    MOVE_SHARE_SETTLED,
    MOVE_LOSE,
    MOVE_EVICT,
    // By its key.
    MOVE_WANT, // something is to be kept for it
    MOVE_FORGET,
    // By its work.
    MOVE_QUEUE,
    MOVE_TAKE, // out of the line
    MOVE_DEPART,
    MOVE_LAND,
    MOVE_BACK_OFF,
    MOVE_RETRY,
    MOVE_PAUSE, // nothing is to be done; what is kept for it stays
    MOVE_REST,  // nothing is to be done; only what is wanted stays
    MOVE_CLEAR, // nothing is to be done, and nothing stays
    CLAIM_MOVES,
};

struct claim_life {
    enum claim_standing standing;
    enum claim_work work;
};

// False, and `life` stays as it is: there is no such move from that state.
bool claim_life_move(struct claim_life *life, enum claim_move move);
