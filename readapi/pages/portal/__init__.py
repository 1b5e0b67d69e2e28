"""The Portal, where artists publish and manage their music: its forms, their errors, and its views."""
