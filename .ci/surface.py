"""Prints what a crate offers, by the JSON that rustdoc writes: one line a function, type, field, variant, method and constant."""

import json
import sys

INDEX = {}


def shown(type_):
    """A type as it is written, less lifetimes and bounds."""
    if type_ is None:
        return "()"
    (kind, it), = type_.items() if isinstance(type_, dict) else ((type_, None),)
    if kind == "resolved_path":
        arguments = ((it.get("args") or {}).get("angle_bracketed") or {}).get("args", [])
        inner = ", ".join(shown(one["type"]) for one in arguments if "type" in one)
        return it["path"].split("::")[-1] + (f"<{inner}>" if inner else "")
    if kind in ("primitive", "generic"):
        return it
    if kind == "borrowed_ref":
        return ("&mut " if it["is_mutable"] else "&") + shown(it["type"])
    if kind == "slice":
        return f"[{shown(it)}]"
    if kind == "array":
        return f"[{shown(it['type'])}; {it['len']}]"
    if kind == "tuple":
        return "(" + ", ".join(map(shown, it)) + ")"
    if kind == "impl_trait":
        return "impl " + " + ".join(shown({"resolved_path": one["trait_bound"]["trait"]}) for one in it if "trait_bound" in one)
    if kind == "qualified_path":
        return f"{shown(it['self_type'])}::{it['name']}"
    return kind


def signature(function):
    inputs = ", ".join(f"{name}: {shown(type_)}" for name, type_ in function["sig"]["inputs"])
    return f"({inputs}) -> {shown(function['sig']['output'])}"


def of_members(ids, path):
    return [line for id_ in ids for line in of_item(str(id_), f"{path}::")]


def of_impls(ids, path):
    """Own methods, and the traits of other crates that are implemented by name."""
    for id_ in ids:
        impl = INDEX[str(id_)]["inner"]["impl"]
        if INDEX[str(id_)].get("attrs") and any("automatically_derived" in str(one) for one in INDEX[str(id_)]["attrs"]) or impl["is_synthetic"] or impl["blanket_impl"]:
            if impl["trait"] and not (impl["is_synthetic"] or impl["blanket_impl"]):
                yield f"impl {impl['trait']['path'].split('::')[-1]} for {path}"
            continue
        if impl["trait"] is None:
            yield from of_members(impl["items"], path)
        else:
            yield f"impl {impl['trait']['path'].split('::')[-1]} for {path}"


def of_item(id_, before):
    item = INDEX.get(id_)
    if item is None or "hidden" in str(item["attrs"]):
        return
    (kind, it), = item["inner"].items() if isinstance(item["inner"], dict) else ((item["inner"], {}),)
    path = before + (item["name"] or "")
    open_ended = " (non-exhaustive)" if "non_exhaustive" in str(item["attrs"]) else ""
    if kind == "use":
        if it["id"] is not None and str(it["id"]) in INDEX:
            target = INDEX[str(it["id"])]
            named = {**target, "name": it["name"]}
            INDEX["renamed"] = named
            yield from of_item("renamed", before)
        return
    if kind == "module":
        yield from of_members(it["items"], path)
    elif kind == "function":
        yield f"fn {path}{signature(it)}"
    elif kind == "struct":
        yield f"struct {path}{open_ended}"
        fields = it["kind"].get("plain", {}).get("fields", []) if isinstance(it["kind"], dict) else []
        fields += [one for one in it["kind"].get("tuple", []) if one is not None] if isinstance(it["kind"], dict) else []
        yield from of_members(fields, path)
        yield from of_impls(it["impls"], path)
    elif kind == "enum":
        yield f"enum {path}{open_ended}"
        yield from of_members(it["variants"], path)
        yield from of_impls(it["impls"], path)
    elif kind == "variant":
        yield f"variant {path}"
        fields = it["kind"] if isinstance(it["kind"], dict) else {}
        of_variant = fields.get("struct", {}).get("fields", []) + [one for one in fields.get("tuple", []) if one is not None]
        yield from of_members(of_variant, path)
    elif kind == "struct_field":
        yield f"field {path}: {shown(it)}"
    elif kind in ("constant", "assoc_const"):
        yield f"const {path}: {shown(it['type'])}"
    elif kind != "assoc_type":
        yield f"{kind} {path}"


def main():
    with open(sys.argv[1]) as file:
        crate = json.load(file)
    INDEX.update(crate["index"])
    print("\n".join(sorted(set(of_item(str(crate["root"]), "")))))


main()
