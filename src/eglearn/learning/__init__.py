"""What searches share: maps of points and values, samplers, memory, losses over pairs, models, steps."""
