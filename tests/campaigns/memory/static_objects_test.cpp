// Objects of static storage duration: std::exit() closes their files in order, though slots of the
// main thread are destroyed before them, and threads that used them have ended.
#include <holdfast/checkpoint.hpp>
#include <holdfast/heap.hpp>
#include <holdfast/map.hpp>
#include <holdfast/snapshot.hpp>

#include "support/must.hpp"
#include "support/scratch.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

namespace hf::test {
namespace {

constexpr u64 small = u64{8} << 20;

class static_objects : public ::testing::TestWithParam<const char*> {
   protected:
    /// Runs `use` in a process that ends by std::exit(), in its main thread.
    static void expect_exit(const std::function<void()>& use) {
        EXPECT_EQ(in_child([&use]() -> int {
                      use();
                      std::exit(::testing::Test::HasFailure() ? 1 : 0);
                  }),
                  0);
    }
    static void in_another_thread(const std::function<void()>& work) { std::thread(work).join(); }

    static region_options region() {
        region_options o;
        o.initial_size = small;
        o.max_size = small;
        return o;
    }

    scratch_directory dir;
    std::filesystem::path file = dir / "static.hf";
};

map_options of_kind(const std::string& kind, const region_options& region) {
    map_options o;
    o.region = region;
    if (kind == "incll") return o;
    o.kind = discipline::eager;
    o.index = kind;
    return o;
}

TEST_P(static_objects, map_is_closed_at_exit) {
    expect_exit([this] {
        static map records = must(map::open(file, of_kind(GetParam(), region())));
        must(records.put("main", "1"));
        in_another_thread([] { must(records.put("other", "2")); });
    });
    const map again = must(map::open(file, of_kind(GetParam(), region())));
    EXPECT_FALSE(again.stats().recovered);
    std::string value;
    EXPECT_TRUE(must(again.get("main", value)));
    EXPECT_TRUE(must(again.get("other", value)));
    EXPECT_EQ(value, "2");
}

INSTANTIATE_TEST_SUITE_P(kinds, static_objects, ::testing::Values("incll", "clht", "masstree"),
                         [](const auto& p) { return std::string(p.param); });

struct node {
    nv::p<u64> value;
};

using static_object = static_objects;

TEST_F(static_object, heap_is_closed_at_exit) {
    nv::heap_options options;
    options.region = region();
    expect_exit([&] {
        static nv::heap<> heap = must(nv::heap<>::open(file, options));
        static auto root = must(heap.root<node>("root"));
        const auto add = [] {
            must(heap.atomic([](nv::tx<>& tx) {
                auto made = tx.make<node>();
                made->value.set(tx, 7);
                root.set(tx, std::move(made));
            }));
        };
        add();
        in_another_thread(add);
    });
    const auto heap = must(nv::heap<>::open(file, options));
    EXPECT_EQ(heap.numbers().recovered_records, 0U);
}

TEST_F(static_object, snapshot_is_closed_at_exit) {
    snapshot_options options;
    options.bytes = small / 8;
    options.region.medium = medium_kind::file;
    expect_exit([&] {
        static snapshot memory = must(snapshot::open(file, options));
        *memory.root<u64>() = 7;
        must(memory.checkpoint());
        in_another_thread([] { memory.root<u64>()[1] = 8; });
        must(memory.checkpoint());
    });
    const snapshot again = must(snapshot::open(file, options));
    EXPECT_FALSE(again.stats().recovered);
    EXPECT_EQ(again.root<u64>()[1], 8U);
}

TEST_F(static_object, checkpointed_memory_is_closed_at_exit) {
    checkpointed_options options;
    options.region = region();
    expect_exit([&] {
        static checkpointed memory = must(checkpointed::open(file, options));
        const auto use = [] {
            checkpointed::operation op(memory);
            void* const block = must(op.allocate(100));
            op.deallocate(block, 100);
        };
        use();
        in_another_thread(use);
    });
    EXPECT_FALSE(must(checkpointed::open(file, options)).recovered());
}

/// A function of a library (library.cpp), loaded by each object.
class loaded_library {
   public:
    loaded_library() : handle_(::dlopen(HF_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL)) {
        if (handle_ == nullptr) ADD_FAILURE() << ::dlerror();
    }
    loaded_library(const loaded_library&) = delete;
    loaded_library& operator=(const loaded_library&) = delete;
    ~loaded_library() {
        if (handle_ != nullptr) EXPECT_EQ(::dlclose(handle_), 0);
    }

    void use(const std::filesystem::path& map_file, const std::filesystem::path& heap_file) {
        using function = int(const char*, const char*);
        ASSERT_TRUE(handle_);
        auto* const call = reinterpret_cast<function*>(::dlsym(handle_, "use_both"));
        ASSERT_TRUE(call);
        EXPECT_EQ(call(map_file.c_str(), heap_file.c_str()), 0);
    }

   private:
    void* handle_;
};

class static_objects_of_a_library : public static_objects {
   protected:
    void expect_closed() {
        const map records = must(map::open(file, of_kind("incll", region())));
        EXPECT_FALSE(records.stats().recovered);
        std::string value;
        EXPECT_TRUE(must(records.get("main", value)));
        EXPECT_TRUE(must(records.get("other", value)));
        nv::heap_options options;
        options.region = region();
        EXPECT_EQ(must(nv::heap<>::open(objects, options)).numbers().recovered_records, 0U);
    }
    std::filesystem::path objects = dir / "objects.hf";
};

TEST_F(static_objects_of_a_library, are_closed_when_it_is_unloaded_or_at_exit) {
    expect_exit([&] {
        loaded_library().use(file, objects);
        loaded_library().use(file, objects);  // it was unloaded, or is the same one
    });
    expect_closed();
}

TEST_F(static_objects_of_a_library, are_closed_though_a_thread_that_used_them_ends_later) {
    const auto use = [&] {
        std::atomic<bool> has_used{false};
        std::atomic<bool> is_unloaded{false};
        auto library = std::make_unique<loaded_library>();
        std::thread late([&] {
            library->use(file, objects);
            has_used = true;
            has_used.notify_one();
            is_unloaded.wait(false);
        });
        has_used.wait(false);
        library.reset();
        is_unloaded = true;
        is_unloaded.notify_one();
        late.join();
        return HasFailure() ? 1 : 0;
    };
    // No std::exit(): the few bytes that the thread has left count as a leak there.
    EXPECT_EQ(in_child(use), 0);
    expect_closed();
}

}  // namespace
}  // namespace hf::test
