#include "engine/engine.h"

// Only the process that leads writes, so what concerns all of them goes by the one that says so.
const struct controller_alert engine_alerts[ENGINE_ALERTS] = {
    {.name = "SignpostNotReady",
     .type = ALERT_WHEN,
     .expression = "signpost_controller_ready == 0",
     .lasting = "10m",
     .severity = "warning",
     .summary = "A controller of Signpost has not read all that it needs.",
     .description = "/readyz?verbose of the Pod says what is missing: a right, a kind, or an API "
                    "server that does not answer."},
    {.name = "SignpostWithoutLeader",
     .type = ALERT_WHEN,
     .expression = "max without (instance, pod) (leader_election_master_status) == 0",
     .lasting = "2m",
     .severity = "critical",
     .summary = "No replica of Signpost holds the Lease, so nothing is written.",
     .description = "The log of each replica says why it could not take or renew the Lease; "
                    "`kubectl describe lease` says who had it last."},
    {.name = "SignpostWatchDead",
     .type = ALERT_WHEN,
     .expression = "signpost_watch_last_event_seconds > 300",
     .lasting = "5m",
     .severity = "warning",
     .summary = "A watch of Signpost brings nothing any more, not even bookmarks.",
     .description = "Changes of that kind are not noticed by this replica. Its log says how the "
                    "watch ended and why it cannot begin again."},
    {.name = "SignpostGuardHolds",
     .type = ALERT_WHEN,
     .expression = "max without (instance, pod) (signpost_guard_held) > 0",
     .lasting = "5m",
     .severity = "warning",
     .summary = "A guard keeps records that nothing wants any more.",
     .description = "They are more than Signpost removes without asking. Look at the DNSPlan of "
                    "that backend, and approve it with `signpost plan approve` if they may go."},
    {.name = "SignpostBackendFailing",
     .type = ALERT_WHEN,
     .expression =
         "sum without (instance, pod, operation, code) "
         "(increase(signpost_backend_requests_total{code=~\"error|refused|4xx|5xx\"}[" ALERT_WINDOW
         "])) > 0 unless sum without (instance, pod, operation, code) "
         "(increase(signpost_backend_requests_total{code!~\"error|refused|4xx|5xx\"}[" ALERT_WINDOW
         "])) > 0",
     .lasting = "10m",
     .severity = "warning",
     .summary = "All requests of Signpost to a backend fail.",
     .description = "`signpost status` and the conditions of the objects say how it fails. "
                    "Changes wait, and are sent when it answers again."},
};
