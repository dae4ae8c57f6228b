"""The table of `make bench`, and what a process takes."""

import os
import pathlib
import re
import sys

QUICK = os.environ.get("BENCH_QUICK") == "1"
MB = 1e6


class Table:
    """Rows as they come; the whole is printed at the end, with what fell short."""

    def __init__(self):
        self.rows = []

    def add(self, what, figure, target, is_reached, peer=""):
        result = "reached" if is_reached else "SHORT"
        self.rows.append((what, figure, target, peer, result))
        print(f"  {what}: {figure} ({result})", file=sys.stderr)

    def show(self):
        head = ("what", "figure", "target", "peer in this run", "result")
        widths = [max(len(row[i]) for row in [head, *self.rows]) for i in range(len(head))]
        for row in [head, tuple("-" * width for width in widths), *self.rows]:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        short = sum(row[-1] == "SHORT" for row in self.rows)
        print(f"{len(self.rows) - short} reached, {short} short")


# ---- what a process takes -----------------------------------------------------------------------

def memory_mb(pid):
    """RssAnon and VmHWM."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return tuple(int(re.search(rf"{key}:\s+(\d+) kB", text)[1]) * 1024 / MB
                 for key in ("RssAnon", "VmHWM"))


def cpu_ms(pid):
    """User and system time of all threads."""
    return sum(int((task / "schedstat").read_text().split()[0])
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e6


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def add_memory(table, count, times, pid):
    target, peak_target = {100: (5, 17), 10000: (10, 22), 100000: (40, 52)}[count]
    anon, peak = memory_mb(pid)
    table.add(f"{count:,} records, {times}: RssAnon (VmHWM)",
              f"{anon:.1f} MB ({peak:.1f})", f"< {target} (< {peak_target}) MB",
              anon < target and peak < peak_target)
