// The judge of the campaign, on invented histories.
#include "judge.hpp"

#include "base/checksum.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace hf::kill_test {
namespace {

/// A case with a few keys; each test defines the writes and the found state.
class trial {
   public:
    explicit trial(u32 keys) : known_(keys), found_(keys), settled_(keys) {
        all_.history.resize(keys);
        all_.sessions.resize(1);
        all_.name_of = [](u32 key) { return "key" + std::to_string(key); };
    }

    trial& session(u64 told, bool closed = false) {
        all_.sessions.back() = {told, closed};
        return *this;
    }
    trial& next_session(u64 told = 0, bool closed = false) {
        all_.sessions.push_back({told, closed});
        return *this;
    }
    trial& put(u32 key, u64 number, u64 ticket, u32 size = 100, u64 since = 1) {
        return write(key, write_kind::put, {key, size, number}, ticket, since);
    }
    trial& remove(u32 key, u64 ticket, u64 since = 1) {
        return write(key, write_kind::remove, {key, 0, 0}, ticket, since);
    }
    trial& known(u32 key, u64 number, u32 size = 100) {
        known_[key] = {true, size, number};
        return *this;
    }
    trial& find(u32 key, u64 number, u32 size = 100) {
        std::string bytes;
        values_.write({key, size, number}, bytes);
        return find_bytes(key, bytes);
    }
    trial& find_bytes(u32 key, const std::string& bytes) {
        observation& o = found_[key];
        o = {true, static_cast<u32>(bytes.size()), 0, checksum64(bytes.data(), bytes.size())};
        std::memcpy(&o.tag, bytes.data(), std::min(bytes.size(), sizeof(o.tag)));
        return *this;
    }

    verdict judged() {
        all_.known = known_.data();
        all_.found = found_.data();
        return judge(all_, values_, settled_.data());
    }
    std::size_t violations() { return judged().violations.size(); }
    [[nodiscard]] const key_state& settled(u32 key) const { return settled_[key]; }
    [[nodiscard]] const value_maker& values() const { return values_; }

   private:
    trial& write(u32 key, write_kind kind, value_id id, u64 ticket, u64 since) {
        const auto session = static_cast<u32>(all_.sessions.size() - 1);
        all_.history[key].push_back({session, kind, id, since, ticket});
        return *this;
    }

