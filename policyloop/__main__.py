"""The command `policyloop`."""

import sys

from policyloop import shadowed


def main() -> None:
    """Run the command line; exit code 2 where a user's package shadows ours, 130 on an early Ctrl-C."""
    if (problem := shadowed()) is not None:
        print(f"policyloop: {problem}", file=sys.stderr)
        raise SystemExit(2)
    try:
        from scenarios.cli import main as command_line
    except KeyboardInterrupt:
        print("policyloop: stopped before anything was done", file=sys.stderr)
        raise SystemExit(130) from None
    command_line()


if __name__ == "__main__":
    main()
