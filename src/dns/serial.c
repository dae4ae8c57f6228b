#include "dns/serial.h"

#include <time.h>

enum { DAY_NUMBERS = 100, YEAR_BASE = 1900 };

bool serial_is_before(uint32_t a, uint32_t b)
{
    uint32_t distance = b - a;
    return distance > 0 && distance < UINT32_C(1) << 31;
}

const char *serial_policy_name(enum serial_policy policy)
{
    static const char *const names[] = {
        [SERIAL_DATE] = "date", [SERIAL_UNIXTIME] = "unixtime", [SERIAL_COUNTER] = "counter"};
    return names[policy];
}

static uint32_t of_date(int64_t unix_s)
{
    struct tm day;
    time_t seconds = (time_t)unix_s;
    if (!gmtime_r(&seconds, &day))
        return 0;
    int64_t date =
        ((int64_t)day.tm_year + YEAR_BASE) * 10000 + (day.tm_mon + 1) * 100 + day.tm_mday;
    return (uint32_t)(date * DAY_NUMBERS);
}

// False: the policy has none.
static bool of_policy(const struct serial_inputs *inputs, uint32_t *out)
{
    if (inputs->policy == SERIAL_COUNTER)
        return false;
    *out = inputs->policy == SERIAL_DATE ? of_date(inputs->unix_s) : (uint32_t)inputs->unix_s;
    return true;
}

// What is further from the old number than a step may be would count as before it.
static bool is_reachable(const struct serial_inputs *inputs, uint32_t number)
{
    return !inputs->has_old || serial_is_before(inputs->old, number);
}

static void lift(const struct serial_inputs *inputs, uint32_t *next, uint32_t number)
{
    if (serial_is_before(*next, number) && is_reachable(inputs, number))
        *next = number;
}

uint32_t serial_next(const struct serial_inputs *inputs)
{
    uint32_t policy;
    bool has_policy = of_policy(inputs, &policy);
    uint32_t next = inputs->has_old ? inputs->old + 1 : has_policy ? policy : 1;
    if (has_policy)
        lift(inputs, &next, policy);
    if (inputs->has_minimum)
        lift(inputs, &next, inputs->minimum);
    for (size_t i = 0; i < inputs->server_count; i++) {
        uint32_t server = inputs->servers[i];
        if (is_reachable(inputs, server))
            lift(inputs, &next, is_reachable(inputs, server + 1) ? server + 1 : server);
    }
    return next ? next : 1;
}

bool serial_is_behind(const struct serial_inputs *inputs)
{
    if (!inputs->has_old)
        return true;
    if (inputs->has_minimum && serial_is_before(inputs->old, inputs->minimum))
        return true;
    for (size_t i = 0; i < inputs->server_count; i++)
        if (is_reachable(inputs, inputs->servers[i]))
            return true;
    return false;
}