    value_maker values_{42};
    std::vector<key_state> known_;
    std::vector<observation> found_;
    std::vector<key_state> settled_;
    case_file all_{};
};

TEST(judge, accepts_the_end_of_an_epoch) {
    trial t(3);
    t.session(5).put(0, 1, 5).put(1, 2, 5).put(1, 3, 6).put(2, 4, 6);
    t.find(0, 1).find(1, 2);
    const verdict v = t.judged();
    EXPECT_TRUE(v.violations.empty());
    EXPECT_EQ(v.writes, 4U);
    EXPECT_EQ(v.lost, 2U);
    EXPECT_EQ(t.settled(1).number, 2U);
    EXPECT_FALSE(t.settled(2).present);
}

TEST(judge, accuses_when_a_durable_write_is_lost) {
    EXPECT_EQ(trial(1).session(6).put(0, 1, 6).violations(), 1U);
}

TEST(judge, accuses_when_an_older_durable_value_is_found) {
    EXPECT_EQ(trial(1).session(6).put(0, 1, 5).put(0, 2, 6).find(0, 1).violations(), 1U);
}

TEST(judge, accuses_when_a_durable_removal_is_lost) {
    EXPECT_EQ(trial(1).known(0, 9).session(6).remove(0, 6).find(0, 9).violations(), 1U);
}

TEST(judge, accuses_a_hole_within_an_epoch) {
    EXPECT_EQ(trial(2).session(4).put(0, 1, 5).put(1, 2, 5).find(0, 1).violations(), 1U);
}

TEST(judge, accuses_when_a_younger_epoch_survives_an_older_one) {
    EXPECT_EQ(trial(2).session(3).put(0, 1, 4).put(1, 2, 5).find(1, 2).violations(), 1U);
}

TEST(judge, accuses_when_more_than_the_last_epoch_is_lost) {
    EXPECT_EQ(trial(2).session(3).put(0, 1, 4).put(1, 2, 5).violations(), 1U);
}

TEST(judge, accuses_values_that_no_write_explains) {
    std::string torn;
    trial t(1);
    t.values().write({0, 100, 1}, torn);
    torn[70] = static_cast<char>(torn[70] ^ 1);
    EXPECT_EQ(t.put(0, 1, 5).find_bytes(0, torn).violations(), 1U);
    EXPECT_EQ(trial(1).put(0, 1, 5).find(0, 2).violations(), 1U);
    EXPECT_EQ(trial(1).find(0, 1).violations(), 1U);
}

TEST(judge, lets_a_write_in_flight_be_there_or_not) {
    EXPECT_EQ(trial(1).session(4).put(0, 1, in_flight).violations(), 0U);
    trial t(1);
    t.session(4).put(0, 1, in_flight).find(0, 1);
    const verdict v = t.judged();
    EXPECT_TRUE(v.violations.empty());
    EXPECT_EQ(v.unsettled, 1U);
    EXPECT_EQ(v.kept_in_flight, 1U);
}

TEST(judge, takes_a_surviving_write_in_flight_as_a_witness_of_its_epoch) {
    // It began while epoch 6 was current, so all of epoch 5 must be there.
    EXPECT_EQ(trial(2).put(0, 1, 5).put(1, 2, in_flight, 100, 6).find(1, 2).violations(), 1U);
}

TEST(judge, demands_everything_after_a_clean_close) {
    EXPECT_EQ(trial(1).session(4, true).put(0, 1, 5).violations(), 1U);
    EXPECT_EQ(trial(1).session(4, true).put(0, 1, 5).find(0, 1).violations(), 0U);
}

TEST(judge, gives_each_session_its_own_epoch) {
    trial t(2);
    t.session(5).put(0, 1, 5).put(0, 2, 6).put(1, 3, 6);
    t.next_session(8).put(1, 4, 8).put(0, 5, 9);
    EXPECT_EQ(t.find(0, 1).find(1, 4).violations(), 0U);
}

TEST(judge, accuses_when_a_later_session_brings_lost_writes_back) {
    // Key 0 shows that epoch 6 was lost; key 1 has a value of it.
    trial t(2);
    t.session(5).put(0, 2, 6).put(1, 3, 6);
    t.next_session(8).put(0, 4, 8).remove(0, 9);
    EXPECT_EQ(t.find(1, 3).find(0, 4).violations(), 0U);
    trial bad(3);
    bad.session(5).put(0, 2, 6).put(1, 3, 6).put(2, 4, 6);
    bad.next_session(8).put(2, 5, 9);
    EXPECT_EQ(bad.find(1, 3).violations(), 1U);
}

TEST(judge, accuses_when_an_epoch_is_used_twice) {
    trial t(1);
    t.session(5).put(0, 1, 6);
    t.next_session(5).put(0, 2, 6);
    EXPECT_GE(t.find(0, 2).violations(), 1U);
}

TEST(judge, decides_between_equal_states_by_what_the_other_keys_say) {
    // Absent in the beginning, after the removal in 5 and after that in 7: key 1 shows that 6 is
    // there.
    trial t(2);
    t.session(5).put(0, 1, 5).remove(0, 5).put(0, 2, 6).remove(0, 6).put(1, 3, 6).put(0, 4, 7);
    EXPECT_EQ(t.find(1, 3).violations(), 0U);
    // Durable up to 6, and key 0 was put in 6: absent can only be an older state.
    trial bad(2);
    bad.session(6).remove(0, 5).put(0, 2, 6).remove(0, 7).put(1, 3, 7);
    EXPECT_EQ(bad.violations(), 1U);
}

TEST(judge, tells_empty_and_short_values_apart_as_far_as_they_differ) {
    EXPECT_EQ(trial(1).session(5).put(0, 1, 5, 0).put(0, 2, 6, 0).find(0, 1, 0).violations(), 0U);
    EXPECT_EQ(trial(1).session(5).put(0, 1, 5, 3).find(0, 2, 3).violations(), 1U);
    EXPECT_EQ(trial(1).session(5).put(0, 1, 5, 0).violations(), 1U);
}

}  // namespace
}  // namespace hf::kill_test
