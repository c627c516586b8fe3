"""`torchstone explain`: the page of one rule."""

from __future__ import annotations

import click

from torchstone.cli import options, show


@click.command(name="explain")
@click.argument("code", type=str)
@options.as_json
@options.traceback
def command(code: str, is_json: bool) -> int:
    """Show the page of one rule.

    CODE is a rule's code (DAT201) or its name.
    """
    from torchstone.flows.rulebook import page, the_rule

    rule = the_rule(code)
    if is_json:
        show.answer(page(rule))
    else:
        click.echo(f"{rule.code} {rule.name} ({rule.severity}, {rule.stage})\n")
        for title, text in page(rule).items():
            if title not in ("code", "name", "severity", "stage"):
                click.echo(f"{title.replace('_', ' '):<12}{text}")
    return 0
