"""G11: Image or toolchain newer than the driver."""
