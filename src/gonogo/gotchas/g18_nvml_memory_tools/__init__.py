"""G18: Tools that need NVML memory."""
