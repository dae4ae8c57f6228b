#pragma once

#include <stdint.h>

#include "base/text.h"

// What this process uses, as the families that every Prometheus client library has:
// process_cpu_seconds_total, process_resident_memory_bytes, process_virtual_memory_bytes,
// process_start_time_seconds, process_open_fds, process_max_fds. What the system does not tell is
// left out.
void usage_write_metrics(struct buffer *out);
