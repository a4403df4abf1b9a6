"""G2: flash-attn, and Unsloth's silent override."""
