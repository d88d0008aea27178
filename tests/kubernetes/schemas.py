"""Schemas for kubeconform out of an API server's own OpenAPI document: nothing is downloaded, and ours are among them."""
import json


def write(openapi, kinds, folder):
    """For each (group, version, kind) of `kinds` a file that kubeconform finds by LOCATION; strict, as the server is."""
    definitions = openapi["definitions"]
    for definition in definitions.values():
        _tighten(definition)
    names = {(k["group"], k["version"], k["kind"]): name for name, definition in definitions.items()
             for k in definition.get("x-kubernetes-group-version-kind", [])}
    folder.mkdir(exist_ok=True)
    for group, version, kind in kinds:
        parts = [kind.lower(), *group.split(".")[:1], version]
        path = folder / ("-".join(filter(None, parts)) + ".json")
        path.write_text(json.dumps({"$ref": f"#/definitions/{names[group, version, kind]}", "definitions": definitions}))
    return f"{folder}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"


def _tighten(schema):
    """In place: unknown fields are refused, and what may be a number or a text may be either."""
    if schema.get("format") == "int-or-string" or schema.get("x-kubernetes-int-or-string"):
        schema["type"] = ["string", "integer"]
    schema.pop("format", None)
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        schema["additionalProperties"] = False
    for inner in schema.get("properties", {}).values():
        _tighten(inner)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            _tighten(schema[key])
