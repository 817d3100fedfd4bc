#!/usr/bin/env python3
"""The tests of the compiler plugin. Each class is one of ctest's tests.

Programs of programs/ are compiled with hf-clang at each level of optimisation and run under the
recorder (recorder.h), which fails if one byte of its arena changes without an announcement.
"""

import argparse
import re
import sys
import unittest
from pathlib import Path

import random_program
from compiler import PROGRAMS, ROOT, Toolchain, outcomes, skip

LEVELS = ("-O0", "-O1", "-O2", "-O3")
tools: Toolchain


def line_of(source, text):
    """The number of the first line of a program that contains the text."""
    lines = (PROGRAMS / source).read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


def run_both_ways(program):
    """Outside of all sections, and inside of one."""
    tools.run([program])
    tools.run([program], RECORDER_DEPTH="1")


def run_all_ways(program):
    """The same, and with each instruction checked, which takes longer."""
    run_both_ways(program)
    tools.run([program], HF_AUDIT="exact")


class kinds_of_stores(unittest.TestCase):
    """Every changed byte is announced, whatever instruction changes it."""

    def check(self, name, *levels):
        for level in levels or LEVELS:
            with self.subTest(level=level):
                run = run_all_ways if level == "-O2" else run_both_ways
                run(tools.compile(PROGRAMS / name, level))

    def test_scalars(self):
        self.check("scalars.c")

    def test_runs_of_stores(self):
        self.check("runs.c")

    def test_vectors(self):
        self.check("vectors.c")
        run_all_ways(tools.compile(PROGRAMS / "vectors.c", "-O3", "-mavx2"))

    def test_masked_stores(self):
        self.check("masked.c", "-O0", "-O2")

    def test_scatters(self):
        self.check("scatter.c", "-O0", "-O3")

    def test_atomics(self):
        self.check("atomics.c")

    def test_blocks(self):
        self.check("blocks.c")

    def test_assembly(self):
        self.check("assembly.c", "-O0", "-O2")

    def test_without_joining_each_store_has_its_own_hook(self):
        joined = tools.compile(PROGRAMS / "runs.c", "-O2", name="joined")
        single = tools.compile(PROGRAMS / "runs.c", "-O2", "-Xclang", "-mllvm", "-Xclang",
                               "-hf-merge=false", name="single")

        def hooks(program):
            return int(re.search(r"hooks (\d+)", tools.run([program], RECORDER_COUNTS="1"))[1])
        self.assertLess(hooks(joined), hooks(single))


class elision(unittest.TestCase):
    """Stores to transient memory are found, and no others are taken for one."""

    def test_transient_stores_call_no_hook(self):
        for level in LEVELS:
            tools.run([tools.compile(PROGRAMS / "elision.c", level)])

    def test_transient_stores_are_elided_and_say_why(self):
        report = tools.report(PROGRAMS / "elision.c", "-O1")
        self.assertEqual(report["counts"]["instrumented"], 0)
        why = {w["detail"] for w in report["writes"] if w["outcome"] == "elided"}
        self.assertLessEqual({"stack", "global", "heap", "library", "member"}, why)

    def test_stores_beside_a_transient_member_are_announced(self):
        for level in LEVELS:
            run_both_ways(tools.compile(PROGRAMS / "members.c", level))

    def test_result_of_an_allocator_of_the_program_is_not_transient(self):
        for level in LEVELS:
            tools.run([tools.compile(PROGRAMS / "heap_of_region.c", level)])

    def test_result_that_the_user_names_is_transient(self):
        report = tools.report(PROGRAMS / "heap_of_region.c", "-O1",
                              "--hf-transient-result=allocate")
        self.assertEqual(report["counts"]["instrumented"], 0)

    def test_elision_of_heap_globals_and_members_can_be_switched_off(self):
        report = tools.report(PROGRAMS / "elision.c", "-O1", "--hf-elide-malloc=no",
                              "--hf-elide-globals=no", "--hf-elide-members=no")
        why = {w["detail"] for w in report["writes"] if w["outcome"] == "elided"}
        self.assertLessEqual(why, {"stack", "library"})
        self.assertGreater(report["counts"]["instrumented"], 0)


