"""`python -m fmsvc`, the same as `fmsvc`."""

from fmsvc.cli import main

if __name__ == "__main__":
    main()
