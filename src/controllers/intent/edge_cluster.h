#pragma once

#include "engine/controller.h"

// The controller of EdgeClusters: opens a backend for each that is read through its kubeconfig, so
// that publications can ask there for addresses, and reports whether its API server answers.

extern const struct controller edge_cluster_controller;

// Name of the backend of the EdgeCluster of that name (arena).
const char *edge_cluster_backend(struct arena *arena, struct text name);
