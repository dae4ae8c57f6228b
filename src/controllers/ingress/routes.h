#pragma once

#include "engine/controller.h"

// Inside this folder: the controllers of routes, companions of that for Ingresses, whose settings
// and Pi-holes they share.

extern const struct controller httproute_controller;
extern const struct controller grpcroute_controller;
extern const struct controller tlsroute_controller;
extern const struct controller tcproute_controller;
