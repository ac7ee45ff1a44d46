#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py FILE...: checks manifests against schemas.json and against each other.

Prints one line for each problem; the exit status is 1 if there are any. The documents are YAML as
it is written here: mappings and lists in blocks, plain and quoted scalars, literal text after `|`.
Anything else of YAML is refused.
"""
import json
import pathlib
import re
import sys

SCHEMAS = json.loads((pathlib.Path(__file__).resolve().parent / "schemas.json").read_text())
KEY = re.compile(r"([A-Za-z0-9_./-]+):(?: +(.*))?$")
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}


class Refused(Exception):
    """A text that is not YAML of this form."""


class Reader:
    """The lines of one document, each with its indent and number."""

    def __init__(self, numbered):
        self.raw = numbered
        self.lines = [(len(text) - len(text.lstrip(" ")), text.strip(), number)
                      for number, text in numbered
                      if text.strip() and not text.lstrip().startswith("#")]
        self.place = 0

    def at(self, indent):
        return self.place < len(self.lines) and self.lines[self.place][0] == indent

    def value(self, indent):
        """The block whose lines have this indent."""
        if self.lines[self.place][1].startswith("- "):
            return self.sequence(indent)
        return self.mapping(indent)

    def sequence(self, indent):
        found = []
        while self.at(indent) and self.lines[self.place][1].startswith("- "):
            _, text, number = self.lines[self.place]
            rest = text[2:].lstrip()
            if KEY.match(rest):  # a mapping that begins on the line of its dash
                inner = indent + len(text) - len(rest)
                self.lines[self.place] = (inner, rest, number)
                found.append(self.mapping(inner))
            else:
                self.place += 1
                found.append(scalar(rest, number))
        return found

    def mapping(self, indent):
        found = {}
        while self.at(indent):
            _, text, number = self.lines[self.place]
            match = KEY.match(text)
            if not match or match.group(1) in found:
                raise Refused(f"{number}: '{text}' is no new key")
            self.place += 1
            found[match.group(1)] = self.member(indent, match.group(2), number)
        return found

    def member(self, indent, rest, number):
        if rest == "|":
            return self.literal(indent, number)
        if rest and not rest.startswith("#"):
            return scalar(rest, number)
        # A list may stand at the indent of its key.
        if self.at(indent) and self.lines[self.place][1].startswith("- "):
            return self.sequence(indent)
        if self.place == len(self.lines) or self.lines[self.place][0] <= indent:
            raise Refused(f"{number}: a key without a value")
        return self.value(self.lines[self.place][0])

    def literal(self, indent, number):
        text = []
        for line, content in self.raw:
            if line <= number:
                continue
            if content.strip() and len(content) - len(content.lstrip(" ")) <= indent:
                break
            text.append(content)
        while self.place < len(self.lines) and self.lines[self.place][0] > indent:
            self.place += 1
        while text and not text[-1].strip():
            text.pop()
        inner = min((len(line) - len(line.lstrip(" ")) for line in text if line.strip()), default=0)
        return "".join(line[inner:] + "\n" for line in text)


def scalar(text, number):
    if text[0] == '"':
        if not re.fullmatch(r'"[^"\\]*"', text):
            raise Refused(f"{number}: {text}: a quoted text with escapes")
        return text[1:-1]
    if text[0] in "'[]{}&*!|>%@`" or ": " in text or " #" in text or text.startswith("- "):
        raise Refused(f"{number}: {text}: YAML of another form")
    if re.fullmatch(r"-?(0|[1-9][0-9]*)", text):
        return int(text)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.lower() in ("null", "~", "yes", "no", "on", "off") or re.fullmatch(r"[-+.\d]+", text):
        # What is a number of another kind to YAML, unless it is an address.
        if not re.fullmatch(r"\d+(\.\d+){3}", text):
            raise Refused(f"{number}: {text}: quote it")
    return text


def documents(text):
    """The documents of a YAML text."""
    parts, part = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if "\t" in line:
            raise Refused(f"{number}: a tab")
        if line.rstrip() == "---":
            parts.append(part)
            part = []
        else:
            part.append((number, line))
    found = []
    for part in [*parts, part]:
        reader = Reader(part)
        if reader.lines:
            found.append(reader.value(reader.lines[0][0]))
            if reader.place != len(reader.lines):
                raise Refused(f"{reader.lines[reader.place][2]}: an indent of no block")
    return found


def problems(value, schema, where):
    """Where a value breaks a schema."""
    if "$ref" in schema:
        schema = SCHEMAS["$defs"][schema["$ref"]]
    kind = TYPES.get(schema.get("type"))
    if kind and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
        yield f"{where}: is no {schema['type']}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value} is none of {', '.join(schema['enum'])}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{where}: '{value}' is not of the form {schema['pattern']}"
    if not schema.get("minimum", value) <= value <= schema.get("maximum", value) \
            if kind is int else False:
        yield f"{where}: {value} is out of range"
    if kind is list:
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{where}: has {len(value)} entries"
        for index, item in enumerate(value):
            yield from problems(item, schema["items"], f"{where}[{index}]")
    if kind is dict:
        known = schema.get("properties", {})
        for key in schema.get("required", []):
            if key not in value:
                yield f"{where}: has no {key}"
        for key, item in value.items():
            others = schema.get("additionalProperties", True)
            if key in known or isinstance(others, dict):
                yield from problems(item, known.get(key, others), f"{where}.{key}")
            elif others is False:
                yield f"{where}: there is no field {key}"


def body_of(document):
    return "data" if document.get("kind") == "ConfigMap" else "spec"


def document_problems(document):
    kind = f"{document.get('apiVersion')}/{document.get('kind')}"
    if kind not in SCHEMAS or kind == "$defs":
        yield f"{kind}: no schema of this kind"
        return
    body = body_of(document)
    outer = {"type": "object", "required": ["apiVersion", "kind", "metadata", body],
             "additionalProperties": False,
             "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"},
                            "metadata": {"$ref": "metadata"},
                            body: {"type": "object", **SCHEMAS[kind]}}}
    yield from problems(document, outer, kind)


def reference_problems(found):
    """Where names of one document mean nothing in the others."""
    kinds = {}
    for document in found:
        kinds.setdefault(document["kind"], []).append(document)
    names = {(document["kind"], document["metadata"]["name"]) for document in found}
    for deployment in kinds.get("Deployment", []):
        spec = deployment["spec"]
        labels = spec["template"]["metadata"]["labels"]
        pod = spec["template"]["spec"]
        containers = pod["containers"] + pod.get("initContainers", [])
        ports = {port.get("name"): port["containerPort"]
                 for container in containers for port in container.get("ports", [])}
        selectors = [("Deployment", spec["selector"]["matchLabels"])]
        selectors += [("Service", entry["spec"]["selector"]) for entry in kinds.get("Service", [])]
        selectors += [("InferencePool", entry["spec"]["selector"]["matchLabels"])
                      for entry in kinds.get("InferencePool", [])]
        for kind, selector in selectors:
            if not selector.items() <= labels.items():
                yield f"{kind}: its selector {selector} matches no pod of {labels}"
        for service in kinds.get("Service", []):
            for port in service["spec"]["ports"]:
                if port["targetPort"] not in ports:
                    yield f"Service: no container has the port {port['targetPort']}"
        for pool in kinds.get("InferencePool", []):
            for port in pool["spec"]["targetPorts"]:
                if port["number"] not in ports.values():
                    yield f"InferencePool: no container listens at {port['number']}"
        volumes = {volume["name"] for volume in pod.get("volumes", [])}
        for container in containers:
            for mount in container.get("volumeMounts", []):
                if mount["name"] not in volumes:
                    yield f"Deployment: {container['name']}: there is no volume {mount['name']}"
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                if probe in container and container[probe]["httpGet"]["port"] not in ports:
                    yield f"Deployment: {container['name']}: {probe} asks a port of no container"
        for volume in pod.get("volumes", []):
            claim = volume["persistentVolumeClaim"]["claimName"]
            if ("PersistentVolumeClaim", claim) not in names:
                yield f"Deployment: there is no claim {claim}"
    for scaler in kinds.get("HorizontalPodAutoscaler", []):
        target = scaler["spec"]["scaleTargetRef"]
        if (target["kind"], target["name"]) not in names:
            yield f"HorizontalPodAutoscaler: there is no {target['kind']} {target['name']}"
        if scaler["spec"].get("minReplicas", 1) > scaler["spec"]["maxReplicas"]:
            yield "HorizontalPodAutoscaler: minReplicas is above maxReplicas"
        made = "".join(text for entry in kinds.get("ConfigMap", [])
                       for text in entry["data"].values())
        for metric in scaler["spec"]["metrics"]:
            name = metric["pods"]["metric"]["name"]
            if f"as: {name}\n" not in made:
                yield f"HorizontalPodAutoscaler: no rule makes the metric {name}"
    for route in kinds.get("HTTPRoute", []):
        for rule in route["spec"]["rules"]:
            for backend in rule["backendRefs"]:
                if (backend.get("kind", "Service"), backend["name"]) not in names:
                    yield f"HTTPRoute: there is no {backend.get('kind')} {backend['name']}"


def check(found):
    """All problems of documents that belong together."""
    wrong = [problem for document in found for problem in document_problems(document)]
    return wrong or list(reference_problems(found))


def main():
    found, wrong = [], []
    for path in map(pathlib.Path, sys.argv[1:]):
        try:
            found += documents(path.read_text(encoding="utf-8"))
        except Refused as refused:
            wrong.append(f"{path}:{refused}")
    wrong = wrong or check(found)
    print("\n".join([*wrong, f"{len(found)} documents, {len(wrong)} problems"]))
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
