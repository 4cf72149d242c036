"""Floor 7: the command line, one module a command. Only typer is imported before a command runs."""
