"""The command `policyloop`."""

import sys

from policyloop import shadowed


def main() -> None:
    """Run the command line; exit code 2 where a user's package shadows one of ours."""
    if (problem := shadowed()) is not None:
        print(f"policyloop: {problem}", file=sys.stderr)
        raise SystemExit(2)
    from scenarios.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
