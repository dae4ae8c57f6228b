#pragma once

#include "base/kind.h"

// ServiceMonitor (monitoring.coreos.com/v1), of the Prometheus operator: which Services are scraped
// for metrics. The body begins with its labels.
extern const struct kind servicemonitor_kind;

// Its spec as JSON, borrowed from the cached body; absent: there is none.
struct text servicemonitor_unpack(struct text body);
