"""Writes the typed reports and estimates of the Python package from their JSON Schemas.

    python3 python/generate.py            # writes python/oomdoc/report.py and python/oomdoc/estimates.py
    python3 python/generate.py --check    # fails where they are not what the schemas say
"""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
from pathlib import Path
from typing import Any, Dict

ROOT = Path(__file__).resolve().parent.parent
MODULES = [
    ("docs/report.schema.json", "python/oomdoc/report.py", "Report", "What `oomdoc.analyze` gives back"),
    ("docs/estimate.schema.json", "python/oomdoc/estimates.py", "Estimate", "What `oomdoc.estimate` gives back"),
]
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
WIDTH = 110

Schema = Dict[str, Any]


def main() -> int:
    wrong = []
    for schema, module, root, title in MODULES:
        text = render(json.loads((ROOT / schema).read_text(encoding="utf-8")), root, title, schema)
        path = ROOT / module
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            wrong.append(module)
    for module in wrong:
        print(f"{module} is not what its schema says: run `python3 python/generate.py`", file=sys.stderr)
    return 1 if wrong else 0


def render(schema: Schema, root: str, title: str, source: str) -> str:
    definitions = dict(sorted(schema["$defs"].items()))
    definitions[root] = schema
    aliases = {name: alias for name, of in definitions.items() if (alias := named_type(of))}
    head = f'"""{title}, as dataclasses.\n\nWritten by python/generate.py from {source}; edit the types in src/ instead.\n"""\n'
    imports = [
        "from __future__ import annotations",
        "",
        "from dataclasses import dataclass, field",
        "from typing import Any, Dict, List, Literal, Optional, Union",
        "",
        "from ._values import Value",
    ]
    exported = [f"    {json.dumps(name)}," for name in definitions]
    parts = [head + "\n".join(imports), "\n".join(["__all__ = [", *exported, "]"])]
    for name, alias in aliases.items():
        parts.append(f"{comment(definitions[name].get('description', ''))}{name} = {alias}")
    body = "\n\n".join(parts)
    classes = [dataclass_of(name, of) for name, of in definitions.items() if name not in aliases]
    return body + "\n\n\n" + "\n\n\n".join(classes) + "\n"


def named_type(of: Schema) -> str | None:
    """The type that a definition is another name for; nothing where it has fields."""
    if "properties" in of:
        return None
    options = of.get("oneOf", [])
    if options and all("const" in option for option in options):
        return "Literal[\n" + "".join(f"    {json.dumps(option['const'])},\n" for option in options) + "]"
    if options and all("properties" in option for option in options):
        return None
    return type_of(of)


def type_of(of: Schema) -> str:
    if "$ref" in of:
        return str(of["$ref"]).rsplit("/", 1)[1]
    if "const" in of:
        return f"Literal[{json.dumps(of['const'])}]"
    if "enum" in of:
        return "Literal[" + ", ".join(json.dumps(value) for value in of["enum"]) + "]"
    for key in ("anyOf", "oneOf"):
        if key in of:
            return union([type_of(option) for option in of[key]])
    kind = of.get("type")
    if isinstance(kind, list):
        return union([type_of({**of, "type": one}) for one in kind])
    if kind == "null":
        return "None"
    if kind == "array":
        return f"List[{type_of(of.get('items', {}))}]"
    if kind == "object":
        return f"Dict[str, {type_of(of.get('additionalProperties') or {})}]"
    return SCALARS.get(str(kind), "Any")


def union(types: list[str]) -> str:
    known = [one for one in dict.fromkeys(types) if one != "None"]
    inner = known[0] if len(known) == 1 else "Union[" + ", ".join(known) + "]"
    return f"Optional[{inner}]" if "None" in types else inner


def dataclass_of(name: str, of: Schema) -> str:
    fields = {key: (value, key in of.get("required", [])) for key, value in of.get("properties", {}).items()}
    # Of variants the one that is there has its fields, the others have none.
    for variant in of.get("oneOf", []):
        for key, value in variant.get("properties", {}).items():
            known = fields.get(key, (None, False))[0]
            if known is not None and "const" in known:
                value = {**value, "enum": known.get("enum", [known["const"]]) + [value["const"]]}
                value.pop("const")
            elif known is not None and "enum" in known and "const" in value:
                value = {"enum": known["enum"] + [value["const"]], "description": value.get("description", "")}
            everywhere = all(key in other.get("required", []) for other in of["oneOf"])
            fields[key] = (value, everywhere)
    needed = [field_of(key, value) for key, (value, required) in fields.items() if required]
    optional = [field_of(key, value, default(value)) for key, (value, required) in fields.items() if not required]
    lines = ["@dataclass(frozen=True)", f"class {name}(Value):", docstring(of.get("description", name))]
    return "\n".join([*lines, *needed, *optional])


def default(of: Schema) -> tuple[str, str]:
    """The type and the value of a field that may be absent."""
    declared = type_of(of)
    if declared.startswith(("List[", "Dict[")):
        return declared, f"field(default_factory={'list' if declared.startswith('List') else 'dict'})"
    value = of.get("default")
    if isinstance(value, (str, int, float)):
        return declared, repr(value)
    return (declared if declared.startswith("Optional[") or declared == "Any" else f"Optional[{declared}]"), "None"


def field_of(key: str, of: Schema, absent: tuple[str, str] | None = None) -> str:
    attribute = f"{key}_" if keyword.iskeyword(key) else key
    declared, value = absent or (type_of(of), "")
    line = f"    {attribute}: {declared}" + (f" = {value}" if value else "")
    return line + "\n" + docstring(of["description"]) if of.get("description") else line


def docstring(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("[`SCHEMA`]", "Name and version of the format")
    one = f'    """{text}"""'
    if "\n" not in text and len(one) <= WIDTH:
        return one
    wrapped = textwrap.fill(" ".join(text.split()), WIDTH - 4)
    return textwrap.indent(f'"""{wrapped}\n"""', "    ")


def comment(text: str) -> str:
    return "".join(f"# {line}\n" for line in textwrap.wrap(text, WIDTH - 2))


if __name__ == "__main__":
    sys.exit(main())
