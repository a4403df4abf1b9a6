"""G16: Silent wrong output."""
