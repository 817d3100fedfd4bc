// A private image, opened under a small budget of memory: words that nothing announces stay.
#include "section/group.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <thread>

namespace hf {
namespace {

constexpr u64 words_of_page = 4096 / sizeof(u64);

class section_private_image : public test::on_tmpfs {
   protected:
    void open() {
        section::group_options o;
        o.announced = true;
        o.is_private = true;
        o.bytes = u64{1} << 20;
        o.max_bytes = u64{60} << 20;
        o.memory = u64{1} << 20;
        group = test::must(section::group::open(file, o, me));
        section::change by = group->change_by(me);
        words =
            static_cast<u64*>(test::must(group->memory().allocate_aligned(by, 0, 4 * 4096, 4096)));
        by.zero(words, 4 * 4096);
    }
    void announced_store(u64 word, u64 value) const {
        group->change_by(me).store(words[word], value);
    }
    /// A cut whose record the file contains when it returns.
    void cut() const {
        while (!group->is_ready()) std::this_thread::yield();
        ASSERT_TRUE(group->cut(*threads));
        test::must(group->epochs().journal()->redo()->apply_all());
    }

    std::unique_ptr<section::thread_table> threads = std::make_unique<section::thread_table>();
    section::thread_record& me = threads->claim();
    std::unique_ptr<section::group> group;
    u64* words = nullptr;
};

TEST_F(section_private_image, keeps_words_that_nothing_announces_beyond_its_budget) {
    open();
    announced_store(0, 1);
    cut();
    words[1] = 7;                  // in a page that was captured
    words[2 * words_of_page] = 8;  // in a line that is zero in the file
    for (u64 i = 2; i < 6; ++i) {
        announced_store(words_of_page, i);
        cut();
    }
    EXPECT_EQ(words[0], 1U);
    EXPECT_EQ(words[1], 7U);
    EXPECT_EQ(words[2 * words_of_page], 8U);
    test::must(group->close());
}

}  // namespace
}  // namespace hf
