"""``python -m eglearn.cli`` is the same as ``eglearn``."""

import sys

from . import main

sys.exit(main())
