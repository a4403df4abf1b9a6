"""G8: Stale official playbooks."""
