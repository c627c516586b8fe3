"""`torchstone rules`: everything that is looked for."""

from __future__ import annotations

import click

from torchstone.cli import options, show


@click.command(name="rules")
@click.argument("family", required=False, type=str)
@options.as_json
@options.traceback
def command(family: str | None, is_json: bool) -> int:
    """List what is looked for.

    FAMILY narrows the list to codes that begin with it, such as DAT.
    """
    from torchstone.flows.rulebook import every_rule

    rules = [rule for rule in every_rule() if rule.code.startswith((family or "").upper())]
    if is_json:
        rows = [{"code": r.code, "name": r.name, "severity": r.severity, "what": r.summary} for r in rules]
        show.answer({"rules": rows})
    else:
        for rule in rules:
            click.echo(f"{rule.code}  {rule.severity:<8}  {rule.summary}")
    return 0
