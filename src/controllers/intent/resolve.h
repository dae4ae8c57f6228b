#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "controllers/intent/model.h"
#include "kinds/dnspublication/dnspublication_kind.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord.h"
#include "kinds/edgecluster/edgecluster_kind.h"
#include "kinds/logicalcloud/logicalcloud_kind.h"
#include "kinds/trafficgroupintent/trafficgroupintent_kind.h"

// What a publication names, found: its logical cloud with the clusters, the DNS update records that
// they list, and the services that get names. Which addresses those have is not looked at
// (address.h). Everything lives in the reader's arena.

enum { RESOLVED_CLOUD = SIZE_MAX, TTL_DEFAULT_S = 300 };

struct resolved_cluster {
    const struct cluster_reference *reference;
    bool is_there; // there is such an EdgeCluster
    struct edgecluster edge;
    uint64_t reach;    // another number than before: its API server came into reach, or out of it
    const char *shown; // "provider/cluster"
};
struct resolved_service {
    const struct trafficgroupintent *group;
    const struct inbound_intent *intent;
    struct text name;  // as it is published; absent: it cannot be
    const char *fault; // then why
};
// A DNS update record as the logical cloud or a cluster lists it.
struct resolved_record {
    size_t cluster;              // which of the clusters lists it; RESOLVED_CLOUD: the cloud
    const struct object *object; // NULL: there is none, or it may not be used
    const struct update_record *record;
    const struct update_record_status *status;
    struct text project; // EMCO name
    const char *shown;   // "public-dns", or "project/public-dns" of another project
    const char *label;   // update_record_label(), of one that is used
    // NONE: it is used. SCOPE_CONFLICT: the cloud lists it, too.
    enum reason fault;
    const char *fault_text;
    int64_t ttl_s; // of its names
};
struct resolved {
    struct text namespace_;
    struct text project; // EMCO name
    struct dnspublication publication;
    bool has_cloud;
    struct logicalcloud cloud;
    struct text service_namespace; // of the Services in each cluster
    struct resolved_cluster *clusters;
    size_t cluster_count;
    struct resolved_record *records;
    size_t record_count;
    struct resolved_service *services;
    size_t service_count;
};
void resolve_publication(struct model_reader *reader, const struct object *publication,
                         struct resolved *out);

// Does the app of a service run in that cluster, as far as the publication says?
bool resolved_is_placed(const struct resolved *resolved, const struct resolved_service *service,
                        size_t cluster);
// Has that record names of that service?
bool resolved_is_published(const struct resolved *resolved, const struct resolved_service *service,
                           const struct resolved_record *record);
// May the name stand at a provider, as the status says?
bool resolved_may_stand(const struct published_name *name);
// Is it a name of that record of the status? The name calls it "public-dns", or
// "project/public-dns" of another project; no record is of a project that is not there.
bool resolved_is_name_of(struct model_reader *reader, const struct resolved *resolved,
                         const struct published_name *name, const struct published_record *record);
// Describes the first four faults of listed records in one text (arena); *first is the reason of
// the first one. NULL: there is no fault, and *first stays as it is.
const char *resolved_list_faults(struct arena *arena, const struct resolved *resolved,
                                 enum reason *first);
