#include "dns/plan.h"

// A claim that is no winner, among the indexes that `find_*` return.
#define NONE SIZE_MAX

bool plan_excludes(enum record_type a, enum record_type b)
{
    return a == b || a == RECORD_CNAME || b == RECORD_CNAME;
}

static bool is_same_type_and_split(const struct plan_claim *a, const struct plan_claim *b)
{
    return a->type == b->type && text_equal(a->domain, b->domain) &&
           text_equal(a->subdomain, b->subdomain);
}

static bool wants_to_stand(const struct plan_claim *claim)
{
    return claim->want != PLAN_REMOVE;
}

static bool is_winner(const struct plan_claim *claims, const struct plan_step *steps, size_t index)
{
    return wants_to_stand(&claims[index]) && steps[index].act != PLAN_LOST &&
           steps[index].act != PLAN_SHARED;
}

// Only winners beat younger claims: adding a loser never changes who wins.
static size_t find_rival(const struct plan_claim *claims, const struct plan_step *steps,
                         size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (is_winner(claims, steps, i) && claims[i].owner != claims[index].owner &&
            plan_excludes(claims[i].type, claims[index].type))
            return i;
    }
    return NONE;
}

static bool shares(const struct plan_claim *a, const struct plan_claim *b)
{
    return a->want == PLAN_SET && b->want == PLAN_SET && a->content && a->content == b->content &&
           is_same_type_and_split(a, b);
}

static void settle_losers(const struct plan_claim *claims, size_t count, struct plan_step *steps)
{
    for (size_t i = 0; i < count; i++) {
        steps[i] = (struct plan_step){PLAN_SETTLED, i};
        if (!wants_to_stand(&claims[i]))
            continue;
        size_t rival = find_rival(claims, steps, i);
        if (rival != NONE)
            steps[i] = (struct plan_step){
                shares(&claims[i], &claims[rival]) ? PLAN_SHARED : PLAN_LOST, rival};
    }
}

static size_t find_heir(const struct plan_claim *claims, size_t count,
                        const struct plan_step *steps, size_t index)
{
    for (size_t i = 0; i < count; i++) {
        if (is_winner(claims, steps, i) && is_same_type_and_split(&claims[i], &claims[index]))
            return i;
    }
    return NONE;
}

// One that only looks, or must not be sent yet, is not known to whoever comes after this process:
// if it went now, nobody would remove what stands there.
static bool may_take_over(const struct plan_claim *heir)
{
    return heir->want != PLAN_LOOK && !heir->is_suspended;
}

static enum plan_act send_or_suspend(const struct plan_claim *claim)
{
    return claim->is_suspended ? PLAN_SUSPEND : PLAN_SEND;
}

static void settle_removals(const struct plan_claim *claims, size_t count, struct plan_step *steps)
{
    for (size_t i = 0; i < count; i++) {
        if (wants_to_stand(&claims[i]) || claims[i].is_satisfied)
            continue;
        size_t heir = find_heir(claims, count, steps, i);
        if (heir != NONE)
            steps[i] =
                (struct plan_step){may_take_over(&claims[heir]) ? PLAN_INHERITED : PLAN_WAIT, heir};
        else
            steps[i].act = send_or_suspend(&claims[i]);
    }
}

// What still has to go: a removal under way that excludes the wanted set, whoever holds it. Equal
// keys never meet here, they are inherited.
static size_t find_obstacle(const struct plan_claim *claims, size_t count,
                            const struct plan_step *steps, size_t index)
{
    for (size_t i = 0; i < count; i++) {
        bool is_going = steps[i].act == PLAN_SEND || steps[i].act == PLAN_SUSPEND;
        if (!wants_to_stand(&claims[i]) && is_going &&
            plan_excludes(claims[i].type, claims[index].type))
            return i;
    }
    return NONE;
}

static void settle_looks(const struct plan_claim *claims, size_t count, struct plan_step *steps)
{
    for (size_t i = 0; i < count; i++)
        if (claims[i].want == PLAN_LOOK && steps[i].act != PLAN_LOST && !claims[i].is_satisfied)
            steps[i].act = send_or_suspend(&claims[i]);
}

static void settle_sets(const struct plan_claim *claims, size_t count, struct plan_step *steps)
{
    for (size_t i = 0; i < count; i++) {
        if (claims[i].want != PLAN_SET || !is_winner(claims, steps, i))
            continue;
        size_t obstacle = find_obstacle(claims, count, steps, i);
        if (obstacle != NONE)
            steps[i] = (struct plan_step){PLAN_WAIT, obstacle};
        else if (!claims[i].is_satisfied)
            steps[i].act = send_or_suspend(&claims[i]);
    }
}

void plan_name(const struct plan_claim *claims, size_t count, struct plan_step *steps)
{
    settle_losers(claims, count, steps);
    settle_removals(claims, count, steps);
    settle_looks(claims, count, steps);
    settle_sets(claims, count, steps);
}
