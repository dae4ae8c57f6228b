#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/memory.h"
#include "kinds/condition.h"
#include "kinds/group.h"

// DNSPlan (dns.homelab.mortenolsen.pro/v1alpha1): changes of one backend that wait for a person's
// word. Whoever may write it approves exactly these changes by putting their checksum into
// spec.approve; other changes are another plan.

extern const struct kind dnsplan_kind;

enum dnsplan_reason { DNSPLAN_GUARD, DNSPLAN_APPROVAL, DNSPLAN_REASONS };
enum dnsplan_act { DNSPLAN_CREATE, DNSPLAN_UPDATE, DNSPLAN_DELETE, DNSPLAN_ACTS };
enum dnsplan_phase {
    DNSPLAN_PENDING,
    DNSPLAN_APPROVED,
    DNSPLAN_APPLIED,
    DNSPLAN_EXPIRED,
    DNSPLAN_SUPERSEDED,
    DNSPLAN_PHASES,
};

enum {
    DNSPLAN_CHANGES_MAX = 500, // that are shown
    DNSPLAN_VALUES_MAX = 16,   // of a change
    DNSPLAN_NAME_MAX = 254,    // with a NUL
    DNSPLAN_SUM_LEN = 64,
};

struct dnsplan_change {
    enum dnsplan_act act;
    struct text name; // owner name
    struct text type; // "CNAME"
    struct text set;  // set identifier; "" without
    // "300 192.0.2.7": TTL and rdata
    const struct text *before;
    size_t before_count;
    const struct text *after;
    size_t after_count;
    struct text object; // for which it is: "ingress/shop/web"; "" for none
};

struct dnsplan {
    struct text class_name; // or the backend: "pihole-upstairs"
    struct text zone;       // "." where there is none
    struct text checksum;   // 64 lower-case hex digits
    enum dnsplan_reason reason;
    struct text approve; // "" as long as nobody has
    const struct dnsplan_change *changes;
    size_t change_count;
    size_t counts[DNSPLAN_ACTS];
};
// What the object is called: the class, cut where it is long and with hyphens for what no name has
// (then with 8 digits of its SHA-256), and 8 digits of the checksum.
void dnsplan_name_write(struct text class_name, struct text checksum, char out[DNSPLAN_NAME_MAX]);
// The whole of what is ours in it, for making it. The first 500 changes, as far as an object can
// hold them, and of each the first 16 values, are shown.
struct value *dnsplan_encode(struct arena *arena, const struct dnsplan *plan);

struct dnsplan_status {
    enum dnsplan_phase phase;
    int64_t observed_generation;
    struct conditions conditions; // without messages when unpacked
};
// From cached bodies (object_spec, object_managed); changes and counts are not kept. out_status may
// be NULL; without a status it is Pending.
void dnsplan_unpack(struct text spec, struct text ours, struct dnsplan *out,
                    struct dnsplan_status *out_status);
// Has somebody approved it?
static inline bool dnsplan_is_approved(const struct dnsplan *plan)
{
    return plan->approve.len && text_equal(plan->approve, plan->checksum);
}
struct value *dnsplan_status_encode(struct arena *arena, const struct dnsplan_status *status);
