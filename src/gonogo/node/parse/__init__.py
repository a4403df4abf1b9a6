"""Pure readers of what machines print: text or bytes in, plain data out. Arbitrary input never raises."""
