"""Tests of the mutation gate itself, on a small tree of its own: does it find what it should break,
is the program as it was written unchanged, are kills and survivors told apart, does it leave the
sources alone and out what does not compile?"""

import contextlib
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import logic
import mutate
import rooms
import seeded
import sources

SAMPLE = """
namespace toy {
template <class T> bool both(T&& a, bool b) { return a > 1 && b; }
inline int count(int n) {
    int found = 0;
    for (int i = 0; i < n; ++i) {
        if (i == 2) continue;
        found = found + 1;
    }
    return found;
}
inline bool is_open(int a, int b) {
    if (a < 0 || (a != b && b > 9)) return false;
    return static_cast<unsigned>(a) <= 7U;
}
inline int read(version& v) {
    const int seen = v.number;
    { out.line(1); out.line(2); }
    if (v.changed(seen)) return -1;
    log.begin(); log.end();
    v.mark_read();
    v.seen[0] = seen;
    ++v.reads;
    const u64 bit = u64{1} << (seen % 64);
    return seen;
}
inline constexpr int two = 1 + 1;
inline result check(int a) {
    if (a == 7) return failure({errc::usage, "seven"});
    HF_CHECK(a == 8 && two > 1, "eight");
    return {};
}
}
"""

WANTED = {
    ("drop conjunct", "a > 1 in a chain of &&"), ("drop conjunct", "b in a chain of &&"),
    ("off by one", "a > 1"), ("off by one", "i < n"), ("negate comparison", "i == 2"),
    ("drop guard", "i == 2) continue"), ("drop one", "found + 1"),
    ("drop conjunct", "a < 0 in a chain of ||"),
    ("drop conjunct", "(a != b && b > 9) in a chain of ||"),
    ("drop conjunct", "a != b in a chain of &&"), ("drop conjunct", "b > 9 in a chain of &&"),
    ("off by one", "a < 0"), ("negate comparison", "a != b"), ("off by one", "b > 9"),
    ("off by one", "static_cast<unsigned>(a) <= 7U"),
    ("drop guard", "a < 0 || (a != b && b > 9)) return false"),
    ("drop guard", "v.changed(seen)) return -1"), ("drop validation", "v.changed(seen)"),
    ("swap calls", "log.begin(); log.end()"), ("swap calls", "log.end(); v.mark_read()"),
    ("drop mark", "v.mark_read()"), ("negate comparison", "a == 7"),
    ("drop call", "out.line(1)"), ("drop call", "out.line(2)"), ("drop call", "log.begin()"),
    ("drop call", "log.end()"), ("drop assignment", "found = found + 1"),
    ("drop assignment", "v.seen[0] = seen"), ("drop assignment", "++v.reads"),
    ("wrong answer", "return false"), ("wrong error", "errc::usage, \"seven\""),
}

TOY = """#pragma once
namespace toy {
inline int least(int a, int b) { return a < b ? a : b; }
inline bool is_inside(int at, int from, int to) { return at >= from && at < to; }
constexpr int twice(int n) { return n == 0 ? 0 : 2 + twice(n - 1); }
struct version { int n; };
inline bool operator<(version a, version b) { return b.n - a.n == 1; }

inline bool is_next(version old, version now) { return old.n != 7 && old < now; }
}
"""
# Says nothing of is_inside(at, from, to) for at == to, and cannot tell a < b from a <= b.
TOY_TEST = """#include "toy.hpp"
#include <gtest/gtest.h>
TEST(toy, works) {
    EXPECT_EQ(toy::least(1, 2), 1);
    EXPECT_EQ(toy::least(2, 1), 1);
    EXPECT_TRUE(toy::is_inside(3, 1, 5));
    EXPECT_TRUE(toy::is_inside(1, 1, 5));
    EXPECT_FALSE(toy::is_inside(0, 1, 5));
    EXPECT_FALSE(toy::is_inside(6, 1, 5));
    static_assert(toy::twice(3) == 6);
    volatile int three = 3;
    EXPECT_EQ(toy::twice(three), 6);
    EXPECT_TRUE(toy::is_next({1}, {2}));
    EXPECT_FALSE(toy::is_next({2}, {2}));
    EXPECT_FALSE(toy::is_next({1}, {3}));
    EXPECT_FALSE(toy::is_next({7}, {8}));
}
"""
TOY_LISTS = """cmake_minimum_required(VERSION 3.25)
project(holdfast LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(GTest REQUIRED)
add_executable(toy_test tests/toy_test.cpp)
target_include_directories(toy_test PRIVATE src/toy)
target_link_libraries(toy_test PRIVATE GTest::gtest_main)
"""
TOY_PRESETS = {"version": 6, "configurePresets": [
    {"name": "dev", "generator": "Ninja", "binaryDir": "${sourceDir}/build/dev",
     "cacheVariables": {"CMAKE_BUILD_TYPE": "RelWithDebInfo"}}]}
SURVIVORS = {("off by one", "a < b"), ("off by one", "at < to")}

