"""Run every test: `python -m tests`, plus any arguments for pytest. Installs a browser if there is none."""

import sys

import pytest

from tests import chromium


def main() -> int:
    try:
        print(f"Browser: {chromium.ensure()}", flush=True)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return pytest.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
