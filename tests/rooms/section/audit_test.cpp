// The debugging mode of a group (section/audited.hpp): stores that nothing announced are found and
// counted, announced ones and the runtime's own are not.
#include "section/opened_group.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <tuple>

namespace hf {
namespace {

using test::in_child;

class section_audit : public test::on_tmpfs,
                      public ::testing::WithParamInterface<std::tuple<const char*, hf_mode>> {
   protected:
    /// Opens, works, closes in a child that is audited. Returns the text on stderr, or "failed".
    [[nodiscard]] std::string audit(void (*work)(u64*)) const {
        int ends[2];
        if (::pipe(ends) != 0) return "failed";
        const int status = in_child([&] {
            ::dup2(ends[1], STDERR_FILENO);
            ::setenv("HOLDFAST_SECTION_AUDIT", std::get<0>(GetParam()), 1);
            auto o = test::by_hand(HF_STORES_ANNOUNCED, std::get<1>(GetParam()));
            if (hf_group_open(file.c_str(), &o) != 0) return 1;
            hf_region* const r = hf_region_open("words");
            auto* const words = static_cast<u64*>(hf_zeroed(r, 1024, 8));
            hf_root_set(r, "words", words);
            hf_section_cut();  // in epoch mode the zeroing has announced all of them until then
            work(words);
            return hf_group_close();
        });
        ::close(ends[1]);
        std::string said;
        std::array<char, 4096> piece{};
        for (ssize_t n = 1; n > 0;) {
            n = ::read(ends[0], piece.data(), piece.size());
            if (n > 0) said.append(piece.data(), static_cast<std::size_t>(n));
        }
        ::close(ends[0]);
        return status == 0 ? said : "failed";
    }
};

void locked(u64& word, bool is_announced) {
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    ::pthread_mutex_lock(&m);
    if (is_announced) {
        test::store(word, u64{1});
    } else {
        word = 1;
    }
    ::pthread_mutex_unlock(&m);
}

TEST_P(section_audit, finds_nothing_in_a_program_that_announces_every_store) {
    const std::string said = audit([](u64* w) {
        for (int i = 0; i < 10; ++i) locked(w[i], true);
        hf_section_cut();
        test::store(w[20], u64{1});  // a section of its own
        hf_free(hf_alloc(hf_region_open("words"), 40'000));
        void* const grown = hf_zeroed(hf_region_open("other"), 1, 4 << 20);
        hf_root_set(hf_region_open("other"), "grown", grown);
    });
    EXPECT_NE(said.find("audit: 0 unannounced stores; "), std::string::npos) << said;
    EXPECT_EQ(said.find("; 0 were announced"), std::string::npos) << said;
}

TEST_P(section_audit, names_a_store_that_nothing_announced) {
    const std::string said = audit([](u64* w) {
        locked(w[0], true);
        locked(w[700], false);
    });
    EXPECT_NE(said.find("audit: unannounced store to "), std::string::npos) << said;
    EXPECT_NE(said.find("audit: 1 unannounced store; "), std::string::npos) << said;
}

INSTANTIATE_TEST_SUITE_P(modes, section_audit,
                         ::testing::Combine(::testing::Values("compare"),
                                            ::testing::Values(HF_MODE_EPOCH, HF_MODE_GRAPH)));
#ifdef NDEBUG
INSTANTIATE_TEST_SUITE_P(exact, section_audit,
                         ::testing::Combine(::testing::Values("exact"),
                                            ::testing::Values(HF_MODE_EPOCH)));
#endif

class section_audit_switch : public test::on_tmpfs {
   protected:
    [[nodiscard]] int open_with(const char* value, hf_stores stores) const {
        return in_child([&] {
            ::setenv("HOLDFAST_SECTION_AUDIT", value, 1);
            auto o = test::by_hand(stores);
            const int refused = hf_group_open(file.c_str(), &o);
            return refused != 0 ? refused : hf_group_close();
        });
    }
};

TEST_F(section_audit_switch, refuses_a_mode_that_is_none_and_stores_that_are_found_by_pages) {
    const int usage = static_cast<int>(errc::usage);
    EXPECT_EQ(open_with("thorough", HF_STORES_ANNOUNCED), usage);
    EXPECT_EQ(open_with("compare", HF_STORES_TRACKED), usage);
    EXPECT_EQ(open_with("", HF_STORES_TRACKED), 0);
}

class section_audit_refusal : public test::on_tmpfs,
                              public ::testing::WithParamInterface<const char*> {
   protected:
    static int open(const std::filesystem::path& path, int is_private) {
        auto o = test::by_hand(HF_STORES_ANNOUNCED);
        o.private_image = is_private;
        return hf_group_open(path.c_str(), &o);
    }
};

// The refused opening reclaims memory, which touches lines; they are none of the next group's.
TEST_P(section_audit_refusal, leaves_no_lines_to_the_next_group) {
    const std::filesystem::path smaller = dir / "smaller";
    EXPECT_EQ(in_child([&] {
                  if (open(file, 0) != 0) return 1;
                  std::ignore = hf_zeroed(hf_region_open("garbage"), 1, 8 << 20);
                  std::ignore = hf_zeroed(hf_region_open("garbage"), 1, 8 << 20);
                  return hf_group_close();
              }),
              0);
    EXPECT_EQ(in_child([&] {
                  ::setenv("HOLDFAST_SECTION_AUDIT", GetParam(), 1);
                  if (open(file, 1) != static_cast<int>(errc::usage)) return 1;
                  ::unsetenv("HOLDFAST_SECTION_AUDIT");
                  if (open(smaller, 1) != 0) return 2;
                  if (hf_section_cut() != 0) return 3;
                  return hf_group_close();
              }),
              0);
}

INSTANTIATE_TEST_SUITE_P(modes, section_audit_refusal, ::testing::Values("thorough", "exact"));

}  // namespace
}  // namespace hf
