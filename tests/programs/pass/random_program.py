"""Random C programs that store to a region in many ways.

A program has a few structures in the arena and their likes on the stack and in globals, and some
functions that change what they are given: fields of all widths, array elements, blocks, atomics,
vectors, bit fields, strings, loops. It prints a checksum over all fields, which does not depend on
how it is compiled: all arithmetic is unsigned, floating-point numbers are small integers, and no
padding is read.
"""

import os
import random

FIELDS = (
    ("unsigned char", "c"), ("unsigned short", "s"), ("unsigned", "i"), ("unsigned long", "l"),
    ("float", "f"), ("double", "d"), ("unsigned __int128", "w"),
)
ARRAYS = (("unsigned char", "text", 48), ("unsigned", "ints", 24), ("double", "reals", 12),
          ("unsigned short", "shorts", 32))

HEAD = """#include "pass/recorder.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned v4 __attribute__((vector_size(16), aligned(4)));

"""

CHECKSUM = """
static uint64_t sum = 1469598103934665603u;

static void add(uint64_t value) { sum = (sum ^ value) * 1099511628211u; }
"""


def count():
    """How many programs one test tries: more with a larger HF_EFFORT."""
    return max(1, int(6 * float(os.environ.get("HF_EFFORT", "1"))))


class Generator:
    """Writes one program."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.fields = []
        for number in range(self.random.randint(4, 10)):
            type_name, letter = self.random.choice(FIELDS)
            self.fields.append((type_name, f"{letter}{number}"))
        self.arrays = self.random.sample(ARRAYS, self.random.randint(2, 4))

    def choice(self, *options):
        return self.random.choice(options)

    def structure(self):
        lines = [f"    {type_name} {name};" for type_name, name in self.fields]
        lines += [f"    {type_name} {name}[{n}];" for type_name, name, n in self.arrays]
        lines += ["    unsigned low : 7, high : 12;", "    struct object* next;"]
        self.random.shuffle(lines)
        return "struct object {\n" + "\n".join(lines) + "\n};\n"

    def checksum(self):
        lines = [f"    add((uint64_t)p->{name});" for _, name in self.fields]
        for _, name, n in self.arrays:
            lines.append(f"    for (int i = 0; i < {n}; ++i) add((uint64_t)p->{name}[i]);")
        lines.append("    add(p->low + p->high * 128u);")
        return "static void add_object(const struct object* p) {\n" + "\n".join(lines) + "\n}\n"

    def scalar(self, pointer):
        type_name, name = self.random.choice(self.fields)
        value = self.random.randint(0, 200)
        if type_name in ("float", "double"):
            return f"{pointer}->{name} = {value};"
        operator = self.choice("=", "+=", "^=", "|=", "*=")
        return f"{pointer}->{name} {operator} ({type_name})(n + {value});"

    def element(self, pointer):
        type_name, name, n = self.random.choice(self.arrays)
        index = self.choice(str(self.random.randrange(n)),
                            f"(n + {self.random.randint(0, 9)}u) % {n}u")
        value = "(n & 63)" if type_name == "double" else "n * 7u"
        return f"{pointer}->{name}[{index}] = ({type_name}){value};"

    def block(self, pointer):
        type_name, name, n = self.random.choice(self.arrays)
        begin = self.random.randrange(n - 2)
        length = self.random.randint(0, n - begin)
        size = self.choice(f"{length} * sizeof({type_name})",
                           f"(n % {n - begin + 1}u) * sizeof({type_name})")
        target = f"{pointer}->{name} + {begin}"
        if type_name == "double":
            return f"memset({target}, 0, {size});"
        return self.choice(f"memset({target}, (int)(n & 255), {size});",
                           f"memmove({target}, {pointer}->{name}, {size});",
                           f"memcpy({target}, zeros, {size});")

    def loop(self, pointer):
        type_name, name, n = self.random.choice(self.arrays)
        step = self.random.randint(1, 3)
        value = "i" if type_name == "double" else self.choice("i * n", "i", "n")
        guard = self.choice("", "", f"if ({pointer}->{name}[i] < 9) ")
        return (f"for (unsigned i = 0; i < {n}; i += {step}) "
                f"{guard}{pointer}->{name}[i] = ({type_name})({value});")

    def atomic(self, pointer):
        names = [name for type_name, name in self.fields
                 if type_name.startswith("unsigned") and "128" not in type_name]
        if not names:
            return self.bits(pointer)
        name = self.random.choice(names)
        operation = self.choice("fetch_add", "exchange_n", "fetch_xor", "store_n")
        return f"__atomic_{operation}(&{pointer}->{name}, n & 255, __ATOMIC_SEQ_CST);"

    def bits(self, pointer):
        return self.choice(f"{pointer}->low = n & 127;", f"{pointer}->high += n & 15;")

    def text(self, pointer):
        if not any(name == "text" for _, name, _ in self.arrays):
            return self.bits(pointer)
        target = f"(char*){pointer}->text + {self.random.randint(0, 20)}"
        return self.choice(f'snprintf({target}, 16, "%u:%x", n, n * 3u);',
                           f'strcpy({target}, "{"abcdefghij"[:self.random.randint(0, 10)]}");',
                           f'strncpy({target}, "xyz", {self.random.randint(1, 12)});')

    def vector(self, pointer):
        if not any(name == "ints" for _, name, _ in self.arrays):
            return self.scalar(pointer)
        return f"*(v4*)({pointer}->ints + {self.random.randrange(20)}) = (v4){{n, 1, n * n, 3}};"

    def linked(self, pointer):
        return f"if ({pointer}->next) {{ {self.scalar(pointer + '->next')} }}"

    def statement(self, pointer):
        makers = (self.scalar, self.scalar, self.scalar, self.element, self.element, self.block,
                  self.loop, self.atomic, self.bits, self.text, self.vector, self.linked)
        return self.random.choice(makers)(pointer)

    def function(self, number):
        lines = []
        for _ in range(self.random.randint(4, 14)):
            line = self.statement(self.choice("p", "p", "q"))
            if self.random.random() < 0.15:
                line = f"if (n % {self.random.randint(2, 5)}u) {{ {line} }}"
            lines.append("    " + line)
        if self.random.random() < 0.4:
            lines.insert(self.random.randrange(len(lines)), "    *p = *q;")
        inline = self.choice("static", "__attribute__((noinline)) static")
        return (f"{inline} void f{number}(struct object* p, struct object* q, unsigned n) {{\n"
                + "\n".join(lines) + "\n}\n")

    def main(self, functions):
        objects = ("arena", "arena + 1", "arena + 2", "&global", "local", "heap")
        lines = ["    struct object* arena = recorder_allocate(3 * sizeof *arena);",
                 "    struct object local[1];", "    memset(local, 0, sizeof local);",
                 "    struct object* heap = calloc(1, sizeof *heap);",
                 "    arena[0].next = arena + 1;", "    arena[1].next = arena + 2;",
                 "    arena[2].next = &global;", "    local->next = arena;"]
        for _ in range(self.random.randint(8, 25)):
            first, second = self.random.choice(objects), self.random.choice(objects)
            lines.append(f"    f{self.random.randrange(functions)}({first}, {second}, "
                         f"{self.random.randint(0, 1000)}u);")
        lines += [f"    add_object({one});" for one in objects]
        lines.append('    printf("%016llx\\n", (unsigned long long)sum);')
        return "int main(void) {\n" + "\n".join(lines) + "\n}\n"

    def program(self):
        functions = self.random.randint(2, 5)
        parts = [HEAD, self.structure(), "\nstatic struct object global;\n",
                 "static const unsigned char zeros[512];\n", CHECKSUM, "\n", self.checksum(), "\n"]
        for number in range(functions):
            parts += [self.function(number), "\n"]
        parts.append(self.main(functions))
        return "".join(parts)


def generate(seed):
    """The text of the program with this number."""
    return Generator(seed).program()


if __name__ == "__main__":
    import sys
    print(generate(int(sys.argv[1])))
