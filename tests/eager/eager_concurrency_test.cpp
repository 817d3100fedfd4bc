#include "list_fixture.hpp"

#include <atomic>
#include <thread>

namespace hf::test {
namespace {

class eager_threads : public on_tmpfs {};

/// A node that was given back too early would have another's value, or none.
TEST_F(eager_threads, read_nodes_that_others_retire) {
    eager_file f(file);
    for (u64 i = 0; i < 50; ++i) f.stack->push(i);
    std::atomic<bool> over{false};
    std::thread reader([&] {
        while (!over) {
            for (const u64 v : f.stack->values()) ASSERT_LT(v, 1000U);
        }
    });
    std::vector<std::thread> writers;
    for (unsigned t = 0; t < 2; ++t) {
        writers.emplace_back([&, t] {
            for (u64 i = 0; i < 3000; ++i) {
                f.stack->push((i + t) % 1000);
                f.stack->pop();
            }
        });
    }
    for (std::thread& t : writers) t.join();
    over = true;
    reader.join();
    EXPECT_EQ(f.stack->values().size(), 50U);
}

TEST_F(eager_threads, sweep_beside_each_other_and_writers) {
    eager_file f(file);
    for (u64 i = 0; i < 5000; ++i) f.stack->push(i % 1000);
    f.kill();
    f.open(sweeping::in_background, 2);
    std::vector<std::thread> writers;
    for (unsigned t = 0; t < 2; ++t) {
        writers.emplace_back([&] {
            for (u64 i = 0; i < 2000; ++i) {
                f.stack->pop();
                f.stack->push(i % 1000);
            }
        });
    }
    for (std::thread& t : writers) t.join();
    must(f.space->wait_for_sweep());
    const auto all = f.stack->values();
    EXPECT_EQ(all.size(), 5000U);
    for (const u64 v : all) ASSERT_LT(v, 1000U);
}

}  // namespace
}  // namespace hf::test
