"""The rule-based model: drives the same loop through the same boundary, with no language model.

`model` answers requests, from what `history` reads in the messages; `investigation` chooses the
next look, `leads` and `changes` weigh what was found, `draft` writes the answer.
"""

from diagnosis.agent.offline.model import OfflineModel

__all__ = ["OfflineModel"]
