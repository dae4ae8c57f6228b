#pragma once

#include "kinds/record/record_kind.h"
#include "kinds/zone/zone_kind.h"

// What the programs of Kubizone (0.3 and before) cannot decode. They read all Zones and all Records
// as lists, so that a single field of one object stops them; fields that they do not know are
// passed over. Names are of a-z, 0-9, - and _, with no hyphen at either end of a label or at
// positions 3 and 4; there is neither @ nor an escape nor a U-label, and types are of a fixed list.

// "spec.domainName: @: invalid character @"
typedef void kubizone_found(void *context, const char *text);
void kubizone_judge_zone(const struct zone_spec *zone, kubizone_found *found, void *context);
void kubizone_judge_record(const struct record_spec *record, kubizone_found *found, void *context);