class library_calls(unittest.TestCase):
    """Functions of libraries that write."""

    def test_wrappers_do_what_the_originals_do_and_announce_it(self):
        for level in ("-O0", "-O2"):
            for program in ("library.c", "input.c", "results.c"):
                run = run_all_ways if level == "-O2" else run_both_ways
                run(tools.compile(PROGRAMS / program, level))

    def test_fortified_calls_are_redirected(self):
        for program in ("library.c", "input.c"):
            run_both_ways(tools.compile(PROGRAMS / program, "-O2", "-D_FORTIFY_SOURCE=2"))

    def test_every_name_that_is_redirected_has_a_wrapper_and_vice_versa(self):
        names = (ROOT / "pass" / "library_names.cpp").read_text("utf-8")
        table = names[names.index("wrapped[] = {"):names.index("harmless[] = {")]
        listed = set(re.findall(r'\{"(\w+)", args', table))
        library = next(path for path in tools.libraries if "section_libc" in path)
        symbols = tools.run(["nm", "--defined-only", library])
        defined = {name.removeprefix("hf_lib_") for name in re.findall(r" T (hf_lib_\w+)", symbols)}
        self.assertEqual(listed, defined)
        self.assertGreater(len(listed), 150)

    def test_calls_are_redirected_kept_or_reported(self):
        report = tools.report(PROGRAMS / "reported.c", "-O1", "-c")
        self.assertEqual(
            [outcomes(report, f) for f in ("wrapped", "kept", "foreign", "pure", "harmless")],
            [[("redirected", "read", line_of("reported.c", "persistent, 4"))],
             [("elided", "read", line_of("reported.c", "local, 4"))],
             [("external", "unknown", line_of("reported.c", "unknown(persistent)"))], [], []])
        self.assertIn(("redirected", "read", 0), outcomes(report))  # its address is taken


class containers(unittest.TestCase):
    """C++: the standard library's containers in a region, exceptions, constructors."""

    def test_containers_in_a_region(self):
        for level in ("-O0", "-O2"):
            program = tools.compile(PROGRAMS / "containers.cpp", "-std=c++20", level)
            tools.run([program])
            tools.run([program], RECORDER_DEPTH="1")

    def test_containers_with_every_instruction_checked(self):
        program = tools.compile(PROGRAMS / "containers.cpp", "-std=c++20", "-O2", "-DFEW=1")
        tools.run([program], HF_AUDIT="exact")


class audit(unittest.TestCase):
    """The debugging mode finds what is not announced, and names the line."""

    def test_exact_mode_names_the_instruction(self):
        program = tools.compile(PROGRAMS / "skipped.c", "-O0")
        said = tools.run([program], 3, HF_AUDIT="exact", RECORDER_DEPTH="1")
        self.assertIn(f"skipped.c:{line_of('skipped.c', 'the culprit')}", said)
        self.assertEqual(said.count("unannounced"), 1)

    def test_compare_mode_names_the_hooks_around_it(self):
        program = tools.compile(PROGRAMS / "skipped.c", "-O0")
        said = tools.run([program], 3)
        self.assertIn(f"skipped.c:{line_of('skipped.c', 'hook before')} and", said)
        self.assertEqual(said.count("unannounced"), 1)

    def test_a_cut_finds_it_inside_of_a_section(self):
        program = tools.compile(PROGRAMS / "skipped.c", "-O2")
        self.assertIn("and this cut", tools.run([program], 3, RECORDER_DEPTH="1"))

    def test_a_store_before_its_own_announcement_is_found(self):
        program = tools.compile(PROGRAMS / "early.c", "-O0")
        self.assertIn("early.c", tools.run([program], 3, RECORDER_DEPTH="1"))


