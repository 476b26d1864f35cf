#!/usr/bin/env python3
"""Fills tests/data/jinja/cases.jsonl with what the reference Jinja makes of its templates.

    python3 -m venv build/python && build/python/bin/pip install jinja2==3.1.6
    build/python/bin/python tools/jinja_goldens.py tests/data/jinja/cases.jsonl

The first line of the file has the variables that all templates see. Every other one is a case: {"id",
"template"}, and from this program "expected", or "error": true where the reference refuses. A new case
needs its id and template alone. The environment is that of transformers' apply_chat_template, plus the
filter from_json; the clock stands still.
"""
import datetime
import json
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = datetime.datetime(2026, 3, 5, 7, 8, 9)


class Generation(jinja2.ext.Extension):
    """{% generation %} … {% endgeneration %} prints its body, which has a scope of its own."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def check_name(name):
    """transformers' namespaces take no names that begin with an underscore."""
    if not isinstance(name, str) or name[:1] == "_":
        raise jinja2.exceptions.SecurityError(f"the name {name!r}")


class Namespace(jinja2.utils.Namespace):
    def __setitem__(self, name, value):
        check_name(name)
        super().__setitem__(name, value)


def make_namespace(*values, **named):
    members = dict(*values, **named)
    for name in members:
        check_name(name)
    return Namespace(members)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    def refuse(message):
        raise jinja2.exceptions.TemplateError(message)

    env.filters["tojson"] = to_json
    env.filters["from_json"] = json.loads
    env.globals["raise_exception"] = refuse
    env.globals["strftime_now"] = lambda text: NOW.strftime(text)
    env.globals["namespace"] = make_namespace
    return env


def fill(env, case, variables):
    """The case with the reference's answer."""
    filled = {"id": case["id"], "template": case["template"]}
    try:
        filled["expected"] = env.from_string(case["template"]).render(**variables)
    except Exception:  # whatever the reference fails with
        filled["error"] = True
    if " at 0x" in filled.get("expected", ""):
        sys.exit(f"this has an address in it: {filled}")
    return filled


def main():
    with open(sys.argv[1], encoding="ascii") as source:
        first, *cases = [json.loads(line) for line in source]
    env = environment()
    filled = [fill(env, case, first["variables"]) for case in cases]
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.writelines(json.dumps(line) + "\n" for line in [first, *filled])
    changed = sum(a != b for a, b in zip(cases, filled))
    print(len(filled), "cases,", sum("error" in case for case in filled), "of them refused,", changed, "changed")


main()
