"""What both programs use is named once: files of the data folder, paths and headers of the control socket."""

import ast
from collections.abc import Iterator
from pathlib import Path

from schemas import control_socket, data_folder

ROOT = Path(__file__).parents[2]
OWNERS = {Path("schemas/data_folder.py"), Path("schemas/control_socket.py")}
# No other word is like these: they are searched for in every text but the documentation.
NAMES = (data_folder.CATALOGUE, data_folder.CONTROL_SOCKET, data_folder.STATE_FILE, control_socket.REV_HEADER)
# These are words of their own: they are searched for where paths are joined.
FOLDERS = {
    part
    for path in (data_folder.SEARCH, data_folder.NEWEST_SNAPSHOT, data_folder.STATE_DATABASE)
    for part in path.split("/")
}
PATHS = {control_socket.NUDGE, control_socket.PROOF, control_socket.RECORD}


def repeated(source: str) -> Iterator[str]:
    """The texts of a program that repeat a name of the boundary."""
    tree = ast.parse(source)
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in documentation else None
        if isinstance(text, str) and (text in PATHS or any(name in text for name in NAMES)):
            yield text
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            joined = node.right.value if isinstance(node.right, ast.Constant) else None
            if isinstance(joined, str) and FOLDERS & set(joined.split("/")):
                yield joined


def test_no_module_of_the_programs_repeats_a_name_of_the_boundary() -> None:
    found = {
        f"{path}: {text}"
        for package in ("indexer", "readapi", "schemas")
        for path in (file.relative_to(ROOT) for file in (ROOT / package).rglob("*.py"))
        if path not in OWNERS
        for text in repeated((ROOT / path).read_text())
    }

    assert found == set()


def test_a_repeated_name_is_found() -> None:
    source = '''
def find(folder):
    """The file catalog.duckdb, and search beside it."""
    socket = folder / "control.sock"
    newest = folder / "snapshots" / "current"
    database = f"{folder}/state.db"
    return post("/nudge", headers={"Atproto-Repo-Rev": "search"})
'''

    assert sorted(repeated(source)) == [
        "/nudge",
        "/state.db",
        "Atproto-Repo-Rev",
        "control.sock",
        "current",
        "snapshots",
    ]
