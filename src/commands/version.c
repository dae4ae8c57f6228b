#include "commands/commands.h"
#include "commands/libraries.h"
#include "commands/print.h"

static int version_run(struct invocation *invocation)
{
    AUTO_BUFFER text = {0};
    struct error err;
    (void)invocation;
    buffer_add_text(&text, "signpost " SIGNPOST_VERSION "\nbuilt with ");
    for (size_t i = 0; i < library_count; i++)
        buffer_printf(&text, "%s%s %s", i ? ", " : "", libraries[i].name, libraries[i].version);
    buffer_add_char(&text, '\n');
    return print_out(&text, &err) ? 0 : command_fail(1, "%s", err.text);
}

extern const struct command version_command;
const struct command version_command = {
    .name = "version",
    .summary = "print the version and those of its libraries",
    .exit_docs =
        {
            "it is printed",
            "it cannot be written out",
            "an argument is wrong",
        },
    .doc = "The first line is the program's name and version, alone.",
    .run = version_run,
};
