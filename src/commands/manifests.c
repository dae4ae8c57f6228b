#include "base/kind.h"
#include "commands/commands.h"
#include "commands/print.h"
#include "kinds/kinds.h"

static void write_crds(struct buffer *out)
{
    for (size_t i = 0; i < kind_count; i++)
        if (!kinds[i]->is_foreign)
            kind_write_crd(out, kinds[i]);
}

// What can be printed: a flag each.
static const struct section {
    const char *flag;
    void (*write)(struct buffer *out);
} sections[] = {{"crd", write_crds}};

static const struct option manifests_rows[] = {
    {.name = "crd",
     .type = OPTION_FLAG,
     .doc = "The CustomResourceDefinitions of all kinds that are built in."},
};

static int fail_without_section(void)
{
    AUTO_BUFFER flags = {0};
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        buffer_printf(&flags, "%s--%s", i ? ", " : "", sections[i].flag);
    return command_fail(2, "say what to print: %s", flags.at);
}

static int manifests_run(struct invocation *invocation)
{
    AUTO_BUFFER text = {0};
    struct error err;
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        if (option_flag(invocation, sections[i].flag))
            sections[i].write(&text);
    if (!text.len)
        return fail_without_section();
    return print_out(&text, &err) ? 0 : command_fail(1, "%s", err.text);
}

extern const struct command manifests_command;
const struct command manifests_command = {
    .name = "manifests",
    .summary = "print what a cluster needs to run Signpost",
    .doc = "Prints YAML for `kubectl apply -f -`, made of the same tables that the program itself "
           "checks objects with.",
    .examples = "signpost manifests --crd | kubectl apply --server-side -f -\n",
    .groups = {{manifests_rows, COUNT_OF(manifests_rows)}},
    .run = manifests_run,
};
