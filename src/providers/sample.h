#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/text.h"

// Samples of a metrics page: Prometheus text format 0.0.4, a sample for each line. Comments, empty
// lines and lines that are malformed are passed over.
//
//     struct sample sample;
//     while (sample_next(&rest, &sample))
//         ... sample_label(arena, &sample, "to")

enum { SAMPLE_LABELS_MAX = 16 };

// Texts are borrowed from the page.
struct sample {
    struct text name;
    struct sample_label {
        struct text name;
        struct text value; // as written, with escapes
    } labels[SAMPLE_LABELS_MAX];
    size_t label_count;
    double value; // may be infinite or NaN
};
// Takes the next one off `rest`. False: there are no more. One with more labels than fit is passed
// over.
bool sample_next(struct text *rest, struct sample *out);
// The value of a label without its escapes: borrowed from the page, or in the arena. Absent: the
// sample has no such label.
struct text sample_label(struct arena *arena, const struct sample *sample, const char *name);
