"""python -m ppduck.dbt: the same as ``ppduck dbt``."""

import sys

from ppduck.dbt.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
