#include "dns/period.h"

enum { DIGITS_MAX = 10 };

static uint32_t unit_s(char unit)
{
    switch (unit | 0x20) {
    case 'w':
        return 7 * 24 * 3600;
    case 'd':
        return 24 * 3600;
    case 'h':
        return 3600;
    case 'm':
        return 60;
    case 's':
        return 1;
    default:
        return 0;
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool period_read(struct text text, uint64_t *seconds)
{
    const char *at = text.at;
    const char *end = text.at + text.len;
    uint64_t sum = 0;
    while (at < end) {
        const char *from = at;
        uint64_t number = 0;
        while (at < end && is_digit(*at) && at - from < DIGITS_MAX)
            number = number * 10 + (uint64_t)(*at++ - '0');
        if (at == from || (at == end && from > text.at))
            return false;
        uint32_t unit = at == end ? 1 : unit_s(*at++);
        if (!unit)
            return false;
        sum += number * unit;
        if (sum > UINT32_MAX)
            sum = (uint64_t)UINT32_MAX + 1;
    }
    *seconds = sum;
    return text.len > 0;
}
