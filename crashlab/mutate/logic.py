"""What can be broken in conditions and calls: the kinds of mistakes that tests must notice.

    drop conjunct      a && b without one of both; likewise ||
    negate comparison  == for !=, and the other way round
    off by one         < for <=, > for >=, and the other way round
    drop one           x + 1 without the 1; likewise x - 1
    drop guard         if (c) return; without effect. Not those that hand an error on
    drop validation    what says "it has changed" says that it has not
    drop mark          nobody is told of a change
    swap calls         two calls that stand one behind the other change places
    drop call          a call whose answer nobody takes is not made
    drop assignment    a variable keeps what it had
    wrong answer       return true for return false, and the other way round
    wrong error        errc::usage for any other code; for that, errc::corrupt

Only what lies in a function's body, and only operators that stand between spaces: so the formatter
tells `a && b` from `T&& b` and `a < b` from `f<b>`.
"""

import re

KINDS = ["drop conjunct", "negate comparison", "off by one", "drop one", "drop guard",
         "drop validation", "drop mark", "swap calls", "drop call", "drop assignment",
         "wrong answer", "wrong error"]

# Programmers' errors and what the compiler decides.
CHECKS = {"HF_CHECK", "HF_ASSERT", "assert", "static_assert", "decltype", "sizeof", "noexcept",
          "alignas", "requires", "HF_PERSIST_POINT"}
STOP_WORDS = {"return", "co_return", "throw", "else", "do", "case", "new", "delete"}
JUMPS = {"return", "continue", "break"}
ERRORS = re.compile(r"failure\(|unexpected|\.error\(\)|HF_CHECK|throw |std::abort|"
                    r"!(\w+)\) (?:\{ )?return \1$")
# Exchanged with a neighbour, they do the same.
CONTAINERS = {"push_back", "emplace_back", "reserve", "resize", "clear", "append", "insert",
              "static_cast", "static_assert", "mark_incomplete", "__builtin_prefetch"}
