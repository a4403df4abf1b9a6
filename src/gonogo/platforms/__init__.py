"""Device profiles: one TOML file each with specification, expectations and thresholds, every figure with its source."""
