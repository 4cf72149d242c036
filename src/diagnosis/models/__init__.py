"""Floor 3: which model a name stands for."""
