// Whoever finds damage while he has a lock gives it back: others would wait for it for ever.
#pragma once

#include "base/random.hpp"
#include "index/common/batch.hpp"
#include "index/common/index_fixture.hpp"
#include "scratch.hpp"
#include "support/effort.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>

namespace hf::test {

template <class Tree>
[[nodiscard]] typename Tree::kept key_beside_damage(u64 number) {
    const u64 spread = number * 7919 % 100003;
    if constexpr (std::is_same_v<typename Tree::kept, u64>) {
        return spread;
    } else {
        return "key " + std::to_string(spread);
    }
}

[[nodiscard]] inline std::vector<u64> words_of(const std::filesystem::path& file) {
    std::vector<u64> words(std::filesystem::file_size(file) / sizeof(u64));
    std::ifstream in(file, std::ios::binary);
    in.read(reinterpret_cast<char*>(words.data()),
            static_cast<std::streamsize>(words.size() * sizeof(u64)));
    return words;
}

/// Some of those in use, behind the header, become others.
inline void damage_words(std::vector<u64>& words, splitmix64& random) {
    std::vector<std::size_t> used;
    for (std::size_t i = layout::page_size / sizeof(u64); i < words.size(); ++i) {
        if (words[i] != 0) used.push_back(i);
    }
    const auto any = [&]() -> u64& { return words[used[random() % used.size()]]; };
    for (u64 edits = 1 + random() % 12; edits > 0; --edits) {
        u64& word = any();
        switch (random() % 4) {
            case 0:
                word ^= u64{1} << random() % 64;
                break;
            case 1:
                word = random();
                break;
            case 2:
                word = any();
                break;
            default:
                word = 0;
        }
    }
}

/// Inserts, in batches and alone, and removes.
template <class Tree>
void write_beside_damage(Tree& t) {
    using index = typename Tree::tree;
    using kept = typename Tree::kept;
    const auto anyway = [](const auto& work) {
        try {
            work();
        } catch (const std::exception&) {  // as it should be
        }
    };
    std::vector<std::pair<kept, kept>> all;
    for (u64 i = 700; i < 1400; ++i) {
        all.emplace_back(key_beside_damage<Tree>(i), key_beside_damage<Tree>(i));
    }
    const std::vector<batch_entry<index>> entries(all.begin(), all.end());
    for (std::size_t i = 0; i + batch_entries <= entries.size(); i += 2 * batch_entries) {
        const auto piece = std::span(entries).subspan(i, batch_entries);
        anyway([&] { std::ignore = insert_many(*t.index, *t.space, piece); });
    }
    for (const auto& [k, v] : entries) {
        anyway([&] {
            typename index::operation op(*t.space);
            std::ignore = t.index->insert(op, k, v);
        });
    }
    for (u64 i = 0; i < 1400; ++i) {
        anyway([&] { t.remove(key_beside_damage<Tree>(i)); });
    }
}

/// A damaged copy is opened, and written to.
template <class Tree>
void use_damaged(std::vector<u64> words, const std::filesystem::path& file, u64 seed) {
    splitmix64 random(seed);
    damage_words(words, random);
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(words.data()),
               static_cast<std::streamsize>(words.size() * sizeof(u64)));
    try {
        Tree t(file, u64{1} << 30, sweeping::by_hand);  // a sweep would find most of it
        write_beside_damage(t);
    } catch (const std::exception&) {  // it can't be opened
    }
}

/// In processes of their own: what is written where there is damage may end one (docs/eager.md).
/// Only, it must not wait for ever.
template <class Tree>
void writers_end_beside_damage(u64 trials) {
    const scratch_directory dir;
    {
        Tree t(dir / "sound.hf");
        for (u64 i = 0; i < 700; ++i) {
            t.insert(key_beside_damage<Tree>(i), key_beside_damage<Tree>(i));
        }
        must(t.space->close());
    }
    const std::vector<u64> sound = words_of(dir / "sound.hf");
    for (u64 seed = 0; seed < trials; ++seed) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::alarm(20);
            // It may not be able to open the copy, which is no failure here.
            if (std::freopen("/dev/null", "w", stdout) != nullptr &&
                std::freopen("/dev/null", "w", stderr) != nullptr) {
                use_damaged<Tree>(sound, dir / "damaged.hf", seed);
            }
            ::_exit(0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_FALSE(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
            << "seed " << seed << ": it waits for ever";
        std::filesystem::remove(dir / "damaged.hf");
    }
}

}  // namespace hf::test
