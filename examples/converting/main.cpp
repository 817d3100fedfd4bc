// A hash table whose acknowledged operations survive crashes (docs/converting.md).
//
//   hf_example_converting FILE put KEY VALUE | get KEY | remove KEY | fill COUNT
//
// `fill` writes from two threads, prints a line, and kills the process.
#include "chained_table.hpp"

#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using table = example::chained_table<>;

struct opened {
    std::unique_ptr<hf::eager_space> space;
    std::unique_ptr<table> records;
};

hf::result<opened> open(const char* path) {
    opened all;
    hf::eager_options o;
    o.region.kind = hf::discipline::eager;
    o.sweep = hf::sweeping::in_background;
    const hf::layout::room_format rooms[] = {table::format};
    auto space = hf::eager_space::open(path, o, rooms, [&](hf::eager_space& s) -> hf::result<void> {
        auto made = table::open(s, "words");
        if (!made) return tl::unexpected(made.error());
        all.records = std::move(*made);
        return {};
    });
    if (!space) return tl::unexpected(space.error());
    all.space = std::move(*space);
    return all;
}

/// Stores 3 k as the value of each key k.
void fill(opened& all, hf::u64 count) {
    std::vector<std::thread> threads;
    for (hf::u64 t = 0; t < 2; ++t) {
        threads.emplace_back([&all, count, t] {
            for (hf::u64 k = t; k < count; k += 2) {
                table::operation op(*all.space);
                if (!all.records->upsert(op, k, 3 * k, hf::ignore)) std::exit(1);
            }
        });
    }
    for (std::thread& t : threads) t.join();
    (void)::raise(SIGKILL);
}

int run(opened& all, const std::string& verb, const std::vector<hf::u64>& numbers) {
    if (verb == "fill" && numbers.size() == 1) fill(all, numbers[0]);
    table::operation op(*all.space);
    if (verb == "put" && numbers.size() == 2) {
        return all.records->upsert(op, numbers[0], numbers[1], hf::ignore) ? 0 : 1;
    }
    if (verb == "remove" && numbers.size() == 1) {
        return all.records->remove(op, numbers[0], hf::ignore) ? 0 : 1;
    }
    if (verb == "get" && numbers.size() == 1) {
        const auto say = [](hf::u64 v) { std::printf("%llu\n", (unsigned long long)v); };
        return all.records->get(op, numbers[0], say) ? 0 : 1;
    }
    std::fprintf(stderr, "put KEY VALUE, get KEY, remove KEY or fill COUNT\n");
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    auto all = open(argv[1]);
    if (!all) {
        std::fprintf(stderr, "%s\n", all.error().to_string().c_str());
        return 1;
    }
    std::vector<hf::u64> numbers;
    for (int i = 3; i < argc; ++i) numbers.push_back(std::strtoull(argv[i], nullptr, 10));
    const int status = run(*all, argv[2], numbers);
    const auto closed = all->space->close();
    return closed ? status : 1;
}
