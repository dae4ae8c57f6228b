#include "commands/commands.h"
#include "commands/plan_consent.h"
#include "commands/print.h"
#include "commands/process.h"

static int report_consent(const struct consent *consent)
{
    AUTO_BUFFER text = {0};
    struct error err;
    buffer_printf(&text, "%s: %lld record sets of %s may go%s\n", consent->name,
                  (long long)consent->removals, consent->backend,
                  consent->was_given ? "; it was approved before" : "");
    return print_out(&text, &err) ? 0 : command_fail(1, "%s", err.text);
}

static int approve_run(struct invocation *invocation)
{
    struct error err;
    struct configured_store place;
    struct consent consent = {.arena = invocation->arena, .place = &place};
    if (invocation->argument_count != 1)
        return command_fail(2, "give the name of one DNSPlan; `signpost status` lists them");
    consent.name = invocation->arguments[0];
    if (!configured_store_find(&place, invocation, &err))
        return command_fail(2, "%s", err.text);
    if (plan_consent(&consent, &err))
        return report_consent(&consent);
    return command_fail(consent.is_refused ? 1 : 2, "%s", err.text);
}

extern const struct command plan_approve_command;
const struct command plan_approve_command = {
    .name = "plan approve",
    .positional = "NAME",
    .summary = "let go what the guard holds back",
    .doc = "Where many records are wanted by nobody any more, and nobody saw their objects go, "
           "the guard against mass deletion keeps them, and a DNSPlan lists them. This puts the "
           "plan's checksum into its spec.approve, as `kubectl patch` does in a cluster and an "
           "editor in a folder (.signpost/children/dnsplans..NAME.yaml). Whoever runs `signpost "
           "run` there then removes exactly these records. Should others be held by then, there "
           "is another plan, and nothing goes.\n\n"
           "In a cluster it takes the rights to get and patch dnsplans.",
    .exit_docs =
        {
            "approved",
            "there is no such plan, or it is over",
            "usage or configuration, or it cannot be read or written",
        },
    .examples = "signpost status\n"
                "signpost plan approve pihole-default-97ded0a1\n"
                "signpost plan approve --dir ./manifests pihole-default-97ded0a1\n",
    .groups = {{store_options, STORE_LOOK_OPTION_COUNT, true},
               {quiet_log_options, LOG_OPTION_COUNT, true}},
    .run = approve_run,
};
