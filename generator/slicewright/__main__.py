"""`python -m slicewright` and the console script."""

import os
import sys


def main() -> None:
    """Run the command line, which has its own word for Ctrl-C once it is imported."""
    try:
        from slicewright.cli.main import main as run  # noqa: PLC0415
    except KeyboardInterrupt:
        os.write(2, b"\ninterrupted\n")
        os._exit(130)
    run()


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder: a repository must not bring modules or rules that run here
    main()
