import sys

import harness
from fixtures import (answers, ingresses, ingresses_at, memory, name_server,  # noqa: F401
                      name_servers, new_pihole, pihole, programs, provider, site, webhook)
from quickstarts import terminal  # noqa: F401

sys.path += [str(harness.ROOT / "tests" / folder) for folder in ("go", "cluster")]
