// tests/support/temporary_store.hpp: a store on tmpfs with a clock set by the test, for tests of
// store and server.
#pragma once

#include <holdfast/store.hpp>

#include "support/must.hpp"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace hf::test {

/// A store in its own directory ($HF_TEST_DIR, or /dev/shm), which the destructor removes.
class temporary_store {
   public:
    /// `index`: of an eager store; "": checkpointed.
    explicit temporary_store(std::chrono::microseconds epoch = std::chrono::milliseconds(5),
                             std::string index = {})
        : epoch_(epoch), index_(std::move(index)) {
        const char* base = std::getenv("HF_TEST_DIR");
        std::string name =
            std::string(base != nullptr ? base : "/dev/shm") + "/holdfast-store-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) {
            std::abort();
        }
        directory_ = name;
        open();
    }
    temporary_store(const temporary_store&) = delete;
    temporary_store& operator=(const temporary_store&) = delete;
    ~temporary_store() {
        store_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }

    store& operator*() noexcept { return *store_; }
    store* operator->() noexcept { return &*store_; }

    /// Closes the store and returns its map, reopened.
    map as_map() {
        store_.reset();
        return must(map::open(file(), options()));
    }
    void open() {
        auto opened = store::over(must(map::open(file(), options())),
                                  [now = now_] { return now->load(std::memory_order_relaxed); });
        store_.emplace(must(std::move(opened)));
    }
    /// Closes the store and opens it for reading only.
    void open_to_inspect() {
        must(store_->close());
        store_.reset();
        map_options o = options();
        o.region.mode = open_mode::inspect;
        auto opened = store::over(must(map::open(file(), o)),
                                  [now = now_] { return now->load(std::memory_order_relaxed); });
        store_.emplace(must(std::move(opened)));
    }
    void reopen() {
        must(store_->close());
        store_.reset();
        open();
    }

    /// Overwrites the beginning of every occurrence of `bytes` in the file. It is on tmpfs, so the
    /// open store sees that at once.
    void overwrite(const std::string& bytes, const std::string& with) const {
        std::fstream f(file(), std::ios::in | std::ios::out | std::ios::binary);
        std::string whole(std::filesystem::file_size(file()), '\0');
        f.read(whole.data(), static_cast<std::streamsize>(whole.size()));
        for (auto at = whole.find(bytes); at != std::string::npos; at = whole.find(bytes, at + 1)) {
            f.seekp(static_cast<std::streamoff>(at))
                .write(with.data(), static_cast<std::streamsize>(with.size()));
        }
    }

    [[nodiscard]] std::uint64_t now() const { return now_->load(std::memory_order_relaxed); }
    void advance(std::uint64_t seconds) { now_->fetch_add(seconds, std::memory_order_relaxed); }

   private:
    [[nodiscard]] std::filesystem::path file() const { return directory_ / "store.hf"; }
    [[nodiscard]] map_options options() const {
        map_options o;
        o.epoch = epoch_;
        o.index = index_;
        return o;
    }

    std::chrono::microseconds epoch_;
    std::string index_;
    std::filesystem::path directory_;
    std::shared_ptr<std::atomic<std::uint64_t>> now_ =
        std::make_shared<std::atomic<std::uint64_t>>(1'700'000'000U);
    std::optional<store> store_;
};

}  // namespace hf::test
