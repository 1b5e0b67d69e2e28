"""What the service costs, measured: `python -m tests.bench` for the figures, `python -m tests.bench.soak`.

Owns a catalogue of made-up music, built once for each size under `build/`. Every ratio is taken against a
reference that runs in the same minute on the same core. `RESULTS.md` keeps the last figures.
"""
