// tests/rooms/section/opened_group.hpp: a group of regions for a test, cut by hand.
#pragma once

#include <holdfast/section.h>
#include <holdfast/section_hooks.h>

#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <sys/vfs.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace hf::test {

/// A store of the program, as compiled code announces it.
template <class T>
void store(T& field, std::type_identity_t<T> value) {
    const int alone = hf_section_store(&field, sizeof field);
    field = value;
    if (alone != 0) hf_section_stored();
}

/// A new directory below the working directory, for tests of what only a disk does. path() is empty
/// if that lies in memory. The destructor removes it.
class directory_on_disk {
   public:
    directory_on_disk() {
        constexpr long tmpfs_magic = 0x01021994;
        struct statfs fs{};
        if (::statfs(".", &fs) != 0 || fs.f_type == tmpfs_magic) return;
        std::string name = std::filesystem::current_path() / "on-disk-XXXXXX";
        if (::mkdtemp(name.data()) != nullptr) path_ = name;
    }
    directory_on_disk(const directory_on_disk&) = delete;
    directory_on_disk& operator=(const directory_on_disk&) = delete;
    ~directory_on_disk() {
        if (!path_.empty()) std::filesystem::remove_all(path_);
    }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

   private:
    std::filesystem::path path_;
};

/// How stores are found, and how sections are kept atomic.
struct way {
    hf_stores stores;
    hf_mode mode;
};
inline constexpr way tracked{HF_STORES_TRACKED, HF_MODE_EPOCH};
inline constexpr way announced{HF_STORES_ANNOUNCED, HF_MODE_EPOCH};
inline constexpr way in_graph_mode{HF_STORES_ANNOUNCED, HF_MODE_GRAPH};

inline hf_group_options by_hand(hf_stores stores, hf_mode mode = HF_MODE_EPOCH) {
    hf_group_options o{};
    o.stores = stores;
    o.mode = mode;
    o.bytes = std::uint64_t{1} << 20;
    o.by_hand = 1;
    if (mode == HF_MODE_EPOCH) o.patience_us = 20'000;
    return o;
}

/// All ways are tried in each test.
class groups : public on_tmpfs, public ::testing::WithParamInterface<way> {
   protected:
    void open(hf_group_options o) const {
        ASSERT_EQ(hf_group_open(file.c_str(), &o), 0) << hf_section_error();
    }
    void open() const { open(options()); }
    [[nodiscard]] static hf_group_options options() {
        return by_hand(GetParam().stores, GetParam().mode);
    }
    [[nodiscard]] static bool is_graph() { return GetParam().mode == HF_MODE_GRAPH; }
    void reopen() const {
        ASSERT_EQ(hf_group_close(), 0) << hf_section_error();
        open();
    }
    void TearDown() override { static_cast<void>(hf_group_close()); }
};

inline auto all_ways() { return ::testing::Values(tracked, announced, in_graph_mode); }

inline std::string name_of(const ::testing::TestParamInfo<way>& p) {
    if (p.param.mode == HF_MODE_GRAPH) return "graph";
    return p.param.stores == HF_STORES_TRACKED ? "tracked" : "announced";
}

}  // namespace hf::test
