"""How long tests wait for what has to happen. The promise is that it does, not how soon on a busy machine."""

from typing import Final

PATIENCE_SECONDS: Final = 90.0
