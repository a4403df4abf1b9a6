"""G4: Power and heat."""
