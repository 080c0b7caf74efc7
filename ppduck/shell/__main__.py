"""``python -m ppduck.shell`` is the command ``ppduck``."""

import sys

from ppduck.shell.command import main

if __name__ == "__main__":
    sys.exit(main())
