"""What a request brings: its headers, cookies and body, checked and typed."""
