"""The default: which searches run, and who runs next."""
