"""`python -m specdec_core`: the same engine as the app, without a browser."""

import sys

from specdec_core.cli import main

sys.exit(main())
