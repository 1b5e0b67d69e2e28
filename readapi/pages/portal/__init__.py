"""The Portal, where artists publish and manage: its forms, their errors, and its views."""
