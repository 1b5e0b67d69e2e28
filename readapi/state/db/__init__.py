"""The state database itself: connections, transactions, locks, encryption, migrations, tables."""
