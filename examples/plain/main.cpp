// Accounts that survive crashes: ordinary structs and plain stores, in transactions
// (docs/plain_memory.md).
//
//     hf_example_plain FILE [crash]
//
// Moves money a thousand times and prints the sum, which never changes; with `crash` it ends in the
// middle of one more transfer.
#include <holdfast/plain.hpp>

#include <cstdlib>
#include <iostream>
#include <numeric>

struct bank {  // initially all zeros
    std::uint64_t transfers;
    std::int64_t balance[100];
};

int main(int argc, char** argv) {
    hf::plain_options options;
    options.bytes = sizeof(bank);
    auto file = hf::plain_memory::open(argc > 1 ? argv[1] : "bank.hf", options);
    if (!file) {
        std::cerr << file.error().to_string() << '\n';
        return file.error().exit_code();
    }
    bank& b = *file->root<bank>();
    const auto move = [&b](std::int64_t amount) {
        const std::uint64_t n = ++b.transfers;
        b.balance[n * 7 % 100] -= amount;
        if (amount > 500) throw "too much";  // the whole transfer is taken back
        b.balance[n * 13 % 100] += amount;
    };
    for (std::int64_t i = 0; i < 1000; ++i) {
        try {
            if (auto done = file->atomic([&] { move(i * 37 % 600); }); !done) return 1;
        } catch (const char*) {
        }
    }
    if (argc > 2) {
        b.balance[0] += 1'000'000;  // not committed
        std::abort();
    }
    const auto sum = std::accumulate(std::begin(b.balance), std::end(b.balance), std::int64_t{0});
    std::cout << b.transfers << " transfers, sum " << sum << '\n';
}
