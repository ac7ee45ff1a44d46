# SPDX-License-Identifier: Apache-2.0
"""Random Jinja templates: expressions, filters, tests, methods and statements of all kinds, most of
which make sense."""

VARIABLES = {
    "n": 7, "zero": 0, "neg": -3, "big": 123456789, "x": 2.5, "y": -0.125, "yes": True, "no": False,
    "nothing": None, "text": "Hello, World", "empty": "", "padded": "  two  words \n", "uni":
    "Zürich ß ǆ ΑΣ 🎉", "html": "<b class=\"x\">it's & more</b>", "digits": "42", "real": "3.75",
    "lines": "one\n two\n\nthree\n", "list": [3, 1, 2], "mixed": [1, "a", None, True, 2.0],
    "words": ["pear", "Apple", "fig", "apple"], "nested": [[1, 2], [3], []],
    "pairs": [["a", 1], ["b", 2]], "table": {"b": 2, "a": 1, "C": [1, 2]},
    "people": [{"name": "Bo", "age": 30, "tags": ["x"]}, {"name": "al", "age": 25, "tags": []},
               {"name": "Cy", "age": 30}],
    "message": {"role": "user", "content": "Hi <|im_end|> there", "items": 5, "tool_calls": [
        {"function": {"name": "f", "arguments": {"q": "a\"b", "n": 1.5, "ü": None}}}]},
}
TYPES = {
    "int": ["n", "zero", "neg", "big"], "float": ["x", "y"], "bool": ["yes", "no"],
    "str": ["text", "empty", "padded", "uni", "html", "digits", "real", "lines",
            "message.content", "message['role']", "people[0].name"],
    "list": ["list", "mixed", "words", "nested", "pairs", "people", "message.tool_calls"],
    "dict": ["table", "message", "people[1]", "message.tool_calls[0].function.arguments"],
    "none": ["nothing"], "undefined": ["missing", "message.absent", "list[99]"],
}
LITERALS = {
    "int": ["0", "1", "2", "-1", "3", "10", "1_000", "0x1F"], "float": ["1.5", "0.1", "2e3",
        "-2.0"],
    "str": ["'a'", "''", "'l'", "' '", "'\\n'", "'o'", "\"it's\"", "'a' 'b'", "'é\\u00e9'", "'%s'",
            "'x,y,,z'", "','", "'<|im_end|>'", "'A-b (c) d'"],
    "list": ["[]", "[1, 2, 3]", "['b', 'a']", "(1, 'x')", "[[1], [2]]", "range(4)",
        "range(5, 0, -2)"],
    "dict": ["{}", "{'k': 'v', 'n': [1, {'z': none}]}", "{1: 2, 'a': true}", "dict(a=1, b='x')"],
    "bool": ["true", "false", "True"], "none": ["none", "None"], "undefined": ["undefined_name"],
}
STRING_METHODS = [
    "upper()", "lower()", "title()", "capitalize()", "swapcase()", "strip()", "lstrip()",
    "rstrip('d \\n')", "strip('<b>')", "split()", "split(',')", "split(' ', 1)", "rsplit(' ', 1)",
    "rsplit(none, 1)", "splitlines()", "splitlines(true)", "replace('l', 'L')", "replace('', '-')",
    "replace('o', '', 1)", "startswith('He')", "endswith(('d', 'x'))", "startswith('l', 2)",
    "find('o')", "rfind('o')", "find('o', 5)", "count('l')", "count('')", "index('e')",
    "join(['a', 'b'])",
    "join('xyz')", "center(15)", "center(16, '*')", "ljust(15, '.')", "rjust(15)", "zfill(6)",
    "isdigit()", "isalpha()", "isupper()", "islower()", "isspace()", "istitle()", "isalnum()",
    "isnumeric()", "isdecimal()", "isidentifier()", "isascii()", "isprintable()", "partition(' ')",
    "rpartition('o')", "removeprefix('He')", "removesuffix('ld')", "expandtabs(4)", "casefold()",
    
]
LIST_METHODS = ["count(1)", "count('a')"]
# What raises an error mostly, or always.
STRANGE = ["text.nosuch()", "text.split('')", "text.format()", "list.append(1)", "list.pop()",
    "table.update({})",
           "list|nosuchfilter", "list is nosuchtest", "words.index('q')", "text.index('q')",
           "list|sum(start='')",
           "text|int(base=99)", "missing.deeper", "1 // 0", "5 % 0", "none + 1", "text + 1",
           "list + 'a'",
           "words|sum", "mixed|sort", "mixed|max", "'%d' % 'a'", "'{}'.format()",
           "'{x}'.format(1)", "range(10**6)",
           "text[1:'a']", "list[::0]", "table[1:]", "(1, 2)|dictsort", "nothing|length",
           "nothing|list", "nothing()",
           "list()", "text|attr('x').y", "table|max", "message|tojson(nosuch=1)",
           "text|truncate(1)",
           "{[1]: 2}", "missing|int", "-text", "n.real", "people|groupby('age')", "missing + 1",
           "list|batch('a')|list",
           "loop.index", "caller()", "super()", "text|map|list", "{}|xmlattr|list",
           "raise_exception('no')"]
