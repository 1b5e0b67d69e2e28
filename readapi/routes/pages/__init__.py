"""The HTML pages: one module per page or group of pages, one function per endpoint."""
