#pragma once

#include "engine/controller.h"

// DNSPlan: what the guard of a backend holds back becomes an object that asks people; the one who
// puts its checksum into spec.approve lets exactly that go. Each object says what became of it: see
// enum dnsplan_phase. Those that are over go when five younger ones of their backend are there.

extern const struct controller dnsplan_controller;
