"""Running the user's objective."""
