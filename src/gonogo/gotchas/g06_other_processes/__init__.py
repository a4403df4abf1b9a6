"""G6: Other processes on the shared pool."""
