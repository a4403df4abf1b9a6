"""G19: Build environment."""
