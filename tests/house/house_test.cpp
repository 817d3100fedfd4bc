// The project obeys its own rules, and each rule notices what breaks it.
#include "house/rules.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace hf::house {
namespace {

const std::filesystem::path root = HF_SOURCE_DIR;

const files& project() {
    static const files all = read_project(root);
    return all;
}

std::string read(const char* name) {
    std::ifstream in(root / "tests/house" / name);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string list(const violations& found) {
    std::string text;
    for (const auto& one : found) text += "\n" + one.to_string();
    return text;
}

void expect_none(const violations& found) { EXPECT_TRUE(found.empty()) << list(found); }

/// Exactly one violation, in this line.
void expect_one(const violations& found, const std::string& path, std::size_t line) {
    ASSERT_EQ(found.size(), 1U) << list(found);
    EXPECT_EQ(found[0].path, path);
    EXPECT_EQ(found[0].line, line);
}

constexpr const char* small_table =
    "include/holdfast\nsrc/base\nsrc/persist base\nsrc/region +persist\ntests\ntests/base base\n";

TEST(the_project, is_found) { EXPECT_GT(project().size(), 10U); }
TEST(the_project, includes_only_what_the_layering_table_allows) {
    expect_none(check_layering(project(), parse_layers(read("layers.txt"))));
}
TEST(the_project, flushes_and_fences_only_in_persist) {
    expect_none(check_persist_instructions(project()));
}
TEST(the_project, has_indexes_whose_shared_code_knows_no_discipline) {
    expect_none(check_shared_index_code(project()));
}
TEST(the_project, has_short_files) { expect_none(check_lengths(project())); }
TEST(the_project, has_clean_lines) { expect_none(check_lines(project())); }
TEST(the_project, has_snake_case_file_names) { expect_none(check_file_names(project())); }
TEST(the_project, has_headers_that_introduce_themselves) { expect_none(check_headers(project())); }
TEST(the_project, has_rooms_with_a_header_of_their_name) {
    expect_none(check_room_headers(project(), parse_layers(read("layers.txt"))));
}
TEST(the_project, has_labels_that_are_unique_in_their_room) {
    expect_none(check_labels(project()));
}
TEST(the_project, names_no_private_place) {
    expect_none(check_places(project(), parse_list(read("hosts.txt"))));
}
/// Each room keeps to its number in prose_counts.txt, and each pattern is noticed.
TEST(the_project, is_written_in_plain_english) {
    if (std::system("command -v python3 >/dev/null") != 0) GTEST_SKIP() << "python3 is missing";
    const std::string script = (root / "tests/house/count_prose").string();
    EXPECT_EQ(std::system(("'" + script + "'").c_str()), 0) << "see the lines above";
}
TEST(the_project, has_a_check_of_commit_subjects_that_works) {
    const std::string script = (root / "tests/house/commit_subject").string();
    EXPECT_EQ(std::system(("'" + script + "' --self-test").c_str()), 0);
}
TEST(the_project, has_pages_that_link_to_what_is_there) {
    expect_none(check_page_links(project()));
}

TEST(layering, lets_a_room_use_what_lies_below) {
    const files tree{{"src/base/a.hpp", ""},
                     {"src/persist/b.hpp", "#include \"base/a.hpp\"\n#include <vector>\n"},
                     {"src/region/c.cpp", "#include \"base/a.hpp\"\n#include \"persist/b.hpp\"\n"}};
    expect_none(check_layering(tree, parse_layers(small_table)));
}
TEST(layering, notices_a_room_that_looks_up) {
    const files tree{{"src/base/a.cpp", "// one\n#include \"persist/b.hpp\"\n"},
                     {"src/persist/b.hpp", ""}};
    expect_one(check_layering(tree, parse_layers(small_table)), "src/base/a.cpp", 2);
}
TEST(layering, notices_an_upward_include_in_angle_brackets) {
    const files tree{{"src/base/a.cpp", "#include <persist/b.hpp>\n"}, {"src/persist/b.hpp", ""}};
    expect_one(check_layering(tree, parse_layers(small_table)), "src/base/a.cpp", 1);
}
TEST(layering, notices_a_public_header_that_shows_the_inside) {
    const files tree{{"include/holdfast/a.hpp", "#include \"base/b.hpp\"\n"},
                     {"src/base/b.hpp", ""}};
    expect_one(check_layering(tree, parse_layers(small_table)), "include/holdfast/a.hpp", 1);
}
TEST(layering, notices_an_include_of_nothing) {
    const files tree{{"src/base/a.cpp", "#include \"base/gone.hpp\"\n"}};
    expect_one(check_layering(tree, parse_layers(small_table)), "src/base/a.cpp", 1);
}
TEST(layering, notices_a_room_that_is_not_in_the_table) {
    const files tree{{"src/cellar/a.cpp", ""}};
    expect_one(check_layering(tree, parse_layers(small_table)), "src/cellar/a.cpp", 0);
}
TEST(layering, ignores_an_include_in_a_comment) {
    const files tree{{"src/base/a.cpp", "/*\n#include \"persist/b.hpp\"\n*/\n"},
                     {"src/persist/b.hpp", ""}};
    expect_none(check_layering(tree, parse_layers(small_table)));
}
TEST(layering, refuses_a_table_with_a_cycle) {
    EXPECT_THROW((void)parse_layers("src/base persist\nsrc/persist base\n"), std::runtime_error);
}

TEST(persist_instructions, notices_an_intrinsic) {
    const files tree{{"src/alloc/a.cpp", "void f(void* p) {\n    _mm_clwb(p);\n}\n"}};
    expect_one(check_persist_instructions(tree), "src/alloc/a.cpp", 2);
}
TEST(persist_instructions, notices_inline_assembly_over_lines) {
    const files tree{
        {"src/alloc/a.cpp", "asm volatile(\n    \"clflushopt %0\"\n    : \"+m\"(x));\n"}};
    expect_one(check_persist_instructions(tree), "src/alloc/a.cpp", 2);
}
TEST(persist_instructions, lets_persist_have_them_and_others_talk_of_them) {
    const files tree{{"src/persist/a.cpp", "_mm_sfence();\n"},
                     {"src/store/b.cpp",
                      "// _mm_sfence() costs\nauto s = \"_mm_clwb(\"; auto i = kind::clwb;\n"}};
    expect_none(check_persist_instructions(tree));
}

TEST(shared_index_code, is_noticed_when_it_asks_its_discipline) {
    expect_one(
        check_shared_index_code({{"src/index/art/find.hpp", "\nif constexpr (D::durable) {\n"}}),
        "src/index/art/find.hpp", 2);
    expect_one(check_shared_index_code({{"src/index/art/art.cpp",
                                         "using l = std::conditional_t<D::durable, a, b>;\n"}}),
               "src/index/art/art.cpp", 1);
}
TEST(shared_index_code, is_noticed_when_it_names_a_discipline_or_includes_an_adapter) {
    expect_one(check_shared_index_code({{"src/index/art/art.hpp", "art<eager_discipline> a;\n"}}),
               "src/index/art/art.hpp", 1);
    expect_one(check_shared_index_code(
                   {{"src/index/art/art.hpp", "#include \"index/art/eager/adapter.hpp\"\n"}}),
               "src/index/art/art.hpp", 1);
}
TEST(shared_index_code, may_be_generic_and_adapters_may_know_what_they_are_for) {
    expect_none(check_shared_index_code(
        {{"src/index/art/art.hpp", "template <any_discipline D>\nusing m = D::memory;\n"},
         {"src/index/art/adapters.hpp", "#include \"index/art/eager/adapter.hpp\"\n"},
         {"src/index/art/eager/adapter.hpp", "struct adapter_of<eager_discipline> {};\n"}}));
}

TEST(lengths, notices_a_file_of_901_lines) {
    std::string text;
    for (int i = 0; i < 901; ++i) text += "\n";
    files tree{{"src/base/long.cpp", text}};
    for (int i = 0; i < 20; ++i) tree.emplace_back("src/base/short.cpp", "\n");
    expect_one(check_lengths(tree), "src/base/long.cpp", 901);
}

TEST(lines, notices_column_101) {
    const std::string dots(99, '.');
    expect_none(check_lines({{"src/base/a.cpp", dots + "ä\n"}}));
    expect_one(check_lines({{"src/base/a.cpp", "\n" + dots + "ab\n"}}), "src/base/a.cpp", 2);
}
TEST(lines, notices_stray_white_space) {
    expect_one(check_lines({{"dev", "a\n\tb\n"}}), "dev", 2);
    expect_one(check_lines({{"dev", "a\nb \n"}}), "dev", 2);
    expect_one(check_lines({{"dev", "a\r\n"}}), "dev", 1);
    expect_one(check_lines({{"dev", "a\nb"}}), "dev", 2);
}

TEST(file_names, notices_camel_case) {
    expect_one(check_file_names({{"src/base/BadName.hpp", ""}, {"src/base/CMakeLists.txt", ""}}),
               "src/base/BadName.hpp", 0);
}

TEST(headers, notices_a_missing_guard) {
    expect_one(check_headers({{"src/base/a.hpp", "// What it is for.\n"}}), "src/base/a.hpp", 1);
}
TEST(headers, lets_a_c_header_have_an_include_guard) {
    expect_none(check_headers({{"include/holdfast/a.h", "/* A. */\n#ifndef HOLDFAST_A_H\n"}}));
    expect_one(check_headers({{"src/base/a.hpp", "// A.\n#ifndef HOLDFAST_A_H\n"}}),
               "src/base/a.hpp", 1);
}
TEST(headers, notices_a_missing_introduction) {
    expect_one(check_headers({{"src/base/a.hpp", "#pragma once\n"}}), "src/base/a.hpp", 1);
}

TEST(room_headers, are_noticed_where_they_are_missing) {
    const layers two = parse_layers("src/base\nsrc/sync base\ntests base\n");
    expect_one(check_room_headers({{"src/base/base.hpp", "// A.\n"},
                                   {"src/sync/lock.hpp", "// A.\n"},
                                   {"tests/support/scratch.hpp", "// A.\n"}},
                                  two),
               "src/sync/sync.hpp", 0);
}
TEST(labels, notices_one_that_two_headers_of_a_room_define) {
    expect_one(check_labels({{"src/base/a.hpp", "// A.\n//  I1  One.\n"},
                             {"src/base/b.hpp", "// B.\n// I1  Another.\n"}}),
               "src/base/b.hpp", 2);
}
TEST(labels, may_be_the_same_in_two_rooms_and_be_referred_to) {
    expect_none(check_labels({{"src/base/a.hpp", "// A.\n//  I1  One.\n//  I1  Again.\n"},
                              {"src/base/b.hpp", "// By I1 and (I1).\n// I1: as in a.hpp.\n"},
                              {"src/sync/a.hpp", "// A.\n//  I1  Another.\n"},
                              {"src/base/a.cpp", "// I1  A hint.\n"}}));
}

TEST(places, notices_a_home_directory) {
    expect_one(check_places({{"docs/a.md", std::string("see\n`/hom") + "e/ann/x`\n"}}, {}),
               "docs/a.md", 2);
}
TEST(places, notices_a_link_to_a_host_that_is_not_listed) {
    const std::string scheme = "https:/";
    expect_one(check_places({{"docs/a.md", scheme + "/example.org/a " + scheme + "/doi.org/b\n"}},
                            {"doi.org"}),
               "docs/a.md", 1);
}

TEST(page_links, notices_a_link_to_nothing) {
    const files tree{{"docs/a.md", "[b](b.md#x) [src](../src/)\n[no](gone.md) [far](https:x)\n"},
                     {"docs/b.md", ""},
                     {"src/base/a.cpp", ""}};
    expect_one(check_page_links(tree), "docs/a.md", 2);
}

TEST(blanking, keeps_code_and_lines_and_drops_the_rest) {
    EXPECT_EQ(blank_comments_and_literals("a/*b\nc*/d//e\n"), "a   \n   d   \n");
    EXPECT_EQ(blank_comments_and_literals("f(\"x//\\\"y\", 1'000, '\"');"),
              "f(        , 1'000,    );");
    EXPECT_EQ(blank_comments_and_literals("R\"q(a\"b)q\"+c"), "          +c");
    EXPECT_EQ(blank_comments_and_literals("#include \"a/b.hpp\"  // c"),
              "#include \"a/b.hpp\"      ");
}

}  // namespace
}  // namespace hf::house
