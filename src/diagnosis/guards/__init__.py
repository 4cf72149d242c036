"""Floor 4: what decides whether a draft may be released, and on which evidence it stands."""
