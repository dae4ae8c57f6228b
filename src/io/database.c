#include "io/database.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/library.h"
#include "io/sqlite_library.h"

struct prepared {
    const char *sql;
    sqlite3_stmt *statement;
    bool is_busy; // its rows are being read
};

struct database {
    struct sqlite_library sqlite;
    sqlite3 *connection;
    char *path;
    bool is_open;       // a transaction
    struct error fault; // of the first statement in it that failed
    struct prepared *prepared;
    size_t count;
    size_t capacity;
};

static bool load_sqlite(struct sqlite_library *out, struct error *err)
{
    static const struct library_function functions[] = {
#define FUNCTION_ROW(name) {"sqlite3_" #name, offsetof(struct sqlite_library, name)},
        SQLITE_FUNCTIONS(FUNCTION_ROW)
#undef FUNCTION_ROW
    };
    static const struct library sqlite = {"libsqlite3-0", "SystemError", functions,
                                          COUNT_OF(functions), sizeof *out};
    return library_load(&sqlite, SQLITE_LIBRARY_FILE, out, err);
}

static bool refuse_result(const struct database *database, int result, struct error *err)
{
    const struct sqlite_library *sqlite = &database->sqlite;
    int number = sqlite->system_errno(database->connection);
    switch (result & 0xff) {
    case SQLITE_BUSY:
        return error_set(err, FAULT_WAIT, "SystemError", "%s is used by another process",
                         database->path);
    case SQLITE_FULL:
        return error_set_errno(err, ENOSPC, "cannot write %s", database->path);
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
        if (number)
            return error_set_errno(err, number, "cannot use %s", database->path);
        break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return error_set(err, FAULT_AGAIN, "SystemError",
                         "%s is damaged: put back a copy of it, or move it away", database->path);
    default:
        break;
    }
    return error_set(err, FAULT_AGAIN, "SystemError", "%s: %s", database->path,
                     sqlite->errmsg(database->connection));
}

// ---- statements ---------------------------------------------------------------------------------

static bool prepare(struct database *database, const char *sql, size_t *at, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    for (size_t i = 0; i < database->count; i++) {
        *at = i;
        if (database->prepared[i].sql == sql && !database->prepared[i].is_busy)
            return true;
    }
    int result = database->sqlite.prepare_v2(database->connection, sql, -1, &statement, NULL);
    if (result != SQLITE_OK)
        return refuse_result(database, result, err);
    mem_reserve(&database->prepared, &database->capacity, database->count + 1);
    *at = database->count++;
    database->prepared[*at] = (struct prepared){sql, statement, false};
    return true;
}

static int bind_text(const struct sqlite_library *sqlite, sqlite3_stmt *statement, int at,
                     struct text text, bool is_blob)
{
    if (!text.at)
        return sqlite->bind_null(statement, at);
    if (is_blob)
        return sqlite->bind_blob64(statement, at, text.at, text.len, SQLITE_STATIC);
    return sqlite->bind_text64(statement, at, text.at, text.len, SQLITE_STATIC, SQLITE_UTF8);
}

static void bind_values(const struct database *database, sqlite3_stmt *statement, const char *types,
                        va_list values)
{
    const struct sqlite_library *sqlite = &database->sqlite;
    for (int at = 1; types[at - 1]; at++) {
        char type = types[at - 1];
        int result = type == 'i' ? sqlite->bind_int64(statement, at, va_arg(values, int64_t))
                                 : bind_text(sqlite, statement, at, va_arg(values, struct text),
                                             type == 'b');
        must(result == SQLITE_OK || result == SQLITE_TOOBIG);
    }
}

static struct rows ask(struct database *database, const char *sql, const char *types,
                       va_list values)
{
    struct rows rows = {.database = database, .statement = SIZE_MAX, .result = SQLITE_ROW};
    if (!prepare(database, sql, &rows.statement, &rows.err)) {
        rows.statement = SIZE_MAX;
        return rows;
    }
    database->prepared[rows.statement].is_busy = true;
    bind_values(database, database->prepared[rows.statement].statement, types, values);
    return rows;
}

