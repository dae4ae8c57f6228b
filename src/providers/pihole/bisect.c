#include "providers/pihole/bisect.h"

#include "base/must.h"

struct bisect bisect_of(struct change *const *changes, size_t count)
{
    must(count > 0);
    return (struct bisect){changes, 0, count};
}

size_t bisect_next(const struct bisect *bisect)
{
    return (bisect->high - bisect->low) / 2;
}

void bisect_handle_reply(struct bisect *bisect, bool is_taken)
{
    size_t middle = bisect->low + bisect_next(bisect);
    if (is_taken)
        bisect->low = middle;
    else
        bisect->high = middle;
}
