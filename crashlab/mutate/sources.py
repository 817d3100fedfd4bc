"""Finds what can be broken in a C++ file of a room, and writes the file that can be broken so.

A small tokenizer and a parser that knows statements and nothing else: enough to find calls that
stand as statements of their own, and which statement follows which in a block. Conditions are
logic.py's.
"""

import re
from dataclasses import dataclass, field

import logic

TOKEN = re.compile(
    r"""
      (?P<skip>\s+ | //[^\n]* | /\*.*?\*/ | ^[ \t]*\#(?:[^\n\\]|\\.)*)
    | (?P<string>R"\((?:.|\n)*?\)" | "(?:[^"\\\n]|\\.)*")
    | (?P<number>\d(?:[\w.]|'\w)*)
    | (?P<char>'(?:[^'\\\n]|\\.)*')
    | (?P<name>[A-Za-z_]\w*)
    | (?P<sign>::|->|==|!=|<=|>=|\+\+|--|&&|\|\||<<|[-+*/%&|^]=|.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)

OPENING = {"(": ")", "[": "]", "{": "}"}


@dataclass
class Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass
class Mutant:
    kind: str
    file: str
    line: int
    function: str
    text: str
    number: int = 0

    def key(self):
        return (self.file, self.function, self.kind, self.text)


def tell_apart(mutants):
    """Same text twice in one function: the text of each says which of them it is."""
    same = {}
    for m in mutants:
        same.setdefault(m.key(), []).append(m)
    for group in same.values():
        for place, m in enumerate(group if len(group) > 1 else [], 1):
            m.text += f" #{place}"


@dataclass
class Store:
    """A statement whose order matters: a store, or a loop of stores and of nothing else."""

    first: int  # token numbers
    last: int
    text: str
    function: str
    line: int
    is_loop: bool = False
    branches: list = field(default_factory=list)  # (mutant, code) of the statement itself


@dataclass
class Call:
    """Any other statement that is a call."""

    first: int
    last: int
    text: str
    function: str
    line: int
    name: str = ""
    branches: list = field(default_factory=list)

    def is_same_with(self, other):
        """Does it not matter which of both comes first?"""
        return isinstance(other, Call) and self.name == other.name and self.name in logic.EITHER_WAY


# Statements that are calls of these names are dropped. Rooms name their own in mutation.txt.
FLUSHES = {"flush", "flush_line", "flush_lines", "stream"}

# What a call is when it is dropped that gives back a result<void> here, nothing there.
DONE = "::hf::done<decltype({})>()"

# Calls inside of expressions: name, what must stand before it, its value when it is dropped, kind.
EXPRESSIONS = [
    ("append", r"log\(\)\.$", "::hf::result<void>{}", "drop log write"),
    ("log_nodes", r"", "::hf::result<void>{}", "drop log write"),
    ("log_nodes", r"adapter_\.$", "::hf::result<void>{}", "drop log write"),
    ("log_leaf", r"", "::hf::result<void>{}", "drop log write"),
    ("before_value_change", r"adapter_\.$", "::hf::result<void>{}", "drop log write"),
    ("before_removal", r"adapter_\.$", "::hf::result<void>{}", "drop log write"),
    ("log_value", r"", "true", "drop log write"),
    ("begin", r"frontier\.$", "true", "drop log write"),
    ("sync", r"(detail::|\w+\.)?$", "::hf::result<void>{}", "drop sync"),
    ("write_header", r"", DONE, "drop header write"),
    ("fsync", r"::$", "0", "drop sync"),
]

# What is stored to in vain, whatever the room: rooms name theirs in mutation.txt.
VOLATILE = [
    (r"^(w\.store|masstree_detail::store)\(", "store() itself: its callers are mutated"),
    (r"^store\(w, value\)", "publish() itself: its callers are mutated"),
    (r"memory_order_relaxed\)$", "relaxed already: transient disciplines and counters"),
]


# Bugs that are compiled in for the tests of the tests only: nobody is asked about them.
SEEDED = re.compile(r"^#if defined\(HF_MUTATION.*?^#(?:endif|else)", re.MULTILINE | re.DOTALL)


def tokens_of(source):
    source = SEEDED.sub(lambda bug: re.sub(r"[^\n]", " ", bug.group()), source)
    found = []
    at = 0
    while at < len(source):
        m = TOKEN.match(source, at)
        if m.lastgroup != "skip":
            found.append(Token(m.lastgroup, m.group(), m.start(), m.end()))
        at = m.end()
    return found


class File:
    def __init__(self, name, source, room):
        self.name = name
        self.room = room
        self.source = source
        self.tokens = tokens_of(source)
        self.mutants = []
        self.skipped = []
        # (start, end, mutants, prefix, suffix): prefix and suffix go around what is there.
        self.edits = []
        self.ranges = []  # bodies of outermost functions: first and last token, name
        self.expressions = []
        self.functions = []
        self.pair = self.match_brackets()

    def match_brackets(self):
        pair, open_ones = {}, []
        for i, t in enumerate(self.tokens):
            if t.text in OPENING and t.kind == "sign":
                open_ones.append(i)
            elif t.text in OPENING.values() and t.kind == "sign":
                j = open_ones.pop()
                if OPENING[self.tokens[j].text] != t.text:
                    raise ValueError(f"{self.name}:{self.line(t.start)}: unmatched {t.text}")
                pair[i], pair[j] = j, i
        return pair

    def line(self, offset):
        return self.source.count("\n", 0, offset) + 1

    def text(self, first, last):
        """The tokens from first to last as they stand, without comments, on one line."""
        out = ""
        for i in range(first, last + 1):
            t = self.tokens[i]
            if i > first and self.tokens[i - 1].end != t.start:
                out += " "
            out += t.text
        return out.replace("( ", "(")

    def is_at(self, i, text):
        return i < len(self.tokens) and self.tokens[i].text == text

    # ------------------------------------------------------------------ statements

    def parse(self):
        i = 0
        while i < len(self.tokens):
            i = self.block(i) + 1
        logic.Logic(self, self.room).run()

    def block(self, i):
        """Statements up to the closing brace; returns its number."""
        units = []
        while i < len(self.tokens) and not self.is_at(i, "}"):
            i, unit = self.statement(i)
            units.append(unit)
        self.swap_neighbours(units)
        return i

    def statement(self, i):
        """Returns the number behind it, and the Store that it is, None, or "transparent"."""
        t = self.tokens[i].text
        if t == "{":
            return self.block(i + 1) + 1, None
        if t in ("if", "for", "while", "switch"):
            first = i
            i += 2 if self.is_at(i + 1, "constexpr") else 1
            self.look_inside(i + 1, self.pair[i])
            i = self.pair[i] + 1
            braced = self.is_at(i, "{")
            if t == "for" and braced:
                inside = []
                k = i + 1
                while not self.is_at(k, "}"):
                    k, unit = self.statement(k)
                    inside.append(unit)
                self.swap_neighbours(inside)
                i, unit = k + 1, inside[0] if len(inside) == 1 else None
            else:
                i, unit = self.statement(i)
            if t == "if" and self.is_at(i, "else"):
                i, _ = self.statement(i + 1)
            if t == "for" and isinstance(unit, Store):
                text = self.text(first, i - 1)
                return i, Store(first, i - 1, text, unit.function,
                                self.line(self.tokens[first].start), True)
            return i, None
        if t == "do":
            i, _ = self.statement(i + 1)
            return i, None
        if t in ("case", "default"):
            while not self.is_at(i, ":"):
                i += 1
            return i + 1, None
        return self.plain(i)

    def plain(self, i):
        first = i
        while i < len(self.tokens):
            t = self.tokens[i].text
            if t == ";":
                self.look_inside(first, i)
                unit = self.expression_statement(first, i)
                self.leave_out(first, i, unit)
                return i + 1, unit
            if t == "}":
                return i, None
            if t == "{":
                end = self.body(first, i)
                if not (end + 1 < len(self.tokens)
                        and self.tokens[end + 1].text in (";", ",", ")", ".", "(", "{", "?", ":")):
                    return end + 1, None
                i = end + 1
            elif t in ("(", "["):
                self.bodies_inside(first, i)
                i = self.pair[i] + 1
            else:
                i += 1
        return i, None

    def bodies_inside(self, first, i):
        end = self.pair[i]
        i += 1
        while i < end:
            if self.tokens[i].text == "{":
                i = self.body(first, i)
            i += 1

    def body(self, first, i):
        """What lies in braces: a function's body, a lambda's, a class, a list of initializers."""
        name = None
        depth_end = i
        for k in range(first, i):
            if self.tokens[k].text == "operator":
                name = "operator"
                break
            if k + 1 <= depth_end and self.tokens[k].kind == "name" and self.is_at(k + 1, "("):
                name = self.tokens[k].text
                break
        is_type = self.tokens[first].text in ("namespace", "struct", "class", "enum", "extern",
                                              "union") or (
            self.tokens[first].text == "template"
            and any(self.is_at(k, w) for k in range(first, i) for w in ("struct", "class"))
            and name is None)
        if name is not None and not is_type:
            self.functions.append(name)
            if len(self.functions) == 1:
                self.ranges.append((i, self.pair[i], name))
            end = self.block(i + 1)
            self.functions.pop()
            return end
        return self.block(i + 1)

    # ------------------------------------------------------------------ what can be broken

    def add(self, kind, first, text):
        m = Mutant(kind, self.name, self.line(self.tokens[first].start),
                   self.functions[0] if self.functions else "", text)
        self.mutants.append(m)
        return m

    def seeded(self, name, offset):
        """A bug of seeded.txt at this place."""
        at = next(i for i, t in enumerate(self.tokens) if t.start >= offset)
        inside = [name for first, last, name in self.ranges if first <= at <= last]
        m = Mutant("seeded bug", self.name, self.line(offset), inside[0] if inside else "", name)
        self.mutants.append(m)
        return m

    def look_inside(self, first, end):
        """Calls inside of expressions."""
        if not self.functions:
            return
        for i in range(first, end):
            for name, before, value, kind in EXPRESSIONS:
                if self.tokens[i].text != name or not self.is_at(i + 1, "("):
                    continue
                begin = self.begin_of_callee(i)
                if not re.search(before + "$" if before else "", self.text(begin, i - 1)
                                 if begin < i else ""):
                    continue
                if before == "" and begin != i:
                    continue
                last = self.pair[i + 1]
                if any(e[0] == begin for e in self.expressions):
                    continue
                self.expressions.append((begin, last))
                m = self.add(kind, begin, self.text(begin, last))
                value = value.replace("{}", m.text, 1) if value == DONE else value
                self.edit(self.tokens[begin].start, self.tokens[last].end, [m],
                          lambda m=m, value=value: f"(::hf::is_mutant({m.number}) ? {value} : ",
                          lambda: ")")

    def begin_of_callee(self, i):
        while i > 0:
            t = self.tokens[i - 1].text
            if t in (".", "->"):
                i -= 2
                while self.tokens[i].text in (")", "]"):
                    i = self.pair[i] - 1
            elif t == "::":
                if i >= 2 and self.tokens[i - 2].kind == "name" and \
                        self.tokens[i - 2].text not in ("return", "else"):
                    i -= 2
                else:
                    i -= 1
            else:
                return i
        return i

    def expression_statement(self, first, semicolon):
        last = semicolon - 1
        if last <= first or not self.functions or self.tokens[last].text != ")":
            return None
        opening = self.pair[last]
        name = self.tokens[opening - 1].text
        if first <= opening - 1 and name == "HF_PERSIST_POINT":
            return "transparent"
        # One postfix expression and nothing else.
        if opening - 1 < first or self.begin_of_callee(opening - 1) != first:
            return None
        text = self.text(first, last)
        receiver = self.text(first, opening - 2) if opening - 2 >= first else ""
        arguments = self.text(opening + 1, last - 1) if opening + 1 <= last - 1 else ""
        if name in FLUSHES and receiver:
            return self.replace(first, last, [("drop flush", "")])
        if (name == "fence" and receiver) or receiver + name in self.room.fences:
            return self.replace(first, last, [("drop fence", "")])
        if name == "persist" and receiver:
            return self.replace(first, last, [
                ("drop flush and fence", ""),
                ("drop fence", f"{receiver}flush({arguments});"),
                ("drop flush", f"{receiver}fence();")])
        if name in self.room.notes:
            return self.replace(first, last, [("drop note", "")])
        if name in self.room.logs or (name == "begin" and receiver.endswith("lists.")):
            return self.replace(first, last, [("drop log write", "")])
        if name.startswith("mark_") or name in self.room.marks:
            return self.replace(first, last, [("drop mark", "")])
        if name == "write" and self.name.startswith("src/region/"):
            return self.store(first, last, [("drop store", "")])
        # By an adapter: publish(op, word, value). Others: published::store() is weakened, for all.
        if name == "publish" and not arguments.startswith("op, "):
            return self.store(first, last, [("drop store", "")])
        if name == "publish":
            weak = re.sub(r"^op, ", "::hf::weak_store(", arguments) + ");"
            return self.store(first, last, [("drop store", ""), ("weaken store", weak)])
        if name not in ("store", "ordered_store"):
            return self.call(first, last, name)
        for pattern, why in VOLATILE + self.room.volatile:
            if re.search(pattern, text):
                self.skipped.append((self.line(self.tokens[first].start), text, why))
                return self.call(first, last, name)
        weak = None
        if receiver == "":
            weak = f"::hf::weak_store({arguments});"
        elif receiver.endswith("."):
            weak = re.sub(r"std::memory_order_release\)$", "std::memory_order_relaxed);", text)
            if self.name.startswith("src/index/") and "memory_order" not in text:
                return self.store(first, last, [("drop store", "")])  # eager/published.hpp
            if weak == text:
                return None
        if weak is None:
            return None
        return self.store(first, last, [("drop store", ""), ("weaken store", weak)])

    def leave_out(self, first, semicolon, unit):
        """What is no matter of persistence."""
        if not self.functions or self.functions[0] in logic.CHECKS or isinstance(unit, Store) or \
                (isinstance(unit, Call) and unit.branches):
            return
        kind = logic.left_out(self, first, semicolon)
        if kind is None:
            return
        branches = self.branches(first, self.text(first, semicolon - 1), [(kind, "")])
        self.wrap(first, semicolon, branches)
        if isinstance(unit, Call):
            unit.branches = branches

    def branches(self, first, text, ways):
        return [(self.add(kind, first, text), code) for kind, code in ways]

    def replace(self, first, last, ways):
        text = self.text(first, last)
        c = self.call(first, last, "")
        c.branches = self.branches(first, text, ways)
        self.wrap(first, last + 1, c.branches)
        return c

    def call(self, first, last, name):
        if name in logic.CONTAINERS or name.startswith(("HF_", "assert_")):
            return None
        return Call(first, last + 1, self.text(first, last), self.functions[0],
                    self.line(self.tokens[first].start), name)

    def store(self, first, last, ways):
        text = self.text(first, last)
        s = Store(first, last + 1, text, self.functions[0], self.line(self.tokens[first].start))
        s.branches = self.branches(first, text, ways)
        self.wrap(s.first, s.last, s.branches)
        return s

    def wrap(self, first, last, branches):
        """The list may still grow: neighbours add themselves."""

        def prefix():
            out = "{ "
            for m, code in branches:
                if m.number not in self.left_out:
                    out += f"if (::hf::is_mutant({m.number})) {{ {code} }} else "
            return out + "{ "

        self.edit(self.tokens[first].start, self.tokens[last].end, lambda: [m for m, _ in branches],
                  prefix, lambda: " } }")

    def edit(self, start, end, mutants, prefix, suffix):
        """`mutants`: without all of these it is not made. A list, or what gives one at the end."""
        self.edits.append((start, end, mutants if callable(mutants) else lambda: mutants, prefix,
                           suffix))

    def swap_neighbours(self, units):
        units = [u for u in units if u != "transparent"]
        for one, two in zip(units, units[1:]):
            if one is None or two is None or one.text == two.text:
                continue
            is_stores = isinstance(one, Store) and isinstance(two, Store)
            if isinstance(one, Call) and one.is_same_with(two):
                continue
            kind = "swap stores" if is_stores else "swap calls"
            m = Mutant(kind, self.name, one.line, one.function,
                       f"{one.text.rstrip(';')}; {two.text.rstrip(';')}")
            self.mutants.append(m)
            for here, other in ((one, two), (two, one)):
                if not here.branches:
                    here.branches = [(m, self.code(other))]
                    self.wrap(here.first, here.last, here.branches)
                else:
                    here.branches.append((m, self.code(other)))

    def code(self, s):
        """As a statement; loops end with their brace or semicolon."""
        return s.text if isinstance(s, Store) and s.is_loop else s.text + ";"

    def mutated(self, left_out=frozenset()):
        """`left_out`: numbers of mutants that are not to be in it."""
        self.left_out = left_out
        out = self.source
        # Inner ones first: an edit that begins later, or at the same place and ends earlier.
        places = []
        for order, (start, end, mutants, prefix, suffix) in enumerate(self.edits):
            if all(m.number in left_out for m in mutants()):
                continue
            places.append((start, 0, -end, order, prefix()))
            places.append((end, -1, -start, -order, suffix()))
        places.sort(key=lambda p: p[:4])
        result, at = [], 0
        for offset, _, _, _, text in places:
            result.append(out[at:offset])
            result.append(text)
            at = offset
        result.append(out[at:])
        return "".join(result)
