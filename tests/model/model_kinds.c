#include "model/model_server_private.h"

const struct kind model_lease_kind = {
    .group = "coordination.k8s.io",
    .version = "v1",
    .name = "Lease",
    .plural = "leases",
    .singular = "lease",
    .is_namespaced = true,
    .is_foreign = true,
};
const struct kind model_event_kind = {
    .group = "events.k8s.io",
    .version = "v1",
    .name = "Event",
    .plural = "events",
    .singular = "event",
    .is_namespaced = true,
    .is_foreign = true,
};
const struct kind model_review_kind = {
    .group = "authorization.k8s.io",
    .version = "v1",
    .name = "SelfSubjectAccessReview",
    .plural = "selfsubjectaccessreviews",
    .singular = "selfsubjectaccessreview",
    .is_foreign = true,
};
static const struct kind webhooks_kind = {
    .group = "admissionregistration.k8s.io",
    .version = "v1",
    .name = "ValidatingWebhookConfiguration",
    .plural = "validatingwebhookconfigurations",
    .singular = "validatingwebhookconfiguration",
    .is_foreign = true,
};
static const struct kind secret_kind = {
    .group = "",
    .version = "v1",
    .name = "Secret",
    .plural = "secrets",
    .singular = "secret",
    .is_namespaced = true,
    .is_foreign = true,
};
static const struct kind namespace_kind = {
    .group = "",
    .version = "v1",
    .name = "Namespace",
    .plural = "namespaces",
    .singular = "namespace",
    .is_foreign = true,
};
const struct kind model_config_map_kind = {
    .group = "",
    .version = "v1",
    .name = "ConfigMap",
    .plural = "configmaps",
    .singular = "configmap",
    .is_namespaced = true,
    .is_foreign = true,
};

const struct kind *const model_kinds[] = {
    &model_lease_kind, &model_event_kind, &model_review_kind,     &webhooks_kind,
    &secret_kind,      &namespace_kind,   &model_config_map_kind,
};
const size_t model_kind_count = COUNT_OF(model_kinds);
