"""The revisions, each named `vNNNN_what_it_does.py`."""