DICT_METHODS = ["items()", "keys()", "values()", "get('a')", "get('zz', 5)", "get('zz')", "copy()",
                "items()|list", "keys()|list", "values()|list"]
ANY_FILTERS = [
    "string", "default('d')", "default('d', true)", "d", "tojson", "tojson(indent=2)",
    "tojson(ensure_ascii=true)", "tojson(sort_keys=true)", "tojson(separators=(',', ':'))",
    "length", "count", "list", "first", "last", "join", "join(', ')", "reverse|list", "upper",
    "trim",
    "e", "safe", "escape", "forceescape", "int", "float", "int(5)", "float(1.5)", "abs", "round",
    "sum", "sort", "unique|list", "min", "max", "title", "capitalize", "attr('name')",
    "replace('a', 'b')", "wordcount", "urlencode", "striptags", "items|list", "string|length",
    "indent", "lower", "format(1)", "filesizeformat",  "nosuchfilter",
]
NUMBER_FILTERS = ["abs", "round", "round(1)", "round(2, 'floor')", "round(0, 'ceil')", "round(-1)",
                  "int", "float", "string", "filesizeformat", "filesizeformat(true)", "tojson"]
STRING_FILTERS = [
    "upper", "lower", "title", "capitalize", "trim", "trim('H')", "length", "list", "reverse",
    "replace('o', '0')", "replace('l', 'LL', 1)", "center(20)", "indent(2)", "indent(3, true)",
    "indent(2, blank=true)", "indent('> ')", "truncate(8)", "truncate(8, true)",
    "truncate(7, false, '..', 0)", "wordwrap(6)", "wordwrap(5, false)", "wordcount", "e",
    "urlencode",
    "striptags", "int", "float", "int(0, 16)", "first", "last", "join('-')", "urlize", "safe",
    "tojson",
    "format('z')", "e|upper", "batch(3)|list", "unique|join", "sort|join",
    "select('in', 'aeiou')|list",
    "wordwrap(4, true, '|')", "max", "min", "xmlattr",
]
LIST_FILTERS = [
    "length", "first", "last", "join", "join('-')", "sort", "sort(reverse=true)",
    "sort(attribute='name')", "sort(attribute='age,name')", "sort(case_sensitive=true)",
    "unique|list",
    "reverse|list", "sum", "sum(start=10)", "sum(attribute='age')", "min", "max",
    "max(attribute='age')",
    "map('upper')|list", "map('string')|join(',')", "map(attribute='name')|list",
    "map(attribute='tags', default='none')|list", "map('int')|sum", "select|list",
    "reject('none')|list",
    "select('odd')|list", "select('string')|list", "selectattr('tags')|list",
    "selectattr('age', 'equalto', 30)|map(attribute='name')|join",
    "rejectattr('age', 'gt', 26)|list",
    "selectattr('tags', 'defined')|list|length", "batch(2)|list", "batch(2, 'x')|list",
    "slice(2)|list",
    "slice(3, 0)|list", "list", "tojson", "tojson(indent=4)", "string", "groupby('age')",
    "join(attribute=0)",
    "map(attribute='0')|list", "dictsort", "map('length')|list", "map('nosuch')|list", 
    "unique(attribute='age')|map(attribute='name')|list", "map('join', '+')|list", "xmlattr",
    "first|upper",
]
DICT_FILTERS = ["length", "list", "items|list", "dictsort", "dictsort(true)",
    "dictsort(by='value')",
                "dictsort(reverse=true)", "tojson", "tojson(2)",
                "tojson(indent=1, sort_keys=true)", "first",
                "last", "join(',')", "xmlattr", "urlencode", "string", "sort", "map('upper')|list",
                "max"]