struct rows database_ask(struct database *database, const char *sql, const char *types, ...)
{
    va_list values;
    va_start(values, types);
    struct rows rows = ask(database, sql, types, values);
    va_end(values);
    return rows;
}

static sqlite3_stmt *statement_of(const struct rows *rows)
{
    return rows->database->prepared[rows->statement].statement;
}

bool rows_next(struct rows *rows)
{
    if (rows->statement == SIZE_MAX || rows->result != SQLITE_ROW)
        return false;
    rows->result = rows->database->sqlite.step(statement_of(rows));
    if (rows->result != SQLITE_ROW && rows->result != SQLITE_DONE)
        refuse_result(rows->database, rows->result, &rows->err);
    return rows->result == SQLITE_ROW;
}

struct text rows_text(const struct rows *rows, int column)
{
    const struct sqlite_library *sqlite = &rows->database->sqlite;
    const char *at = sqlite->column_blob(statement_of(rows), column);
    return (struct text){at, (size_t)sqlite->column_bytes(statement_of(rows), column)};
}

int64_t rows_int(const struct rows *rows, int column)
{
    return rows->database->sqlite.column_int64(statement_of(rows), column);
}

bool rows_end(struct rows *rows, struct error *err)
{
    if (rows->statement != SIZE_MAX) {
        const struct sqlite_library *sqlite = &rows->database->sqlite;
        sqlite->reset(statement_of(rows));
        sqlite->clear_bindings(statement_of(rows));
        rows->database->prepared[rows->statement].is_busy = false;
        rows->statement = SIZE_MAX;
    }
    if (rows->err.fault == FAULT_NONE)
        return true;
    if (rows->database->fault.fault == FAULT_NONE)
        rows->database->fault = rows->err;
    if (err)
        *err = rows->err;
    return false;
}

bool database_do(struct database *database, struct error *err, const char *sql, const char *types,
                 ...)
{
    va_list values;
    if (database->is_open && database->fault.fault != FAULT_NONE) {
        if (err)
            *err = database->fault;
        return false;
    }
    va_start(values, types);
    struct rows rows = ask(database, sql, types, values);
    va_end(values);
    while (rows_next(&rows)) {
    }
    return rows_end(&rows, err);
}

// ---- transactions -------------------------------------------------------------------------------

static bool execute(struct database *database, const char *sql, struct error *err)
{
    int result = database->sqlite.exec(database->connection, sql, NULL, NULL, NULL);
    return result == SQLITE_OK || refuse_result(database, result, err);
}

void database_begin(struct database *database)
{
    if (database->is_open)
        return;
    database->is_open = true;
    error_clear(&database->fault);
    execute(database, "BEGIN IMMEDIATE", &database->fault);
}

bool database_commit(struct database *database, struct error *err)
{
    struct error *fault = &database->fault;
    if (!database->is_open)
        return true;
    if (fault->fault == FAULT_NONE && execute(database, "COMMIT", fault)) {
        database->is_open = false;
        return true;
    }
    if (err)
        *err = *fault;
    database_roll_back(database);
    return false;
}

// A failed statement may have ended the transaction already.
void database_roll_back(struct database *database)
{
    database->is_open = false;
    if (!database->sqlite.get_autocommit(database->connection))
        execute(database, "ROLLBACK", NULL);
}

// ---- opening ------------------------------------------------------------------------------------

// SQLite gives its other files the mode of this one. A file that is there is not opened: to close
// it would give up the locks that this process has on it.
static bool make_file(struct disk *disk, const char *path, struct error *err)
{
    if (!disk_is_link(path) && disk_stat(path, &(struct disk_stat){0}, NULL))
        return true;
    struct disk_file *file = disk_append_open(disk, path, 0600, err);
    disk_append_close(disk, file);
    return file != NULL;
}

