// Versions of the transaction format: which regions an open accepts, upgrades or refuses.
#include "region_of_words.hpp"
#include "transaction/engine_kind.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hf::test {
namespace {

constexpr layout::room_format first_version{"transaction", 1};
constexpr layout::room_format second_version{"transaction", 2};
constexpr layout::room_format later_version{"transaction", transaction_format.version + 1};

class transaction_formats : public on_tmpfs, public ::testing::WithParamInterface<engine_kind> {
   protected:
    /// A region that says that it is of that version, with 7 in its fifth word.
    void make(const layout::room_format& version, bool ends_in_order) {
        region_of_words::how h;
        h.engine = GetParam();
        auto r = std::make_unique<region_of_words>(file, h);
        must(r->all().atomic([&](transaction& t) { t.store(r->word(5), u64{7}); }));
        must(r->up->file().update_super(
            [&](layout::superblock& s) { layout::set_version(s, version); }));
        if (ends_in_order) must(r->up->close());
    }
    [[nodiscard]] result<opened_region> open(const layout::room_format& known) const {
        const layout::room_format rooms[] = {epoch_format, alloc_format, known};
        opening_options o;
        o.file.kind = discipline::transaction;
        o.rooms = rooms;
        o.upgrades = transaction_upgrades();
        return open_region(file, o);
    }
    void expect_refused(const result<opened_region>& opened, const std::string& why) {
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code, errc::incompatible);
        EXPECT_NE(opened.error().to_string().find(why), std::string::npos)
            << opened.error().to_string();
    }
};

TEST_P(transaction_formats, an_older_version_is_upgraded_where_it_was_closed_in_order) {
    for (const layout::room_format& older : {first_version, second_version}) {
        std::filesystem::remove(file);
        make(older, true);
        region_of_words again(file);
        EXPECT_EQ(again.now(5), 7U);
        EXPECT_EQ(layout::version_of(again.up->file().super(), "transaction"),
                  transaction_format.version);
    }
}

TEST_P(transaction_formats, an_older_version_is_refused_with_its_records) {
    for (const layout::room_format& older : {first_version, second_version}) {
        std::filesystem::remove(file);
        make(older, false);
        const fingerprint before = fingerprint_of(file);
        expect_refused(open(transaction_format),
                       "version " + std::to_string(older.version) +
                           " of transaction, and was not closed in order");
        EXPECT_EQ(fingerprint_of(file), before) << "a refusal changes nothing";
    }
}

TEST_P(transaction_formats, a_later_version_is_refused_by_name) {
    make(later_version, true);
    expect_refused(open(transaction_format),
                   "version " + std::to_string(later_version.version) + " of transaction");
}

TEST_P(transaction_formats, a_program_of_the_first_version_refuses_todays_records) {
    make(transaction_format, false);
    expect_refused(open(first_version),
                   "version " + std::to_string(transaction_format.version) + " of transaction");
}

INSTANTIATE_TEST_SUITE_P(engines, transaction_formats,
                         ::testing::ValuesIn(all_engines().begin(), all_engines().end()),
                         [](const auto& p) { return std::string(to_string(p.param)); });

}  // namespace
}  // namespace hf::test
