"""The limits of limits.py hold."""

import sys
import time

from harness import wait_until
from limits import Limits, peak_octets

TAKES = ("import sys, time; kept = b'x' * int(sys.argv[1]); print('took', flush=True); "
         "time.sleep(60)")
SPINS = "while True: pass"


def test_memory_within_the_limit_is_given_and_beyond_is_not(programs):
    with Limits("64Mi", "1") as limits:
        small = programs.start("small", [*limits.before(), sys.executable, "-c", TAKES, 20 << 20])
        wait_until(lambda: "took" in small.log(), "it has it", programs=[small])
        limits.check(small)
        assert peak_octets(small) > 20 << 20
        small.kill()
        large = programs.start("large", [*limits.before(), sys.executable, "-c", TAKES, 80 << 20])
        assert large.wait() != 0
        assert "took" not in large.log()


def test_a_program_gets_its_share_of_a_cpu_and_no_more(programs):
    with Limits("64Mi", "200m") as limits:
        program = programs.start("spins", [*limits.before(), sys.executable, "-c", SPINS])
        limits.hold(program)
        start = time.monotonic()
        wait_until(lambda: time.monotonic() - start > 2, "two seconds have passed")
        limits.check(program)
        assert all(thread.used_s() > 0.1 for thread in limits.threads)
    program.kill()
