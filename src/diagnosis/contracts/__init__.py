"""Floor 0: frozen values that every other floor speaks in. No I/O, no clock, no framework."""
