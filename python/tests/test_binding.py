"""The extension is what its stub says."""

import ast
import json
from pathlib import Path

import loadstone
from loadstone import _native


def _stub() -> dict[str, set[str]]:
    """Give the names of the stub; of its classes with their members."""
    tree = ast.parse((Path(loadstone.__file__).parent / "_native.pyi").read_text())
    names: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names[node.name] = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = set()
    return names


def _public(of: object) -> set[str]:
    return {name for name in vars(of) if not name.startswith("_")} | ({"__version__"} & set(vars(of)))


def test_the_stub_names_what_the_module_has() -> None:
    assert set(_stub()) == _public(_native)


def test_the_stub_names_what_the_classes_have() -> None:
    columns = {column["name"] for column in json.loads(_native.columns_json())["run"]}
    for name, others in {"Scenario": set(), "Outcome": columns}.items():
        assert _stub()[name] - {"__new__"} == _public(getattr(_native, name)) | others, name


def test_the_stub_names_what_the_functions_take() -> None:
    for name, arguments in _stub().items():
        function = getattr(_native, name)
        if signature := getattr(function, "__text_signature__", None):
            if isinstance(function, type):
                continue
            given = {part.split("=")[0].strip() for part in signature.strip("()").split(",")} - {"", "*"}
            assert given == arguments, name
