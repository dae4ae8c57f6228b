#pragma once

#include "base/right.h"

// The rights for ledger shards, which are ConfigMaps of the own namespace.
extern const struct kube_right shard_rights[];
