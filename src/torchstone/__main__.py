"""`python -m torchstone` is `torchstone`."""

import sys

from torchstone.cli.main import main

sys.exit(main())
