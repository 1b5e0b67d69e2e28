"""The client; `_sync` is generated from `_async` by `make sdk`."""
