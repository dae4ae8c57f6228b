#pragma once

#include "base/right.h"

// What it takes to keep pages of ledgers in ConfigMaps of the own namespace.
extern const struct kube_right shard_rights[];
