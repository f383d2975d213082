"""Documents that must stay true."""
