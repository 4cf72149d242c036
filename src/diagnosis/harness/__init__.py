"""Floor 2: deterministic control of one run. Knows no agent framework and no language model."""
