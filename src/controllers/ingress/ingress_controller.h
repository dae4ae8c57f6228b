#pragma once

#include "controllers/ingress/targets.h"
#include "engine/controller.h"

// Ingress: the hosts of annotated Ingresses become local DNS records of Pi-holes; its companions do
// the same for routes of the Gateway API. Its settings are a struct pihole_targets, which whoever
// starts it fills: no setting of its own table is in it.

extern const struct controller ingress_controller;
