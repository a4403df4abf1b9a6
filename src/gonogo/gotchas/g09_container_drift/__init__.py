"""G9: Container first, and drift."""