TESTS = ["defined", "undefined", "none", "boolean", "true", "false", "integer", "float", "number",
    "string",
         "mapping", "iterable", "sequence", "callable", "odd", "even", "divisibleby(3)",
         "divisibleby 2",
         "lower", "upper", "escaped", "sameas(none)", "in([1, 2, 'a'])", "eq 1", "equalto('a')",
         "ne(2)",
         "gt(1)", "lt 3", "ge(2)", "le(2.5)", "greaterthan 0", "not none", "not defined", "filter",
         "test",
         "in 'Hello'", "nosuchtest", "lessthan(100)"]
FORMATS = {  # by the kind that they write
    None: ["'%s' % ({},)", "'%r' % ({},)", "'%-6s|' % ({},)", "'{{}}'.format({})",
        "'{{0!r}} {{0}}'.format({})",
           "'{{a}}'.format(a={})", "'%(a)s' % {{'a': {}}}", "'%s|%s' % ({}, 1)"],
    "int": ["'%5.2f|%x' % ({}, 255)", "'%05d' % {}", "'{{:,}}'.format({})", "'{{:+d}}'.format({})",
        "'{{:#x}}'.format({})",
            "'{{:<{{w}}}}|'.format({}, w=7)", "'%i%%' % {}", "'%+d % d' % ({}, 3)",
            "'{{:06d}}'.format({})",
            "'{{:b}}'.format({})", "'{{:,.1f}}'.format({})", "'%#o' % {}", "'{{:^9}}'.format({})"],
    "float": ["'{{:.2f}}'.format({})", "'{{:e}}'.format({})", "'{{:g}}'.format({})",
        "'{{:%}}'.format({})",
              "'{{:08.3f}}'.format({})", "'%g %e' % ({}, 1)", "'%d' % {}", "'{{:.3}}'.format({})",
              "'%.3s' % {}",
              "'{{:n}}'.format({})", "'{{:+.1f}}'.format({})", "'{{:012,.2f}}'.format({})"],
    "str": ["'{{:>6}}'.format({})", "'{{:*^9}}'.format({})", "'{{:.2}}'.format({})",
        "'%8s|%-8s|' % ({}, 'x')",
            "'{{x[0]}}{{x!r:>5}}'.format(x={} or 'q')", "'%.2s' % {}"],
}
SLICES = ["[1:]", "[:-1]", "[::-1]", "[1:3]", "[::2]", "[-2:]", "[5:1:-1]", "[:0]", "[-5:99:3]"]


