"""Floor 3: the one agent that owns the tool loop, and its harness on the framework's side.

`RunContext` always means ours; the framework's class of that name is imported as FrameworkContext.
"""
