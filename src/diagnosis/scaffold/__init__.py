"""Floor 0: the package that `diagnosis plugin new` writes for a plugin author."""
