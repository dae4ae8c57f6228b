#include "controllers/zone/fallbacks.h"
#include "controllers/zone/ingress_source_inputs.h"
#include "controllers/zone/zone_controller.h"
#include "controllers/zone/zone_reconcile.h"
#include "controllers/zone/zones.h"
#include "kinds/ingress/ingress_kind.h"
#include "kinds/record/record_kind.h"
#include "kinds/zone/zone_kind.h"
#include "kinds/zonefile/zonefile_kind.h"

enum { STATUS_ENTRIES_MAX = 10000 };

const struct zone_settings zone_defaults = {.status_entries = 500, .claims = "delegated"};

static const char *const claim_modes[] = {"delegated", "open", NULL};

static const struct controller_setting settings[] = {
    {.name = "status-entries",
     .type = SETTING_INT,
     .fallback = "500",
     .max = STATUS_ENTRIES_MAX,
     .doc = "How many records of a zone stand in its status.entries; above that only SOA and NS.",
     .offset = offsetof(struct zone_settings, status_entries)},
    {.name = "zone-claims",
     .type = SETTING_CHOICE,
     .fallback = "delegated",
     .choices = claim_modes,
     .doc =
         "Who may have a zone below another one: whom that one delegates to, or, as in Kubizone, "
         "anybody.",
     .offset = offsetof(struct zone_settings, claims)},
    {.name = "zone-nameserver",
     .type = SETTING_LIST,
     .placeholder = "NAME[=ADDR,...]",
     .check = fallbacks_check,
     .doc =
         "Name servers of zones that name none, with their addresses where they lie in the zone.",
     .offset = offsetof(struct zone_settings, nameservers)},
    {.name = "ingress-record-creation",
     .variable = "INGRESS_RECORD_CREATION",
     .type = SETTING_FLAG,
     .fallback = "false",
     .doc = "Make a Record for each host and load-balancer address of each Ingress, and keep them "
            "true to it.",
     .offset = offsetof(struct zone_settings, ingress_record_creation)},
};

static const char *const follow_and_patch[] = {"get", "list", "watch", "patch", NULL};
static const char *const patch[] = {"patch", NULL};

static const struct kube_right zone_rights[] = {
    {.group = ZONE_GROUP,
     .resource = "zones",
     .verbs = follow_and_patch,
     .scope = RIGHT_OBJECTS,
     .why = "Zones that shall be served; the label that names their parent."},
    {.group = ZONE_GROUP,
     .resource = "zones/status",
     .verbs = patch,
     .scope = RIGHT_OBJECTS,
     .why = "What became of a zone; its serial, before it is served."},
    {0},
};

static const struct kube_right record_rights[] = {
    {.group = ZONE_GROUP,
     .resource = "records",
     .verbs = follow_and_patch,
     .scope = RIGHT_OBJECTS,
     .why = "Records of zones; the label that names their zone."},
    {.group = ZONE_GROUP,
     .resource = "records/status",
     .verbs = patch,
     .scope = RIGHT_OBJECTS,
     .why = "Whether a record is in its zone, and served."},
    {0},
};

static const struct controller record_controller = {
    .name = "record",
    .kind = &record_kind,
    .decide = record_decide,
    .shared_model = &zones_shared_model,
    .rights = record_rights,
};

static const char *const follow[] = {"get", "list", "watch", NULL};
static const char *const make[] = {"get", "create", "patch", NULL};

static const struct kube_right zonefile_rights[] = {
    {.group = ZONE_GROUP,
     .resource = "zonefiles",
     .verbs = follow,
     .scope = RIGHT_OBJECTS,
     .why = "Which zones are to be written into ConfigMaps."},
    {.group = ZONE_GROUP,
     .resource = "zonefiles/status",
     .verbs = patch,
     .scope = RIGHT_OBJECTS,
     .why = "Which text of a zone was written last."},
    {.group = "",
     .resource = "configmaps",
     .verbs = make,
     .scope = RIGHT_OBJECTS,
     .why = "The text of zones, where a ZoneFile asks for it."},
    {0},
};

static const struct controller zonefile_controller = {
    .name = "zonefile",
    .kind = &zonefile_kind,
    .decide = zonefile_decide,
    .shared_model = &zones_shared_model,
    .rights = zonefile_rights,
};

static const char *const create_and_delete[] = {"create", "delete", NULL};

static const struct kube_right ingress_source_rights[] = {
    {.group = "networking.k8s.io",
     .resource = "ingresses",
     .verbs = follow,
     .scope = RIGHT_OBJECTS,
     .why = "With --ingress-record-creation: hosts, and the addresses of load balancers."},
    {.group = ZONE_GROUP,
     .resource = "records",
     .verbs = create_and_delete,
     .scope = RIGHT_OBJECTS,
     .why = "With --ingress-record-creation: the Records of Ingresses."},
    {0},
};

static const struct controller ingress_source_controller = {
    .name = "mirror",
    .kind = &ingress_kind,
    .inputs = ingress_source_inputs,
    .input_count = INGRESS_SOURCE_INPUTS,
    .decide = ingress_source_decide,
    .rights = ingress_source_rights,
};

static const struct dependency dependencies[] = {
    {.type = RUNS_BY_DEFAULT},
    {.type = BRINGS_CONTROLLER, .controller = &record_controller},
    {.type = BRINGS_CONTROLLER, .controller = &zonefile_controller},
    {.type = BRINGS_CONTROLLER,
     .option = "ingress-record-creation",
     .controller = &ingress_source_controller},
    {.type = DEPENDS_END},
};

const struct controller zone_controller = {
    .name = "zone",
    .kind = &zone_kind,
    .decide = zone_decide,
    .admit = zone_admit,
    .shared_model = &zones_shared_model,
    .dependencies = dependencies,
    .is_urgent = true,
    .reads_own_writes = true,
    .rights = zone_rights,
    .settings = settings,
    .setting_count = COUNT_OF(settings),
    .settings_size = sizeof(struct zone_settings),
};