// Who only reads makes no file: where no log lies beside it, nobody writes it.
static void write_reader_path(struct buffer *out, const char *path)
{
    AUTO_BUFFER log = {0};
    buffer_printf(&log, "%s-wal", path);
    buffer_add_text(out, "file:");
    for (const char *at = path; *at; at++)
        buffer_printf(out, strchr("%?#", *at) ? "%%%02x" : "%c", *at);
    if (!disk_stat(log.at, &(struct disk_stat){0}, NULL))
        buffer_add_text(out, "?immutable=1");
}

static bool connect(struct database *database, struct disk *disk,
                    const struct database_options *options, struct error *err)
{
    AUTO_BUFFER reader = {0};
    int flags =
        SQLITE_OPEN_NOMUTEX |
        (options->is_reading ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    const char *path = options->path ? options->path : ":memory:";
    if (options->is_reading) {
        write_reader_path(&reader, path);
        path = reader.at;
    }
    int result = database->sqlite.open_v2(path, &database->connection, flags,
                                          options->path ? disk->vfs : NULL);
    if (result != SQLITE_OK)
        return refuse_result(database, result, err);
    database->sqlite.extended_result_codes(database->connection, 1);
    return true;
}

static bool prepare_connection(struct database *database, const struct database_options *options,
                               struct error *err)
{
    // First, as what follows reads the file, which another process may just be opening.
    return execute(database, "PRAGMA busy_timeout = 1000; PRAGMA cache_size = -64", err) &&
           (options->is_reading || !options->is_exclusive ||
            execute(database, "PRAGMA locking_mode = EXCLUSIVE", err)) &&
           (options->is_reading || execute(database, "PRAGMA journal_mode = WAL", err)) &&
           execute(database,
                   options->is_unsynced ? "PRAGMA synchronous = NORMAL"
                                        : "PRAGMA synchronous = FULL",
                   err);
}

static bool read_version(struct database *database, int64_t *version, struct error *err)
{
    struct rows rows = database_ask(database, "PRAGMA user_version", "");
    while (rows_next(&rows))
        *version = rows_int(&rows, 0);
    return rows_end(&rows, err);
}

static bool make_tables(struct database *database, const struct database_options *options,
                        struct error *err)
{
    AUTO_BUFFER sql = {0};
    buffer_printf(&sql, "%s; PRAGMA user_version = %lld", options->schema,
                  (long long)options->version);
    database_begin(database);
    if (database->fault.fault == FAULT_NONE)
        execute(database, sql.at, &database->fault);
    return database_commit(database, err);
}

static bool check_schema(struct database *database, const struct database_options *options,
                         struct error *err)
{
    int64_t version = 0;
    if (!read_version(database, &version, err))
        return false;
    if (options->is_reading && !version)
        return error_set_errno(err, ENOENT, "cannot read %s", database->path);
    if (version > options->version)
        return error_set(err, FAULT_SPEC, "SystemError",
                         "%s was written by a later version of signpost", database->path);
    return version == options->version || options->is_reading ||
           make_tables(database, options, err);
}

struct database *database_open(struct disk *disk, const struct database_options *options,
                               struct error *err)
{
    CLEANUP(database) struct database *database = mem_new_of(struct database);
    database->path = mem_copy_text(options->path ? options->path : "memory");
    bool makes_file = options->path && !options->is_reading;
    if (!load_sqlite(&database->sqlite, err) ||
        (makes_file && !make_file(disk, options->path, err)) ||
        !connect(database, disk, options, err) || !prepare_connection(database, options, err) ||
        !check_schema(database, options, err))
        return NULL;
    return steal(database);
}

void database_free(struct database *database)
{
    if (!database)
        return;
    for (size_t i = 0; i < database->count; i++)
        database->sqlite.finalize(database->prepared[i].statement);
    if (database->connection)
        database->sqlite.close_v2(database->connection);
    free(database->prepared);
    free(database->path);
    free(database);
}
