#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/disk.h"

// A SQLite database: one file of mode 0600 beside its write-ahead log, loaded on demand as libcurl
// is. All calls block: they are short and local. Statements are prepared once for each SQL text,
// which must be a literal. Values follow a text of their types: `i` int64_t, `t` struct text, `b`
// the same as octets; a text whose `at` is NULL is stored as NULL.
//
//     struct database *database = database_open(disk, &options, err);
//     database_do(database, err, "INSERT INTO things VALUES (?, ?)", "ti", name, number);
//     struct rows rows = database_ask(database, "SELECT number FROM things WHERE name = ?", "t",
//     name); while (rows_next(&rows))
//         sum += rows_int(&rows, 0);
//     return rows_end(&rows, err);

struct database_options {
    const char *path;   // its folder exists; NULL: in memory
    const char *schema; // statements that make the tables of a new database
    int64_t version;    // of the schema, from 1 on
    bool is_exclusive;  // no other process opens it meanwhile
    bool is_unsynced;   // a commit survives the process, but not the machine
    bool is_reading;    // nothing is written; without tables it counts as absent (ENOENT)
};

// Fails with FAULT_WAIT where another process has it, and where it is damaged or its schema is of a
// later version.
struct database *database_open(struct disk *disk, const struct database_options *options,
                               struct error *err);
void database_free(struct database *database); // what was not committed is lost
DEFINE_CLEANUP(database, database_free)

// Begins a transaction, unless one is open. Once something in it failed, its beginning too, what
// else it was to change is left out, and database_commit tells.
void database_begin(struct database *database);
// On failure nothing of the transaction stands. Without an open one nothing happens.
bool database_commit(struct database *database, struct error *err);
void database_roll_back(struct database *database); // no open transaction is fine
bool database_do(struct database *database, struct error *err, const char *sql, const char *types,
                 ...);

// The rows of a query, read one by one. A query that fails has no rows; rows_end tells.
struct rows {
    struct database *database;
    size_t statement; // among the prepared ones; SIZE_MAX: none
    int result;
    struct error err;
};
struct rows database_ask(struct database *database, const char *sql, const char *types, ...);
bool rows_next(struct rows *rows);
// Borrowed until the next row. Of NULL, `at` is NULL.
struct text rows_text(const struct rows *rows, int column);
int64_t rows_int(const struct rows *rows, int column);
bool rows_end(struct rows *rows, struct error *err);
