"""``python -m standoff`` runs the command."""

import sys

from ._command import main

sys.exit(main())