failures = 0


def expect(holds, what):
    global failures
    print(f"  {'passed' if holds else 'FAILED'}  {what}")
    failures += not holds


def room_of_sample():
    room = rooms.Room("toy", "src/toy")
    for line in ("validation changed", "mark tell"):
        room.take(*line.split(" ", 1))
    return room


def finds_what_it_should_break():
    found = sources.File("src/toy/sample.hpp", SAMPLE, room_of_sample())
    found.parse()
    met = {(m.kind, m.text) for m in found.mutants}
    for missing in sorted(WANTED - met):
        print("   missing:", missing)
    for more in sorted(met - WANTED):
        print("   not wanted:", more)
    expect(met == WANTED, "each place that can be broken is found, and no other")
    expect({m.function for m in found.mutants} == {"both", "count", "is_open", "read", "check"},
           "each mutant knows its function")
    for number, m in enumerate(found.mutants, 1):
        m.number = number
    expect(found.mutated().count("\n") == SAMPLE.count("\n"), "lines keep their numbers")
    every = frozenset(range(len(met) + 2))
    left = "".join(found.mutated(every).replace("{", "").replace("}", "").split())
    expect(left == "".join(SAMPLE.replace("{", "").replace("}", "").split()),
           "what is left out leaves the text as it was")


WAITING = """
inline void change(op& o, word& w) {
    o.settle();
    w.store(1);  // visible
    o.commit();
    if (w.load() == 1) {
        o.commit();
    }
}
"""
BUGS = """# none of ours
bug visible too early
in src/toy/waiting.hpp
instead of
  o.settle();
  ...
  o.commit(); if
comes
  w.store(1);
bug nobody asks
in src/toy/waiting.hpp
instead of
  if (w.load() == 1) {
comes
  o.commit();
bug twice
in src/toy/waiting.hpp
behind
  w.store(1);
comes
  w.store(2);
"""


def waits_and_seeded_bugs():
    room = rooms.Room("toy", "src/toy")
    room.take("fence", "o.commit")
    found = sources.File("src/toy/waiting.hpp", WAITING, room)
    found.parse()
    fences = [m.line for m in found.mutants if m.kind == "drop fence"]
    expect(fences == [5, 7], "a room's own words for a fence are known")
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place, "seeded.txt")
        path.write_text(BUGS)
        bugs = seeded.read(path)
        expect([b.name for b in bugs] == ["visible too early", "nobody asks", "twice"],
               "seeded bugs are read")
        try:
            seeded.plant(found, bugs[0])
            expect(False, "a piece of a statement is refused")
        except SystemExit:
            expect(True, "a piece of a statement is refused")
        for number, m in enumerate(found.mutants, 1):
            m.number = number
        for number, bug in enumerate(bugs[1:], len(found.mutants) + 1):
            seeded.plant(found, bug).number = number
        text = " ".join(found.mutated().split())
        one, two = len(found.mutants) - 1, len(found.mutants)
        expect(f"if (::hf::is_mutant({one})) {{ o.commit(); }} else {{ if (" in text,
               "a bug comes instead of a whole statement")
        expect(f"if (::hf::is_mutant({two})) {{ w.store(2); }}" in text,
               "a bug comes behind a statement")


def read_by_rooms():
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place, "src", "a", "b")
        folder.mkdir(parents=True)
        (folder / "mutation.txt").write_text("# words\nroom x\ntests t u:-slow*\ntargets none\n"
                                             "skip f.cpp: why not\nnote enter\n"
                                             "tested ^note_.*: a disk\n")
        tool = pathlib.Path(place, "tools", "t")
        tool.mkdir(parents=True)
        (tool / "mutation.txt").write_text("tests z\n")
        declared = pathlib.Path(place, "tests", "programs", "tools")
        declared.mkdir(parents=True)
        (declared / "CMakeLists.txt").write_text("hf_test(tools_test SOURCES a.cpp)\n")
        found = rooms.read(place)
        t = found.of("tools/t/a.cpp")
        expect(t is not None and t.tests == [("tools_test", ""), ("z", "")],
               "a tool is a room, too")
        r = found.called("x")
        expect(r is not None and r.folder == "src/a/b" and r.notes == {"enter"}
               and r.tests == [("t", ""), ("u", "-slow*")] and r.targets == "none"
               and r.skip == {"src/a/b/f.cpp": "why not"} and r.is_tested("note_once()")
               and not r.is_tested("note()"), "a room registers itself")
        expect(found.of("src/a/b/c.hpp") is r and found.of("src/a/c.hpp") is None,
               "a file belongs to the nearest room")
        (folder / "mutation.txt").write_text("colour blue\n")
        try:
            rooms.read(place)
            expect(False, "an unknown word is refused")
        except SystemExit:
            expect(True, "an unknown word is refused")


