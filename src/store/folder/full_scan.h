#pragma once

#include "store/folder/pass.h"

// WORK_LOAD and WORK_SCAN (schedule.h). Manifests that are new or differ are queued for the pass.

// Each begins a walk, which full_scan_run() then goes through.
enum step full_scan_begin(struct folder *folder, int64_t until_ms);
enum step full_scan_begin_children(struct folder *folder, int64_t until_ms);
enum step full_scan_begin_state(struct folder *folder, int64_t until_ms);
enum step full_scan_run(struct folder *folder, int64_t until_ms);
// Which manifests and status files are gone: those that no walk met where all could be looked at.
enum step full_scan_judge(struct folder *folder, int64_t until_ms);
