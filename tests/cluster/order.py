"""Whose request came when: a provider's log, joined with those of replicas by trace id.

A reign is the time from one line "the lease is ours" of a replica to its next. Each log is read in the order
in which its process wrote it, so no clocks are compared. All of them are at the level debug.
"""

import itertools

CHANGES = ("upsert", "delete")


def reigns(replica):
    """{trace id: (replica, how many times it had come to lead)} of all its exchanges."""
    found, count = {}, 0
    for row in replica.program.lines():
        if row["msg"] == "the lease is ours":
            count += 1
        elif row["msg"] == "exchange begins":
            found[row["turn"]] = (replica.name, count)
    return found


def asked(place):
    """Each request as it came, in the provider's log."""
    return [row for row in place.program.lines("request") if row["msg"] == "request"]


def requests(place, replicas):
    """[(reign, row of the provider's log)] as they came; what a test itself asked is not there."""
    known = {}
    for replica in replicas:
        known.update(reigns(replica))
    rows = asked(place)
    strangers = [row for row in rows
                 if row["turn"] not in known and row["operation"] in CHANGES]
    assert not strangers, f"changes that no replica began: {strangers}"
    return [(known[row["turn"]], row) for row in rows if row["turn"] in known]


def prove(place, replicas, least=2):
    """No reign has a request after the first one of another that followed it; returns the reigns
    that had requests, of which there are so many at least."""
    joined = requests(place, replicas)
    order = [reign for reign, _ in itertools.groupby(reign for reign, _ in joined)]
    again = [reign for at, reign in enumerate(order) if reign in order[:at]]
    text = "\n".join(f"{reign} {row['time']} {row['operation']} {row['turn']}"
                     for reign, row in joined)
    assert not again, f"{again[0]} wrote after its successor's first: {order}\n{text}"
    assert all(number > 0 for _, number in order), f"a request by one who did not lead\n{text}"
    assert len(order) >= least, f"only {order}\n{text}"
    return order


def time_of(replica, text, **attributes):
    """Of its first such line. To be compared only between processes with the same clock."""
    return next(row["time"] for row in replica.program.lines(text)
                if attributes.items() <= row.items())


def errors(replicas):
    """What they logged as errors: whoever only loses or gains the lease logs none."""
    return [row for replica in replicas for row in replica.program.lines()
            if row["level"] == "ERROR"]