def blames_what_is_left():
    logical = sources.Mutant("negate comparison", "src/toy/a.hpp", 5, "f", "a == b")
    ordered = sources.Mutant("drop store", "src/toy/a.hpp", 5, "f", "op.publish(w, a)")
    text = f"{mutate.TREE}/src/toy/a.hpp:5:9: error: expected expression"

    def blamed(unfit):
        return mutate.blamed(text, mutate.TREE, [logical, ordered], unfit)

    expect(blamed(set()) == [logical], "conditions and calls are blamed first")
    expect(blamed({logical.key()}) == [ordered], "then what else is broken at the line")
    expect(blamed({logical.key(), ordered.key()}) == [], "nothing is blamed twice")


def blames_no_neighbour():
    """One line, three mutants: each error has its place in the text of one of them."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="holdfast_mutate."))
    tree, mutate.TREE = mutate.TREE, place
    try:
        three = [sources.Mutant("off by one", "a.hpp", 2, "f", text)
                 for text in ("a < b", "c < d", "e < f")]
        for number, m in enumerate(three, 1):
            m.number = number
        text = "bool f() {\n    return " + " && ".join(
            f"(::hf::is_mutant({m.number}) ? ({m.text.replace('<', '<=')}) : ({m.text}))"
            for m in three) + "\n        .g;\n}\n"
        (place / "a.hpp").write_text(text)
        line = text.splitlines()[1]

        def blamed(at, column):
            return mutate.blamed(f"{place}/a.hpp:{at}:{column}: error: no", place, three, set())

        for m, wrong in zip(three, ("a <= b", "c <= d", "e <= f")):
            expect(blamed(2, line.index(wrong) + 3) == [m], f"{m.text} alone is blamed for itself")
        expect(blamed(3, 10) == [three[2]], "on a line of its own, the last one before it")
        expect(blamed(2, 5) == three, "before all of them, each may be meant")
    finally:
        mutate.TREE = tree
        shutil.rmtree(place, ignore_errors=True)


def make_toy(place):
    files = {"src/toy/toy.hpp": TOY, "tests/toy_test.cpp": TOY_TEST, "CMakeLists.txt": TOY_LISTS,
             "src/toy/mutation.txt": "tests toy_test\ntargets none\n",
             "CMakePresets.json": json.dumps(TOY_PRESETS)}
    for name, text in files.items():
        mutate.put(place / name, text)
    shutil.copytree(pathlib.Path(__file__).parent, place / "crashlab" / "mutate",
                    ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("argued.txt", "kills.txt", "seeded.txt"):
        (place / "crashlab" / "mutate" / name).write_text("")
    return files


def judges_a_small_tree():
    place = pathlib.Path(tempfile.mkdtemp(prefix="holdfast_mutate."))
    try:
        files = make_toy(place)
        mutate.ROOT, mutate.PLACE = place, place / "build" / "mutate"
        mutate.TREE = mutate.PLACE / "tree"
        mutate.TESTS = mutate.TREE / "build" / "tests"
        mutate.HUNT = mutate.TREE / "build" / "lab" / "crashlab" / "hf_hunt"
        sys.argv = ["mutate", "--kind", "logic", "--json", str(place / "out.json"), "--jobs", "2"]
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            status = mutate.main()
        results = json.loads((place / "out.json").read_text())["mutants"]
        survived = {(m["kind"], m["text"]) for m in results if m["outcome"] == "SURVIVED"}
        killed = [m for m in results if m["outcome"] == "killed"]
        if survived != SURVIVORS:
            print("   survived:", survived)
        expect(survived == SURVIVORS, "survivors are those that the test cannot tell")
        expect(status == 1, "a survivor is no success")
        unfit = json.loads((mutate.PLACE / "unfit.json").read_text())
        expect([u[3] for u in unfit] == ["old < now"], "what does not compile is left out")
        print("   killed:", [(m["kind"], m["text"]) for m in killed]) if len(killed) != 9 else None
        expect(len(killed) == 9 and all(m["target"] == "toy_test" for m in killed),
               "what the test notices is killed by it")
        expect(all((place / name).read_text() == text for name, text in files.items()),
               "the sources are as they were")
        sys.argv += ["--only", str(killed[0]["number"]), "--no-build"]
        with contextlib.redirect_stdout(told):
            status = mutate.main()
        expect(status == 0, "without a survivor it is a success")
        sys.argv = ["mutate", "--kind", "logic", "--sample", "3", "--seed", "5", "--list"]
        first, second = io.StringIO(), io.StringIO()
        for out in (first, second):
            with contextlib.redirect_stdout(out):
                mutate.main()
        expect(first.getvalue() == second.getvalue() and "mutants      3" in first.getvalue(),
               "a seed draws the same sample again")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def main():
    for part in (finds_what_it_should_break, waits_and_seeded_bugs, read_by_rooms,
                 blames_what_is_left, blames_no_neighbour, judges_a_small_tree):
        print(part.__name__.replace("_", " "))
        part()
    print(f"{failures} of these failed" if failures else "the gate works")
    return 1 if failures else 0
