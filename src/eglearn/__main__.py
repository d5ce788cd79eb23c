"""``python -m eglearn`` is the same as ``eglearn``."""

import sys

from .cli import main

sys.exit(main())
