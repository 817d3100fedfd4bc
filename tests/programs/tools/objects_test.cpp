// `holdfast check`, `inspect` and `repair` of heaps of objects, sound and damaged by the test.
#include <holdfast/eager.hpp>
#include <holdfast/heap.hpp>
#include <holdfast/nv/vector.hpp>

#include "tools/program.hpp"
#include "tools/region_files.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

namespace hf::test {
namespace {

struct book {
    static constexpr std::string_view nv_name = "book";
    nv::p<int> pages;
    nv::string title;
    nv::ptr<book> next;
    nv::weak<book> best;
    nv::array<nv::p<short>, 3> marks;
};

using arguments = std::vector<std::string>;

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
    return n;
}

class objects : public ::testing::Test {
   protected:
    scratch dir;
    const std::string file = dir / "books.hf";

    template <class F>
    void with_heap(F&& f) {
        nv::heap_options o;
        o.region.initial_size = std::uint64_t{2} << 20;
        o.region.max_size = std::uint64_t{256} << 20;
        o.epoch = std::chrono::microseconds(0);
        auto heap = nv::heap<>::open(file, o).value();
        auto shelf = heap.root<book>("shelf").value();
        f(heap, shelf);
        heap.close().value();
    }
    /// A list of this many books; the first has a title and a weak pointer to the last.
    void make(int books) {
        with_heap([&](nv::heap<>& heap, nv::root<book>& shelf) {
            for (int i = 0; i < books; i += 100) {
                heap.atomic([&](nv::tx<>& tx) {
                        for (int k = i; k < std::min(books, i + 100); ++k) {
                            auto b = tx.make<book>(k);
                            b->next.set(tx, shelf.get());
                            shelf.set(tx, b);
                        }
                    })
                    .value();
            }
            heap.atomic([&](nv::tx<>& tx) {
                    auto last = shelf.get();
                    while (last->next) last = last->next;
                    shelf->title.assign(tx, "A \"fine\" book");
                    shelf->best.set(tx, last);
                    shelf->marks[1].set(tx, short{7});
                })
                .value();
        });
    }
    [[nodiscard]] nlohmann::json look(const std::string& at) const {
        return holdfast({"inspect", file, "--object", at, "--json"}).json();
    }
    [[nodiscard]] static nlohmann::json member(const nlohmann::json& object,
                                               const std::string& name) {
        for (const auto& m : object["members"]) {
            if (m["name"] == name) return m;
        }
        ADD_FAILURE() << "no member " << name << " in " << object.dump();
        return nullptr;
    }
    [[nodiscard]] std::uint64_t shelf() const { return look("shelf")["offset"]; }
    void write(std::uint64_t at, std::uint64_t value) const {
        write_at(file, at, {reinterpret_cast<const char*>(&value), sizeof value});
    }
    [[nodiscard]] std::uint64_t read(std::uint64_t at) const {
        std::uint64_t value = 0;
        std::memcpy(&value, read_file(file).data() + at, sizeof value);
        return value;
    }
    void expect_sound() const {
        const outcome o = holdfast({"check", file});
        EXPECT_EQ(o.code, 0) << o.out << o.err;
    }
    void expect_violations(const std::string& text) const {
        const std::string before = read_file(file);
        const outcome o = holdfast({"check", file});
        EXPECT_EQ(o.code, 1) << o.out << o.err;
        EXPECT_NE(o.out.find(text), std::string::npos) << o.out;
        EXPECT_NE(("\n" + o.out).find("\nobjects\n"), std::string::npos) << o.out;
        const auto j = holdfast({"check", file, "--json"}).json();
        EXPECT_GE(j["violation_count"], 1);
        EXPECT_EQ(j["violations"].size(), j["violation_count"]);
        EXPECT_NE(j["violations"].dump().find(text), std::string::npos);
        EXPECT_EQ(holdfast({"repair", file}).code, 1);
        EXPECT_TRUE(read_file(file) == before) << "the file has changed";
    }
    outcome repair(std::vector<std::string> options, int code) const {
        std::vector<std::string> arguments{"repair", file, "--apply"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const outcome o = holdfast(arguments);
        EXPECT_EQ(o.code, code) << o.out << o.err;
        return o;
    }
    /// The number of books in the list.
    [[nodiscard]] int books() {
        int n = 0;
        with_heap([&](nv::heap<>& heap, nv::root<book>& shelf) {
            heap.read([&](nv::tx<>&) {
                    n = 0;
                    for (auto b = shelf.get(); b; b = b->next) ++n;
                })
                .value();
        });
        return n;
    }
};

TEST_F(objects, of_a_whole_heap_are_sound) {
    make(3);
    expect_sound();
    const auto j = holdfast({"check", file, "--json"}).json();
    EXPECT_EQ(j["verdict"], "sound");
    EXPECT_EQ(j["objects"]["count"], 5);  // books, characters, a proxy
    EXPECT_EQ(j["objects"]["reachable"], 5);
    EXPECT_EQ(j["objects"]["proxies"], 1);
    const outcome o = repair({}, 0);
    EXPECT_NE(o.out.find("sound"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(file + ".backup"));
}

TEST_F(objects, of_a_heap_are_as_many_as_its_books_say) {
    make(3);
    const outcome o = holdfast({"info", file});
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_NE(o.out.find("transaction"), std::string::npos);
    const auto j = holdfast({"info", file, "--json"}).json();
    EXPECT_GT(j["heap"]["handed_out_bytes"], 0);
    EXPECT_EQ(j["heap"]["records"], nullptr);
}

TEST_F(objects, are_copied_where_they_are_sound) {
    make(3);
    const std::string before = read_file(file);
    const std::string copy = dir / "copy.hf";
    const outcome no_map = holdfast({"compact", file});
    EXPECT_EQ(no_map.code, 7);
    expect_one_clear_error(no_map);
    EXPECT_NE(no_map.err.find("holdfast copy"), std::string::npos) << no_map.err;
    const outcome o = holdfast({"copy", file, copy});
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_TRUE(read_file(file) == before) << "the file has changed";
    EXPECT_EQ(holdfast({"check", copy}).code, 0);
    EXPECT_EQ(holdfast({"inspect", copy, "--json"}).json()["roots"][0]["type"], "book");
    EXPECT_EQ(holdfast({"copy", file, copy}).code, 2) << "it is there";
    EXPECT_EQ(holdfast({"copy", file, copy, "--force"}).code, 0);
    write(shelf() - 16, read(shelf() - 16) + 1);
    const outcome damaged = holdfast({"copy", file, dir / "another.hf"});
    EXPECT_EQ(damaged.code, 6);
    expect_one_clear_error(damaged);
    EXPECT_FALSE(std::filesystem::exists(dir / "another.hf"));
}

TEST_F(objects, are_inspected_without_their_program) {
    make(3);
    const auto j = holdfast({"inspect", file, "--json"}).json();
    EXPECT_EQ(j["roots"][0]["name"], "shelf");
    EXPECT_EQ(j["roots"][0]["type"], "book");
    const auto type = std::find_if(j["types"].begin(), j["types"].end(),
                                   [](const auto& t) { return t["name"] == "book"; });
    ASSERT_NE(type, j["types"].end());
    EXPECT_EQ((*type)["objects"], 3);
    EXPECT_EQ((*type)["members"][0]["name"], "pages");
    const auto first = look("shelf");
    EXPECT_EQ(member(first, "pages")["value"], 2);
    EXPECT_EQ(member(first, "title.bytes_")["text"], "\"A \"fine\" book\"");
    EXPECT_EQ(member(first, "marks[1]")["value"], 7);
    const outcome text = holdfast({"inspect", file, "--object", "shelf"});
    EXPECT_NE(text.out.find("A \"fine\" book"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("weak 0x"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find(" book  (pointer at "), std::string::npos) << "said once: " << text.out;
    EXPECT_NE(holdfast({"inspect", file}).out.find("pointer to book"), std::string::npos);
}

TEST_F(objects, are_looked_for_in_heaps_only) {
    make_region(dir / "map.hf", ending::closed);
    {
        const auto eager = eager_map::open(dir / "eager.hf").value();
    }
    make(3);
    const auto refused = [](const arguments& words, const std::string& discipline) {
        const outcome o = holdfast(words);
        EXPECT_EQ(o.code, 7) << words[0];
        expect_one_clear_error(o);
        EXPECT_NE(o.err.find("its discipline is " + discipline), std::string::npos) << o.err;
    };
    for (const std::string verb : {"inspect", "repair"}) {
        refused({verb, dir / "map.hf"}, "incll");
        refused({verb, dir / "eager.hf"}, "eager");
    }
    refused({"dump", file}, "transaction");
    refused({"serve", file, "--port", "0"}, "transaction");
}

TEST_F(objects, are_drawn_where_they_are_few) {
    make(3);
    const outcome o = holdfast({"inspect", file, "--dot"});
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_TRUE(o.out.starts_with("digraph")) << o.out;
    EXPECT_NE(o.out.find("pages 2"), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("style=dashed"), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("\\\"fine\\\""), std::string::npos) << o.out;
    const outcome many = holdfast({"inspect", file, "--dot", "--limit", "2"});
    EXPECT_EQ(many.code, 2);
    expect_one_clear_error(many);
    const auto last = look(std::to_string(member(look("shelf"), "next")["value"].get<long>()));
    const outcome part = holdfast({"inspect", file, "--dot", "--limit", "2", "--object",
                                   std::to_string(last["offset"].get<long>())});
    EXPECT_EQ(part.code, 0) << part.err;
}

/// The books and the first one's characters; edges from the root, two to next books, best,
/// characters.
TEST_F(objects, are_drawn_up_to_the_limit_itself) {
    make(3);
    constexpr std::uint64_t all = 3 + 1;
    for (const arguments& whole : {arguments{"inspect", file, "--dot", "--limit"},
                                   {"inspect", file, "--object", "shelf", "--dot", "--limit"}}) {
        for (std::uint64_t limit = 1; limit <= all + 1; ++limit) {
            arguments asked = whole;
            asked.push_back(std::to_string(limit));
            const outcome o = holdfast(asked);
            EXPECT_EQ(o.code, limit < all ? 2 : 0) << limit << o.err;
            if (limit < all) continue;
            EXPECT_EQ(count(o.out, " [label=\"0x"), all) << o.out;
            EXPECT_EQ(count(o.out, " -> "), 5U) << o.out;
            EXPECT_EQ(count(o.out, "shape=ellipse"), 1U) << o.out;
        }
    }
}

TEST_F(objects, are_printed_up_to_the_limit_which_says_when_there_is_more) {
    make(3);
    const std::size_t all = look("shelf")["members"].size();
    ASSERT_GT(all, 4U);
    for (const std::size_t limit : {std::size_t{1}, all - 1, all, all + 1}) {
        const std::string most = std::to_string(limit);
        const outcome text = holdfast({"inspect", file, "--object", "shelf", "--limit", most});
        EXPECT_EQ(count(text.out, "no more is shown"), limit < all ? 1U : 0U) << text.out;
        EXPECT_EQ(count(text.out, " at "), std::min(limit, all)) << text.out;
        const auto j =
            holdfast({"inspect", file, "--object", "shelf", "--limit", most, "--json"}).json();
        EXPECT_EQ(j["members"].size(), std::min(limit, all));
    }
}

/// Text and JSON output agree.
TEST_F(objects, are_told_alike_in_text_and_json) {
    make(3);
    const auto j = holdfast({"inspect", file, "--json"}).json();
    const std::string text = holdfast({"inspect", file}).out;
    for (const auto& type : j["types"]) {
        const std::string title = type["name"].get<std::string>() + ": " + type["objects"].dump() +
                                  " of " + type["bytes"].dump() + " bytes" +
                                  (type["is_array"] ? " an element" : "");
        EXPECT_EQ(count(text, title), 1U) << title << '\n' << text;
        EXPECT_TRUE(type["members"].is_array()) << type.dump();
        for (const auto& m : type["members"]) {
            const std::string where =
                "at " + m["offset"].dump() + ", " + m["bytes"].dump() + " bytes";
            EXPECT_GE(count(text, where), 1U) << where << '\n' << text;
        }
    }
    const auto checked = holdfast({"check", file, "--json"}).json()["objects"];
    EXPECT_EQ(checked, j["objects"]);
    EXPECT_EQ(checked["count"],
              checked["reachable"].get<int>() + checked["unreachable"].get<int>());
    const auto first = look("shelf");
    const auto by_offset = look(first["offset"].dump());
    EXPECT_EQ(first, by_offset);
    char hex[32];
    std::snprintf(hex, sizeof hex, "0x%lx", first["offset"].get<unsigned long>());
    EXPECT_EQ(look(hex), first);
    EXPECT_EQ(first["count"], 1);
}

TEST_F(objects, that_are_not_there_are_one_clear_error) {
    make(1);
    for (const char* const what : {"nobody", "48", "0xfffffffffffffff0", "18446744073709551600"}) {
        const outcome o = holdfast({"inspect", file, "--object", what});
        EXPECT_EQ(o.code, 2) << what;
        expect_one_clear_error(o);
    }
    make_region(dir / "map.hf", ending::closed);
    for (const char* const verb : {"inspect", "repair"}) {
        const outcome o = holdfast({verb, dir / "map.hf"});
        EXPECT_EQ(o.code, 7) << o.out;
        expect_one_clear_error(o);
    }
}

TEST_F(objects, with_a_wrong_count_are_told_and_mended) {
    make(3);
    const std::uint64_t header = shelf() - 16;
    const std::uint64_t was = read(header);
    write(header, was + 4);
    expect_violations("the count is 5, but 1 pointers lead here");
    const std::string damaged = read_file(file);
    repair({}, 0);
    EXPECT_TRUE(read_file(file + ".backup") == damaged);
    EXPECT_EQ(read(header), was);
    expect_sound();
    write(header, was + 4);
    const outcome again = repair({}, 2);  // the backup exists already
    expect_one_clear_error(again);
    EXPECT_NE(again.err.find("--backup"), std::string::npos) << again.err;
    EXPECT_EQ(read(header), was + 4);
    repair({"--backup", dir / "another.hf"}, 0);
    expect_sound();
    EXPECT_EQ(books(), 3);
}

// JSON output of a repair: before and after it, on a sound heap, with too many objects, refused.
TEST_F(objects, are_mended_and_told_of_in_json) {
    make(3);
    const std::uint64_t header = shelf() - 16;
    write(header, read(header) + 4);
    const auto told = holdfast({"repair", file, "--json"});
    EXPECT_EQ(told.code, 1);
    auto j = told.json();
    EXPECT_EQ(j["file"], file);
    EXPECT_EQ(j["verdict"], "can be mended");
    EXPECT_EQ(j["exit_code"], 1);
    EXPECT_EQ(j["violation_count"], 1);
    EXPECT_EQ(j["beyond_repair"], 0);
    EXPECT_EQ(j["violations"].size(), 1U);
    EXPECT_EQ(j["violations"][0]["can_be_mended"], true);
    EXPECT_EQ(j["applied"], false);
    EXPECT_FALSE(j.contains("mended"));
    j = repair({"--json"}, 0).json();
    EXPECT_EQ(j["verdict"], "mended");
    EXPECT_EQ(j["exit_code"], 0);
    EXPECT_EQ(j["applied"], true);
    EXPECT_EQ(j["backup"], file + ".backup");
    EXPECT_EQ(j["mended"]["counts"], 1);
    EXPECT_EQ(j["mended"]["pointers"], 0);
    EXPECT_EQ(j["violations_left"], 0);
    j = holdfast({"repair", file, "--json"}).json();
    EXPECT_EQ(j["verdict"], "sound");
    EXPECT_EQ(j["violation_count"], 0);
    EXPECT_EQ(j["exit_code"], 0);
    write(header, read(header) + 4);
    j = repair({"--json"}, 2).json();
    EXPECT_EQ(j["error"]["exit_code"], 2) << "the backup is there";
    const auto next = member(look("shelf"), "next")["offset"].get<std::uint64_t>();
    write(shelf() + next, 4096 * 40 + 8);
    j = holdfast({"repair", file, "--json"}).json();
    EXPECT_EQ(j["verdict"], "beyond repair");
    EXPECT_GT(j["beyond_repair"], 0);
    EXPECT_EQ(j["exit_code"], 1);
}

TEST_F(objects, that_nothing_leads_to_die) {
    make(100);
    const auto first = look("shelf");
    // The root refers to the second one; the first is unreachable.
    const std::uint64_t second = member(first, "next")["value"];
    const auto j = holdfast({"inspect", file, "--json"}).json();
    EXPECT_EQ(j["roots"][0]["object"], first["offset"]);
    write(j["roots"][0]["pointer"], second);
    expect_violations("but 0 pointers lead here");
    repair({}, 0);
    expect_sound();
    EXPECT_EQ(books(), 99);
    expect_sound();
    // Its characters are destroyed with it; the proxy of the last one stays.
    EXPECT_EQ(holdfast({"check", file, "--json"}).json()["objects"]["count"], 99 + 1);
}

TEST_F(objects, whose_pointers_lead_to_nothing_are_cut_where_that_was_asked_for) {
    make(10);
    const auto first = look("shelf");
    write(shelf() + member(first, "next")["offset"].get<std::uint64_t>(), 4096 * 40 + 8);
    expect_violations("where no object lives");
    const std::string before = read_file(file);
    repair({}, 1);
    EXPECT_TRUE(read_file(file) == before) << "the file has changed";
    EXPECT_FALSE(std::filesystem::exists(file + ".backup"));
    repair({"--cut-pointers"}, 0);
    expect_sound();
    EXPECT_EQ(books(), 1);
    expect_sound();
}

TEST_F(objects, of_unknown_types_are_beyond_repair) {
    make(3);
    char where[32];
    std::snprintf(where, sizeof where, "at offset 0x%lx;", static_cast<unsigned long>(shelf()));
    write(shelf() - 16, read(shelf() - 16) | std::uint64_t{0xff00} << 32);
    const outcome looked = holdfast({"inspect", file, "--object", "shelf"});
    EXPECT_EQ(looked.code, 2);
    EXPECT_NE(looked.err.find(where), std::string::npos) << looked.err;
    expect_violations("type is not described");
    const outcome o = repair({}, 1);
    EXPECT_NE(o.out.find("beyond repair"), std::string::npos) << o.out;
}

TEST_F(objects, whose_proxies_do_not_know_them_lose_them) {
    make(3);
    const std::uint64_t proxy = member(look("shelf"), "best")["value"];
    write(proxy, shelf());
    expect_violations("a proxy stands for what does not know it");
    repair({}, 0);
    expect_sound();
    EXPECT_EQ(member(look("shelf"), "best")["value"], proxy);
    EXPECT_EQ(books(), 3);
}

TEST_F(objects, in_cycles_are_freed_where_that_was_asked_for) {
    with_heap([&](nv::heap<>& heap, nv::root<book>&) {
        heap.atomic([&](nv::tx<>& tx) {
                auto a = tx.make<book>(1);
                auto b = tx.make<book>(2);
                a->next.set(tx, b);
                b->next.set(tx, a);
            })
            .value();
    });
    expect_sound();
    EXPECT_EQ(holdfast({"check", file, "--json"}).json()["objects"]["unreachable"], 2);
    repair({"--collect"}, 0);
    expect_sound();
    EXPECT_EQ(books(), 0);
    EXPECT_EQ(holdfast({"check", file, "--json"}).json()["objects"]["count"], 0);
}

TEST_F(objects, are_mended_in_the_end_however_often_that_is_killed) {
    constexpr unsigned seed = 11;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    make(3000);
    std::uint64_t at = shelf();
    const std::uint64_t next = member(look("shelf"), "next")["offset"];
    std::string bytes = read_file(file);
    for (; at != 0; std::memcpy(&at, bytes.data() + at + next, 8)) bytes[at - 16] += 3;
    write_file(file, bytes);
    for (int kills = 0; kills < 6; ++kills) {
        const std::string backup = dir / ("backup." + std::to_string(kills));
        const pid_t child = ::fork();
        if (child == 0) {
            (void)std::freopen("/dev/null", "w", stdout);
            (void)std::freopen("/dev/null", "w", stderr);
            ::execl(HF_PROGRAM, HF_PROGRAM, "repair", file.c_str(), "--apply", "--backup",
                    backup.c_str(), nullptr);
            ::_exit(99);
        }
        ::usleep(2000 + static_cast<unsigned>(random()) % 40000);
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
    }
    repair({"--backup", dir / "last"}, 0);
    expect_sound();
    EXPECT_EQ(books(), 3000);
}

}  // namespace
}  // namespace hf::test
