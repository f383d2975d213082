"""`python -m slicewright` and the console script."""

from __future__ import annotations

from slicewright.cli.main import main

if __name__ == "__main__":
    main()
