# Everything a person or CI runs. Each target works in a fresh clone with Python, make and npm.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000

.PHONY: serve demo test lint bench soak lock clean
