"""G17: Driver, firmware and kernel pairing."""
