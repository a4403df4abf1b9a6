"""G20: Hardware or link fault."""
