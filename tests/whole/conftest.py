import sys

import harness
from fixtures import (answers, ingresses, ingresses_at, memory, name_server,  # noqa: F401
                      name_servers, new_pihole, pihole, programs, provider, site, webhook)

sys.path.append(str(harness.ROOT / "tests" / "go"))
