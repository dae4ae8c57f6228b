#pragma once

#include "controllers/intent/intent_controller.h"
#include "kinds/group.h"

// The controller of DNSUpdateRecords: an external-dns for each record that somebody publishes by,
// with the account that it acts as, and how its synchronization goes.

extern const struct controller update_record_controller;

#define UPDATE_RECORD_FINALIZER DNS_GROUP "/dns-update-record"

// On the Deployment. The prefix of one annotation for each publication that uses the record; the
// digest of what we want of it; where its records stand, flag by flag.
#define UPDATE_RECORD_USERS "users." DNS_GROUP "/"
#define UPDATE_RECORD_DIGEST_ANNOTATION DNS_GROUP "/digest"
#define UPDATE_RECORD_PLACE_ANNOTATION DNS_GROUP "/place"

enum update_record_input {
    UPDATE_RECORD_ENDPOINTS, // DNSEndpoints for it
    UPDATE_RECORD_DEPLOYMENTS,
    UPDATE_RECORD_ACCOUNTS,
    UPDATE_RECORD_ROLES,
    UPDATE_RECORD_BINDINGS,
    UPDATE_RECORD_PODS,
    UPDATE_RECORD_SECRETS,
    UPDATE_RECORD_INPUTS,
};
void update_record_decide(const struct snapshot *snapshot, void *model, struct decision *out);