class Grammar:
    """Templates drawn from a seeded generator of random numbers."""

    def __init__(self, random):
        self.random = random
        self.loops = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def kind(self):
        return self.random.choices(
            ["int", "float", "bool", "str", "list", "dict", "none", "undefined"],
            [4, 2, 1, 7, 6, 4, 1, 1])[0]

    def atom(self, kind):
        pool = TYPES if self.random.random() < 0.6 else LITERALS
        return self.random.choice(pool[kind])

    def expression(self, kind=None, depth=0):
        kind = kind or self.kind()
        if depth > 3 or self.random.random() < 0.25:
            return self.atom(kind)
        if self.random.random() < 0.01:  # what may not fit
            return self.expression(None, depth + 1) if depth else self.random.choice(STRANGE)
        return getattr(self, "_" + kind)(depth + 1)

    def _int(self, depth):
        def some(kind="int"):
            return self.expression(kind, depth)
        return self.pick(
            lambda: f"({some()} {self.pick('+', '-', '*', '//', '%')} {some()})",
            lambda: f"{some('str')}|length", lambda: f"({some('list')}|length)",
            lambda: f"-{self.atom('int')}", lambda: f"({some('float')})|int",
            lambda: f"({some()} if {self.condition(depth)} else {some()})",
            lambda: f"({some()} ** {self.pick('0', '2', '3')})",
            lambda: f"({some('int')})|{self.random.choice(NUMBER_FILTERS)}")()

    def _float(self, depth):
        def some(kind="float"):
            return self.expression(kind, depth)
        return self.pick(
            lambda: f"({some()} {self.pick('+', '-', '*', '/', '//', '%')} {some('int')})",
            lambda: f"({some('int')} / {some('int')})",
            lambda: f"({some()})|{self.random.choice(NUMBER_FILTERS)}",
            lambda: f"(+{self.atom('float')})")()

    def condition(self, depth):
        def some(kind=None):
            return self.expression(kind, depth + 1)
        return self.pick(
            lambda: f"{some()} is {self.random.choice(TESTS)}",
            lambda: f"{some('int')} {self.pick('<', '<=', '>', '>=', '==', '!=')} {some('int')}",
            lambda: f"{some('str')} {self.pick('in', 'not in')} {some('str')}",
            lambda: f"{some()} in {some('list')}", lambda: f"{some('str')} in {some('dict')}",
            lambda: f"not {self.atom(self.kind())}", lambda: f"({some()} and {some()})",
            lambda: f"({some()} or {some()})", lambda: f"1 < {some('int')} <= 5",
            lambda: f"{some()} == {some()}", lambda: f"{some('str')} < {some('str')}")()

    def _bool(self, depth):
        return f"({self.condition(depth)})"

    def _str(self, depth):
        def some(kind="str"):
            return self.expression(kind, depth)
        return self.pick(
            lambda: f"({some()} + {some()})", lambda: f"({some()} ~ {some(self.kind())})",
            lambda: f"({some()}).{self.random.choice(STRING_METHODS)}",
            lambda: f"({some()})|{self.random.choice(STRING_FILTERS)}",
            lambda: f"({some()}){self.random.choice(SLICES)}",
                lambda: f"({some()} * {self.pick(0, 1, 2, -1)})",
            lambda: self.formatted(depth),
            lambda: f"({some(self.kind())})|{self.random.choice(ANY_FILTERS)}",
            lambda: f"({some('list')})|join({self.atom('str')})",
            lambda: f"({some(self.kind())})|tojson",
            lambda: f"({some()} if {self.condition(depth)})")()

    def formatted(self, depth):
        kind = self.random.choice(list(FORMATS))
        return "(" + self.random.choice(FORMATS[kind]).format(self.expression(kind, depth)) + ")"

    def _list(self, depth):
        def some(kind="list"):
            return self.expression(kind, depth)
        return self.pick(
            lambda: f"[{some(self.kind())}, {some(self.kind())}]", lambda: f"({some()} + {some()})",
            lambda: f"({some()})|{self.random.choice(LIST_FILTERS)}",
                lambda: f"({some('str')}).split()",
            lambda: f"({some()}){self.random.choice(SLICES)}",
            lambda: f"[({some()}).{self.random.choice(LIST_METHODS)}]",
            lambda: f"({self.atom('dict')}).items()|list",
            lambda: f"({some('dict')})|{self.random.choice(DICT_FILTERS)}",
                lambda: f"({some()} * 2)")()

    def _dict(self, depth):
        def some(kind="dict"):
            return self.expression(kind, depth)
        return self.pick(
            lambda: f"{{'a': {some(self.kind())}, {self.atom('str')}: {some(self.kind())}}}",
            lambda: f"({some()}).{self.random.choice(DICT_METHODS)}",
                lambda: f"dict({some()}, z={some(self.kind())})",
            lambda: f"({some()})|{self.random.choice(DICT_FILTERS)}")()

    def _none(self, depth):
        return self.pick("none", "nothing", "table.get('zz')", f"({self.atom('list')}|first)")

    def _undefined(self, depth):
        return self.pick("missing", "table.zz", "list[7]", f"({self.atom('undefined')})|default",
                         "missing.deeper", "''.nosuch")

    def data(self):
        return self.pick("text", " ", "\n", "  ", "\n  ", "a\nb", "", "x ", "{ }", "\t", "\n\n",
            "% }")

    def tag(self, inside):
        return f"{{%{self.pick('', '', '-', '+')} {inside} {self.pick('', '', '-', '+')}%}}"

    def printed(self, expression):
        return f"{{{{{self.pick('', '', '-')} {expression} {self.pick('', '', '-')}}}}}"

    def body(self, depth):
        return "".join(self.data() + self.statement(depth) for _ in range(self.random.randint(1,
            2))) + self.data()

    def statement(self, depth=0):
        if depth > 3:
            return self.printed(self.expression())
        names = ["print"] * 6 + ["comment", "if", "if", "for", "for", "set", "set", "setblock",
            "with", "macro",
                                 "call", "filter", "namespace", "raw", "loop", "recursive", "jump",
                                 "block",
                                 "autoescape", "cycler"]
        return getattr(self, "make_" + self.random.choice(names))(depth + 1)

    def make_print(self, depth):
        return self.printed(self.expression())

    def make_comment(self, depth):
        return f"{{#{self.pick('', '-', '+')} note {self.pick('', '-', '+')}#}}"

    def make_if(self, depth):
        text = self.tag(f"if {self.condition(1)}") + self.body(depth)
        if self.random.random() < 0.4:
            text += self.tag(f"elif {self.expression()}") + self.body(depth)
        if self.random.random() < 0.5:
            text += self.tag("else") + self.body(depth)
        return text + self.tag("endif")

    def make_for(self, depth):
        target, items = self.pick(
            ("i", self.expression("list", 1)), ("k, v", self.pick("table.items()", "pairs",
            "table|items", "table|dictsort")),
            ("c", self.expression("str", 2)), ("person", "people"), ("k", "table"), ("i",
            self.expression(None, 2)))
        condition = f" if {self.condition(2)}" if self.random.random() < 0.25 else ""
        text = self.tag(f"for {target} in {items}{condition}") + self.body(depth)
        if self.random.random() < 0.6:
            name = target.split(",")[0]
            text += self.printed(self.pick(
                name, "loop.index", "loop.index0", "loop.revindex", "loop.revindex0", "loop.first",
                "loop.last",
                "loop.length", "loop.cycle('a', 'b')", f"loop.changed({name})", "loop.previtem",
                "loop.nextitem",
                "loop.depth", "loop.previtem is defined", "loop", f"{name}|tojson", f"{name}.name"))
        if self.random.random() < 0.3:
            text += self.tag("else") + self.data()
        return text + self.tag("endfor")

    def make_set(self, depth):
        name = self.pick("s", "t", "u", "a, b", "z")
        value = "1, 2" if "," in name else self.expression()
        return self.tag(f"set {name} = {value}") + self.printed(name.split(",")[0])

    def make_setblock(self, depth):
        chosen = self.pick("", " | upper", " | trim | length", " | replace('e', 'E')")
        return (self.tag(f"set s{chosen}") + self.body(depth) + self.tag("endset")
                + self.printed("s"))

    def make_with(self, depth):
        return (self.tag(f"with a = {self.expression()}, n = {self.expression('int')}")
                + self.printed("a") + self.body(depth) + self.tag("endwith"))

    def make_macro(self, depth):
        signature, call = self.pick(
            ("m(a, b=2)", "m(1)"), ("m(a, b=2)", "m(b='x', a=[1])"), ("m(a='x', b=a)", "m()"),
                ("m(a)", "m()"),
            ("m(a='x', b=a)", "m('q')"), ("m(a)", "m(*[1])"), ("m(a, b)", "m(**{'a': 5})"),
                ("m(a)", "m.name"),
            ("m(a, b)", "m.arguments"), ("m()", "m"), ("m(a)", "m(1, 2)"), ("m(a)", "m(q=1)"))
        extra = self.pick("", "", "{{ varargs }}", "{{ kwargs|dictsort }}",
        "{{ caller() if caller }}")
        if "varargs" in extra:
            call = self.pick("m(1, 2, 3, 4)", "m()")
        if "kwargs" in extra:
            call = self.pick("m(1, q=2, r='x')", "m(a=1)" if "a" in signature else "m(z=none)")
        return (self.tag(f"macro {signature}") + "{{ a }}-{{ b }}" + extra + self.body(depth)
            + self.tag("endmacro")
                + self.printed(call))

    def make_call(self, depth):
        return ("{% macro w(t) %}<{{ t }}>{{ caller(1) }}{{ caller('q') }}</>{% endmacro %}"
                + self.tag(f"call(z) w({self.expression('str')})") + "{{ z }}" + self.body(depth)
                + self.tag("endcall"))

    def make_filter(self, depth):
        name = self.pick("upper", "trim", "indent(2)", "replace('a', 'b')", "title", "length", "e",
        "reverse|upper")
        return self.tag(f"filter {name}") + self.body(depth) + self.tag("endfilter")

    def make_namespace(self, depth):
        return ("{% set ns = namespace(c=0, t='') %}"
            + self.tag(f"for i in {self.pick('list', 'words', 'mixed')}")
                + "{% set ns.c = ns.c + 1 %}{% set ns.t = ns.t ~ i %}" + self.tag("endfor")
                + self.printed(self.pick("ns.c", "ns.t", "ns.zz", "ns['c']", "ns.c ~ ns.t")))

    def make_raw(self, depth):
        def sign():
            return self.pick("", "-")
        return (f"{{%{sign()} raw {sign()}%}}{{{{ raw }}}} {{% x %}}"
                f"{{%{sign()} endraw {sign()}%}}")

    def make_loop(self, depth):
        return (self.tag("for a in nested") + self.tag("for b in a") + "{{ loop.index }}{{ b }}"
            + self.body(depth)
                + self.tag("endfor") + "{{ loop.last }}" + self.tag("endfor"))

    def make_recursive(self, depth):
        return ("{% for i in [[1, [2]], [3], 4] recursive %}{{ loop.depth }}"
                "{% if i is sequence %}({{ loop(i) }})"
                "{% else %}{{ i }}{% endif %}" + self.pick("", "{{ loop.first }}",
                "{{ loop.index }}") + "{% endfor %}")

    def make_jump(self, depth):
        return ("{% for i in range(5) %}" + self.tag(f"if i == {self.random.randint(0, 5)}")
                + self.pick("{% break %}", "{% continue %}") + self.tag("endif") + "{{ i }}"
                + self.data() + "{% endfor %}")

    def make_block(self, depth):
        self.loops += 1
        return (self.tag(f"block b{self.loops}{self.pick('', ' scoped')}") + self.body(depth)
            + self.tag("endblock")
                + self.pick("", "", f"{{{{ self.b{self.loops}() }}}}"))

    def make_autoescape(self, depth):
        return (self.tag(f"autoescape {self.pick('true', 'false')}") + self.printed("html")
            + self.body(depth)
                + self.printed(self.pick("html|e", "html|safe", "html ~ '<'",
                "[html, '<'|safe]|join('&')", "html|replace('<', '>')",
                                         "'<%s>'|safe % html", "('<i>'|safe) + html",
                                         "html|tojson"))
                + self.tag("endautoescape"))

    def make_cycler(self, depth):
        return ("{% set c = cycler('a', 'b') %}{% set j = joiner('|') %}"
            + self.tag("for i in list")
                + "{{ j() }}{{ c.next() }}{{ c.current }}" + self.tag("endfor"))

    def template(self):
        self.loops = 0
        parts = [self.data() + self.statement() for _ in range(self.random.randint(1, 2))]
        return "".join(parts) + self.data()
