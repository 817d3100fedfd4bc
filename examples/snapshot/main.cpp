// A game of life that continues after a restart: ordinary structs and plain stores
// (docs/snapshot.md).
//
//     hf_example_snapshot FILE [GENERATIONS [crash]]
//
// Plays this many generations (1,000), with a checkpoint after each, and closes the file; with
// `crash` it ends in the middle of the next one without closing the file.
#include <holdfast/snapshot.hpp>

#include <cstdint>
#include <cstdlib>
#include <iostream>

namespace {

constexpr unsigned side = 256;

/// Initially all zeros.
struct world {
    std::uint64_t generation;
    std::uint32_t shown;  ///< index of the current board; not a pointer, since addresses change
    std::uint8_t board[2][side][side];
};

void seed(world& w) {
    std::uint32_t state = 1;
    for (auto& row : w.board[0]) {
        for (auto& cell : row) {
            state = state * 1'664'525 + 1'013'904'223;
            cell = static_cast<std::uint8_t>(state >> 31);
        }
    }
}

unsigned neighbours(const std::uint8_t (&board)[side][side], unsigned y, unsigned x) {
    unsigned n = 0;
    for (const unsigned dy : {side - 1, 0U, 1U}) {
        for (const unsigned dx : {side - 1, 0U, 1U}) {
            if (dy != 0 || dx != 0) n += board[(y + dy) % side][(x + dx) % side];
        }
    }
    return n;
}

void play(world& w) {
    const auto& now = w.board[w.shown];
    auto& next = w.board[1 - w.shown];
    for (unsigned y = 0; y < side; ++y) {
        for (unsigned x = 0; x < side; ++x) {
            const unsigned n = neighbours(now, y, x);
            next[y][x] = n == 3 || (n == 2 && now[y][x] != 0) ? 1 : 0;
        }
    }
    w.shown = 1 - w.shown;
    w.generation += 1;
}

int fail(const hf::error& why) {
    std::cerr << why.to_string() << '\n';
    return why.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
    const char* const path = argc > 1 ? argv[1] : "life.hf";
    const unsigned long generations = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1000;
    hf::snapshot_options options;
    options.bytes = sizeof(world);
    options.region.medium = hf::medium_kind::file;  // on tmpfs, too
    auto file = hf::snapshot::open(path, options);
    if (!file) return fail(file.error());

    world& w = *file->root<world>();
    if (w.generation == 0) seed(w);
    hf::ticket last = 0;
    for (unsigned long i = 0; i < generations; ++i) {
        play(w);
        const auto taken = file->checkpoint();  // becomes durable in the background
        if (!taken) return fail(taken.error());
        last = *taken;
    }
    if (argc > 3) {
        if (auto done = file->wait_durable(last); !done) return fail(done.error());
        play(w);  // this generation is lost
        std::abort();
    }
    unsigned alive = 0;
    for (const auto& row : w.board[w.shown]) {
        for (const auto cell : row) alive += cell;
    }
    const auto counted = file->stats();
    std::cout << "generation " << w.generation << ", " << alive << " cells alive; "
              << counted.lines_found << " lines changed, of " << counted.pages_looked_at
              << " pages\n";
    if (auto closed = file->close(); !closed) return fail(closed.error());
    return 0;
}
