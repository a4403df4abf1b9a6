"""What coding agents read, generated from the gotchas: the agent skill."""