# Two of the same name do the same either way: lines of a report, copies, locks given back.
EITHER_WAY = {"line", "cut", "memcpy", "unlock"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="}
LOOSER = {  # what ends an operand, besides brackets, commas and semicolons
    "&&": {"&&", "||", "?", ":"} | ASSIGNMENTS,
    "||": {"||", "?", ":"} | ASSIGNMENTS,
    "==": {"&&", "||", "?", ":", "==", "!=", "&", "|", "^"} | ASSIGNMENTS,
    "<": {"&&", "||", "?", ":", "==", "!=", "<", ">", "<=", ">=", "&", "|", "^"} | ASSIGNMENTS,
}
# Without them nothing is different but warnings and time.
NOTHING = {"static_cast", "static_assert", "reserve", "shrink_to_fit", "__builtin_prefetch",
           "cpu_relax", "yield", "sleep_for"}
TOGGLED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


def left_out(file, first, semicolon):
    """The kind of a statement that can be left out without being missed by the compiler; None: it
    is no call and no assignment."""
    if file.is_at(first, "++") or file.is_at(first, "--"):
        return "drop assignment"
    start = first + 1 if file.is_at(first, "*") else first
    if file.tokens[start].kind != "name":
        return None
    for i in range(first + 1, semicolon):
        text = file.tokens[i].text
        if text in ASSIGNMENTS or (text in ("++", "--") and i == semicolon - 1):
            return "drop assignment" if is_one_place(file, start, i - 1) else None
        if text in ("(", "{"):
            break
    last = semicolon - 1
    if last <= first or file.tokens[last].text != ")":
        return None
    name = file.pair[last] - 1
    is_call = name >= first and file.begin_of_callee(name) == first
    text = file.tokens[name].text
    is_one = is_call and text not in NOTHING | CHECKS and not text.startswith(("HF_", "assert_"))
    return "drop call" if is_one else None


def is_one_place(file, first, last):
    """a.b[c] and the like, not a declaration."""
    while last > first and file.tokens[last].text == "]":
        last = file.pair[last] - 1
    return last >= first and file.begin_of_callee(last) == first


class Logic:
    """Adds its mutants to a sources.File that has been parsed."""

    def __init__(self, file, room):
        self.f, self.room = file, room
        self.tokens = file.tokens
        self.taken = set()

    def run(self):
        for first, last, function in self.f.ranges:
            if function in CHECKS:  # a lambda that the compiler runs
                continue
            self.function = function
            i = first
            while i < last:
                i = self.token(i)

    def token(self, i):
        t = self.tokens[i]
        if t.text in CHECKS and self.f.is_at(i + 1, "("):
            return self.f.pair[i + 1] + 1
        if t.text in ("constexpr", "using", "template"):
            return self.end_of_statement(i)
        if t.text == "if" and self.f.is_at(i + 1, "("):
            self.guard(i + 1)
        if t.kind == "name" and t.text in self.room.validations and self.f.is_at(i + 1, "("):
            self.validation(i)
        if t.text == "return" and self.tokens[i + 1].text in ("true", "false") and \
                self.f.is_at(i + 2, ";"):
            m = self.add("wrong answer", i, i + 1)
            self.wrap(i + 1, i + 1, m, "(::hf::is_mutant(@) != ", ")")
        if t.text == "errc" and self.f.is_at(i + 1, "::"):
            self.error(i)
        if t.kind == "sign" and self.is_binary(i):
            self.operator(i)
        return i + 1

    def error(self, i):
        if self.tokens[i - 1].text not in ("{", "(", "=", "?", ":"):
            return  # what a code is compared with, or a case
        other = "corrupt" if self.f.is_at(i + 2, "usage") else "usage"
        m = self.add("wrong error", i, i + 2, self.f.text(i, i + 4))
        self.wrap(i, i + 2, m, f"(::hf::is_mutant(@) ? errc::{other} : ", ")")

    def end_of_statement(self, i):
        while i < len(self.tokens) and self.tokens[i].text not in (";", "{"):
            i = self.f.pair[i] if self.tokens[i].text in ("(", "[") else i
            i += 1
        return i

    def spaced(self, i):
        """Between white space on both sides."""
        return (self.tokens[i - 1].end != self.tokens[i].start
                and self.tokens[i + 1].start != self.tokens[i].end)

    def is_binary(self, i):
        return (self.spaced(i) and self.tokens[i - 1].text not in ("operator", "...", ".", "(")
                and self.tokens[i + 1].text not in (".", ")"))

    # ------------------------------------------------------------------ operands

    def opens_template(self, i):
        """Number of the > that ends the arguments, for a < without space before it."""
        if self.tokens[i].text != "<" or self.tokens[i - 1].end != self.tokens[i].start:
            return None
        depth = 0
        for k in range(i, min(i + 60, len(self.tokens))):
            if self.tokens[k].text == "<":
                depth += 1
            elif self.tokens[k].text == ">":
                depth -= 1
                if depth == 0:
                    return k
            elif self.tokens[k].text in (";", "{", "&&"):
                return None
        return None

    def closes_template(self, i):
        if self.tokens[i].text != ">" or self.tokens[i - 1].end != self.tokens[i].start:
            return None
        depth = 0
        for k in range(i, max(i - 60, 0), -1):
            if self.tokens[k].text == ">":
                depth += 1
            elif self.tokens[k].text == "<":
                depth -= 1
                if depth == 0:
                    return k
            elif self.tokens[k].text in (";", "}"):
                return None
        return None

    def ends_operand(self, i, stops):
        t = self.tokens[i]
        if t.text in (",", ";", "(", ")", "[", "]", "{", "}") or t.text in STOP_WORDS:
            return True
        if t.text not in stops:
            return False
        # & and * stand before an operand, too.
        return t.text not in ("&", "|", "^", "<", ">") or self.spaced(i)

    def left_of(self, i, stops):
        k = i - 1
        while True:
            if self.tokens[k].text in (")", "]", "}"):
                k = self.f.pair[k]
            elif self.closes_template(k) is not None:
                k = self.closes_template(k)
            elif self.ends_operand(k, stops):
                return k + 1
            k -= 1

    def right_of(self, i, stops):
        k = i + 1
        while True:
            if self.tokens[k].text in ("(", "[", "{"):
                k = self.f.pair[k]
            elif self.opens_template(k) is not None:
                k = self.opens_template(k)
            elif self.ends_operand(k, stops):
                return k - 1
            k += 1

    # ------------------------------------------------------------------ kinds

    def add(self, kind, first, last, text=None):
        self.f.functions.append(self.function)
        m = self.f.add(kind, first, text or self.f.text(first, last))
        self.f.functions.pop()
        return m

    def wrap(self, first, last, m, before, after):
        self.f.edit(self.tokens[first].start, self.tokens[last].end, [m],
                    lambda: before.replace("@", str(m.number)), lambda: after)

    def operator(self, i):
        sign = self.tokens[i].text
        if sign in ("&&", "||"):
            stops = LOOSER[sign]
            left, right = self.left_of(i, stops), self.right_of(i, stops)
            # Of a chain each operand once.
            if self.tokens[left - 1].text != sign:
                self.conjunct(sign, left, i - 1)
            self.conjunct(sign, i + 1, right)
        elif sign in ("==", "!="):
            first, last = self.left_of(i, LOOSER["=="]), self.right_of(i, LOOSER["=="])
            m = self.add("negate comparison", first, last)
            self.wrap(first, last, m, "(::hf::is_mutant(@) != (", "))")
        elif sign in TOGGLED and not self.f.is_at(i + 1, ">"):
            first, last = self.left_of(i, LOOSER["<"]), self.right_of(i, LOOSER["<"])
            m = self.add("off by one", first, last)
            other = f"{self.f.text(first, i - 1)} {TOGGLED[sign]} {self.f.text(i + 1, last)}"
            self.wrap(first, last, m, f"(::hf::is_mutant(@) ? ({other}) : (", "))")
        elif sign in ("+", "-") and self.tokens[i + 1].text in ("1", "1U") and \
                self.tokens[i + 2].text not in ("*", "/", "%", "."):
            m = self.add("drop one", i - 1, i + 1)
            self.wrap(i + 1, i + 1, m, "(::hf::is_mutant(@) ? 0 : ", ")")

    def conjunct(self, sign, first, last):
        if first > last or self.tokens[first].text == "...":
            return
        text = f"{self.f.text(first, last)} in a chain of {sign}"
        m = self.add("drop conjunct", first, last, text)
        before = "(::hf::is_mutant(@) || (" if sign == "&&" else "(!::hf::is_mutant(@) && ("
        self.wrap(first, last, m, before, "))")

    def guard(self, opening):
        closing = self.f.pair[opening]
        body = closing + 1
        if self.f.is_at(body, "["):  # [[likely]]
            body = self.f.pair[body] + 1
        first = body + 1 if self.f.is_at(body, "{") else body
        if self.tokens[first].text not in JUMPS:
            return
        end = first
        while not self.f.is_at(end, ";"):
            end = (self.f.pair[end] if self.tokens[end].text in ("(", "[", "{") else end) + 1
        behind = end + 1
        if first != body:
            if not self.f.is_at(behind, "}"):
                return
            behind += 1
        condition = opening + 1
        for k in range(opening + 1, closing):
            if self.tokens[k].text == ";":
                condition = k + 1
        text = self.f.text(condition, end - 1)
        depth = 0
        for k in range(condition, closing):
            depth += {"(": 1, ")": -1, "{": 1, "}": -1}.get(self.tokens[k].text, 0)
            if depth == 0 and self.tokens[k].text in ASSIGNMENTS:
                return
        if self.f.is_at(behind, "else") or ERRORS.search(text):
            return
        m = self.add("drop guard", condition, closing - 1, text)
        self.wrap(condition, closing - 1, m, "!::hf::is_mutant(@) && (", ")")

    def validation(self, i):
        begin = self.f.begin_of_callee(i)
        last = self.f.pair[i + 1]
        if begin in self.taken or self.tokens[begin - 1].text in ("bool", ">"):
            return  # its own declaration
        self.taken.add(begin)
        m = self.add("drop validation", begin, last)
        self.wrap(begin, last, m, "(::hf::is_mutant(@) ? false : bool(", "))")
