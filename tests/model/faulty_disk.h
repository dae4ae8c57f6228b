#pragma once

#include <stdbool.h>

#include "io/disk.h"
#include "io/loop.h"

// The real disk, but for the call that shall fail. Opening and closing are no calls that count.
//
//     struct disk *disk = faulty_disk_new(disk_system(), loop);
//     faulty_disk_fault(disk, 3, DISK_FAILS); // the fourth change from now on

// All but DISK_FAILS stop the loop too: the process dies here.
enum disk_fault {
    DISK_FAILS,     // ENOSPC, nothing done
    DISK_ACTS_LAST, // done; nothing after it reaches the disk any more: the process has died
    DISK_STOPS,     // not done, nor anything after it
    DISK_TORN,      // an append of which half arrives; nothing after it
};

struct disk *faulty_disk_new(struct disk *real, struct loop *loop);
void faulty_disk_free(struct disk *disk);
void faulty_disk_fault(struct disk *disk, unsigned skip, enum disk_fault fault);
void faulty_disk_heal(struct disk *disk); // a new process: all calls work, if there is room
// Every change fails for want of room until it is emptied, over restarts too.
void faulty_disk_fill(struct disk *disk, bool is_full);
unsigned faulty_disk_calls(const struct disk *disk);
bool faulty_disk_is_stopped(const struct disk *disk);
