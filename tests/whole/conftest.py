import sys

import harness
from fixtures import (answers, memory, name_server, name_servers, programs,  # noqa: F401
                      provider, site, webhook)

sys.path.append(str(harness.ROOT / "tests" / "go"))
