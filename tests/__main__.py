"""Run every test: `python -m tests`, plus any arguments for pytest. Installs a browser if there is none.

Two processes share the work, one of them beginning with the browser; `python -m tests -n 0` uses one.
"""

import sys

import pytest

from tests import chromium

SHARED = ("-n", "2")


def main() -> int:
    try:
        print(f"Browser: {chromium.ensure()}", flush=True)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return pytest.main([*SHARED, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
