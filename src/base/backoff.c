#include "base/backoff.h"

int64_t backoff_ms(int64_t first_ms, int64_t most_ms, unsigned failures)
{
    unsigned doublings = failures > 62 ? 62 : failures ? failures - 1 : 0;
    return first_ms > most_ms >> doublings ? most_ms : first_ms << doublings;
}
