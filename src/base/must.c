#include "base/must.h"

#include <stdio.h>
#include <stdlib.h>

void must_fail(const char *condition, const char *file, int line)
{
    fprintf(stderr, "signpost: must(%s) failed at %s:%d\n", condition, file, line);
    fflush(stderr);
    abort();
}
