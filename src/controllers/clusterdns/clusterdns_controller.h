#pragma once

#include "engine/controller.h"

// The cluster's DNS: what the DNS objects say becomes the Corefile of the CoreDNS that the cluster
// runs, and the status says which Pods run it. It runs only where --controllers names it.

extern const struct controller clusterdns_controller;

struct clusterdns_settings {
    const char *mode;           // "auto", "owned", "adopted", "import", "file", "off"
    const char *layout;         // "plain", "openshift"
    const char *update;         // "rolling", "reload"
    const char *preflight;      // "auto", "off"
    int64_t deadline_ms;        // for Pods to load a Corefile
    const char *image;          // or NULL
    const char *version;        // of CoreDNS; or NULL: of the image
    const char *cluster_domain; // or NULL: "cluster.local", and none in mode file
    const char *dns_namespace;  // of what is ours
    const char *ca_namespace;   // of the ConfigMaps that caBundle names
    int64_t dns_port;
    const char *cluster_ip;      // or NULL: as the API server chooses
    const char *metrics_address; // or NULL: ":9153", or what OpenShift has
    bool has_fragments;
    const char *corefile_path;            // or NULL
    const char *const *coredns_addresses; // NULL-terminated, or NULL
};