class drivers(unittest.TestCase):
    """hf-clang, hf-clang++ and hf-report."""

    def test_unknown_option_is_refused(self):
        said = tools.run([tools.bin / "hf-clang", "--hf-nonsense", "-c", "x.c"], 2)
        self.assertIn("--hf-nonsense", said)

    def test_off_is_the_plain_compiler(self):
        assembly = tools.work / "off.s"
        tools.run([tools.bin / "hf-clang", "--hf-off", "-S", PROGRAMS / "assembly.c", "-o",
                   assembly, f"-I{ROOT}/tests/programs", f"-I{ROOT}/include"])
        self.assertNotIn("hf_section_store", assembly.read_text("utf-8"))

    def test_position_independent_code_and_separate_steps(self):
        run_all_ways(tools.compile(PROGRAMS / "scalars.c", "-O2", "-fPIC", "-pie"))

    def test_dynamic_arena_number_is_read(self):
        program = tools.compile(PROGRAMS / "atomics.c", "-O2", "--hf-arena=dynamic")
        self.assertIn("hf_section_arena_number", tools.run(["nm", program]))
        run_all_ways(program)

    def test_sanitizers_come_after_the_plugin(self):
        # Atomics become calls of the sanitizer's runtime: they are announced before.
        report = tools.report(PROGRAMS / "atomics.c", "-O1", "-fsanitize=thread", "-c")
        plain = tools.report(PROGRAMS / "atomics.c", "-O1", "-c")
        self.assertEqual(report["counts"]["instrumented"], plain["counts"]["instrumented"])
        self.assertEqual(report["counts"]["external"], 0)

    def test_strict_refuses_what_cannot_be_announced(self):
        source = tools.work / "clobber.c"
        source.write_text('void f(int* p) { __asm__("movl $1, (%0)" : : "r"(p) : "memory"); }\n')
        command = [tools.bin / "hf-clang", "-c", source, "-o", tools.work / "clobber.o"]
        tools.run(command)
        self.assertIn("assembly", tools.run(command + ["--hf-strict", "-g"], 1))

    def test_cmake_function(self):
        place = tools.work / "project"
        place.mkdir(exist_ok=True)
        libraries = " ".join(tools.libraries)
        (place / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(consumer C)
set(HF_SECTION_PLUGIN {tools.bin.parent}/lib/holdfast/hf_section_pass.so)
include({ROOT}/cmake/HoldfastSections.cmake)
add_executable(atomics {PROGRAMS}/atomics.c)
target_compile_options(atomics PRIVATE -mcx16)
target_include_directories(atomics PRIVATE {ROOT}/tests/programs {ROOT}/include)
holdfast_sections(atomics STRICT REPORT ${{PROJECT_BINARY_DIR}}/atomics.txt)
target_link_libraries(atomics PRIVATE {libraries} stdc++ m)
""", encoding="utf-8")
        build = place / "build"
        tools.run(["cmake", "-S", place, "-B", build, "-DCMAKE_C_COMPILER=clang-19"])
        tools.run(["cmake", "--build", build])
        run_all_ways(build / "atomics")
        self.assertIn("instrumented atomic", (build / "atomics.txt").read_text("utf-8"))

    def test_report_joins_modules(self):
        place = tools.work / "reports"
        place.mkdir(exist_ok=True)
        for name, text in (("one.c", "int two(int*); int one(int* p) { *p = 1; return two(p); }\n"),
                           ("two.c", "int three(int*); int two(int* p) { return three(p); }\n")):
            (tools.work / name).write_text(text)
            tools.run([tools.bin / "hf-clang", "-O1", "-c", tools.work / name, "-o",
                       tools.work / "joined.o", f"--hf-report={place}"])
        said = tools.run([tools.bin / "hf-report", place])
        self.assertIn("1 instrumented", said)
        self.assertIn("external three: 1 call", said)  # no module defines it
        self.assertNotIn("external two", said)         # the other module does
        tools.run([tools.bin / "hf-report", "--fail", "--known", "thr", place])
        tools.run([tools.bin / "hf-report", "--fail", place], 1)


class link_time(unittest.TestCase):
    """-flto: the hooks are there before linking, and stay where they are."""

    def test_full_and_thin(self):
        for kind in ("-flto", "-flto=thin"):
            for name in ("runs.c", "blocks.c", "vectors.c"):
                run_all_ways(tools.compile(PROGRAMS / name, "-O3", kind, "-fuse-ld=lld-19"))


class random_programs(unittest.TestCase):
    """Generated programs: every changed byte is announced, and the plugin changes no result."""

    def test_generated_programs(self):
        for seed in range(random_program.count()):
            source = tools.work / f"random{seed}.c"
            source.write_text(random_program.generate(seed), encoding="utf-8")
            wanted = None
            for level in ("--hf-off", "-O0", "-O1", "-O2", "-O3"):
                with self.subTest(seed=seed, level=level):
                    program = tools.compile(source, level, "-w", name=f"random{seed}")
                    if level == "--hf-off":
                        wanted = tools.run([program], 3, RECORDER_DEPTH="1").splitlines()[0]
                        continue
                    self.assertEqual(tools.run([program]).splitlines()[0], wanted)
                    said = tools.run([program], RECORDER_DEPTH="1")
                    self.assertEqual(said.splitlines()[0], wanted)


def main():
    global tools
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--library", action="append", default=[])
    arguments, rest = parser.parse_known_args()
    if not (Path(arguments.plugin) / "bin" / "hf-clang").exists():
        skip("the plugin has not been built: clang-19 and llvm-19-dev are missing")
    tools = Toolchain(arguments.plugin, arguments.work, arguments.library)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
