"""For all tests."""

import signal

# Ctrl-C must work even where the tests were started with it ignored, as by a shell in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
