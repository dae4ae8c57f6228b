#include "engine/claim_life.h"

#define BIT(state) (1U << (state))
#define ALL_STANDINGS (BIT(CLAIM_STANDINGS) - 1)
#define ALL_WORKS (BIT(CLAIM_WORKS) - 1)
#define OF_A_KEY (ALL_STANDINGS & ~BIT(STANDING_FORGOTTEN))
#define SENDABLE (BIT(STANDING_WAITING) | BIT(STANDING_EVICTED))
#define OUT_OF_LINE (ALL_WORKS & ~BIT(WORK_DUE))
#define AT_REST (BIT(WORK_NONE) | BIT(WORK_RESTING) | BIT(WORK_IDLE) | BIT(WORK_IN_FLIGHT))
#define ON_LAND (ALL_WORKS & ~BIT(WORK_IN_FLIGHT))
#define SAME_STANDING CLAIM_STANDINGS
#define SAME_WORK CLAIM_WORKS

struct move {
    unsigned standings; // from these
    unsigned works;
    enum claim_standing standing;
    enum claim_work work;
};

static const struct move moves[CLAIM_MOVES] = {
    [MOVE_SUSPEND] = {OF_A_KEY, OUT_OF_LINE, STANDING_SUSPENDED, SAME_WORK},
    [MOVE_WAIT] = {OF_A_KEY, ALL_WORKS, STANDING_WAITING, SAME_WORK},
    [MOVE_AWAIT] = {OF_A_KEY, OUT_OF_LINE, STANDING_WAITING, SAME_WORK},
    [MOVE_SETTLE] = {OF_A_KEY, AT_REST, STANDING_SETTLED, SAME_WORK},
    [MOVE_SHARE] = {OF_A_KEY, AT_REST, STANDING_SHARING, SAME_WORK},
    [MOVE_SHARE_SETTLED] = {OF_A_KEY, AT_REST, STANDING_SHARED, SAME_WORK},
    [MOVE_LOSE] = {OF_A_KEY, AT_REST, STANDING_LOST, SAME_WORK},
    [MOVE_EVICT] = {OF_A_KEY, ALL_WORKS, STANDING_EVICTED, SAME_WORK},
    [MOVE_WANT] = {OF_A_KEY, BIT(WORK_NONE) | BIT(WORK_RESTING), SAME_STANDING, WORK_IDLE},
    [MOVE_FORGET] = {OF_A_KEY, AT_REST, STANDING_FORGOTTEN, SAME_WORK},
    [MOVE_QUEUE] = {SENDABLE, BIT(WORK_IDLE), SAME_STANDING, WORK_DUE},
    [MOVE_TAKE] = {SENDABLE, BIT(WORK_DUE), SAME_STANDING, WORK_IDLE},
    [MOVE_DEPART] = {SENDABLE, BIT(WORK_IDLE), SAME_STANDING, WORK_IN_FLIGHT},
    [MOVE_LAND] = {ALL_STANDINGS, BIT(WORK_IN_FLIGHT), SAME_STANDING, WORK_IDLE},
    [MOVE_BACK_OFF] = {OF_A_KEY, BIT(WORK_IDLE) | BIT(WORK_BACKING_OFF), SAME_STANDING,
                       WORK_BACKING_OFF},
    [MOVE_RETRY] = {OF_A_KEY, BIT(WORK_BACKING_OFF), SAME_STANDING, WORK_IDLE},
    [MOVE_PAUSE] = {OF_A_KEY, ON_LAND & ~BIT(WORK_NONE), SAME_STANDING, WORK_IDLE},
    [MOVE_REST] = {OF_A_KEY, ON_LAND & ~BIT(WORK_NONE), SAME_STANDING, WORK_RESTING},
    [MOVE_CLEAR] = {OF_A_KEY, ON_LAND, SAME_STANDING, WORK_NONE},
};

bool claim_life_move(struct claim_life *life, enum claim_move move)
{
    const struct move *row = &moves[move];
    if (!(row->standings & BIT(life->standing)) || !(row->works & BIT(life->work)))
        return false;
    if (row->standing != SAME_STANDING)
        life->standing = row->standing;
    if (row->work != SAME_WORK)
        life->work = row->work;
    return true;
}
