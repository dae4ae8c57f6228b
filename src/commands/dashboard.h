#pragma once

#include <stddef.h>

// The tables of panels, in sections, of the dashboard that `signpost manifests --dashboard` prints.
// The metrics of controllers have panels by their own tables (struct controller_metric);
// what else there is stands in tables like these, those of one system with its subject.

enum dashboard_form {
    DASHBOARD_GAUGE,   // the largest over all processes; of a leader alone there is one
    DASHBOARD_LEAST,   // the smallest: 0 where one process says so
    DASHBOARD_COUNTER, // per second
    DASHBOARD_SECONDS, // a histogram: what 95 % of them took at most
    DASHBOARD_MEAN,    // a summary
    DASHBOARD_AGE,     // seconds since that Unix time
};

struct dashboard_panel {
    const char *title; // NULL: another line of the panel before
    const char *metric;
    enum dashboard_form form;
    const char *by;   // labels that tell its lines apart, "backend, code"; NULL: there is one line
    const char *unit; // as Grafana calls it; NULL: what goes with the form
    const char *legend; // before the labels, where a panel has several metrics; NULL: nothing
};

struct dashboard_section {
    const char *title;
    const struct dashboard_panel *panels;
    size_t count;
    const struct dashboard_panel *not_ready; // the sum of it counts at a glance; or NULL
};

// Sections of what each process has, whichever controllers run; those of the systems stand between.
enum { DASHBOARD_ENGINE = 3, DASHBOARD_PROCESS = 4 };
extern const struct dashboard_section dashboard_engine[DASHBOARD_ENGINE];
extern const struct dashboard_section dashboard_process[DASHBOARD_PROCESS];
