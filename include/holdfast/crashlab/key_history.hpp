// holdfast/crashlab/key_history.hpp: a history of reads and writes of keys, and a check that it is
// linearizable. For targets whose discipline makes each operation durable at once, and for what
// threads read in any discipline.
//
// A value is explained if there is an order of the operations that has the value there, and in
// which no operation comes before one that had returned when it began. A key's value after a crash
// is checked like a read after all operations. For the operation W that wrote the value this means:
//
//   W had begun when the read returned, and
//   no other write N of the key began after W was surely done and was itself surely done when the
//   read began.
//
// A write is surely done when it has returned, or when a read that returned its value has returned.
// A remove is surely done when a read that nothing else explains has found the key absent. (Per key
// this is Gibbons and Korach, "Testing shared memories", SIAM J. Comput. 1997: if each value is
// written once, checking pairs of operations suffices. For values after a crash: Izraelevitz et
// al., "Linearizability of persistent memory objects", DISC 2016.)
#pragma once

#include <holdfast/crashlab/target.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hf::lab {

class key_history {
   public:
    using number = std::uint64_t;
    static constexpr number nothing = 0;

    /// Sets the key's initial value. Keys are absent otherwise.
    void holds(const std::string& key, number value) { of_[key].first = value; }
    /// Call before the operation begins. Each value is written once only; `nothing` is a remove.
    void writes(number operation, const std::string& key, number value) {
        of_[key].writes.push_back({operation, value});
    }
    /// Declares a read; the operation's result will be the value read.
    void reads(number operation, const std::string& key) { of_[key].reads.push_back(operation); }
    [[nodiscard]] std::vector<std::string> keys() const {
        std::vector<std::string> all;
        for (const auto& [key, k] : of_) all.push_back(key);
        return all;
    }

    /// Throws violation at the first read that cannot be explained.
    void judge_reads(const promised& all) const {
        for (const auto& [key, k] : of_) {
            for (const number r : k.reads) {
                const auto o = all.operations.find(r);
                if (o == all.operations.end() || !o->second.has_returned()) continue;
                if (k.explains(all, o->second.result, o->second.begun, o->second.returned)) {
                    continue;
                }
                throw violation("operation " + std::to_string(r) + " read " +
                                words_of(o->second.result) + " of the key " + key +
                                ", which was not there at any moment of it");
            }
        }
    }

    /// Checks the value of a key after a crash. Throws violation.
    void judge_remains(const promised& all, const std::string& key, number found) const {
        const auto k = of_.find(key);
        const bool is_explained =
            k == of_.end()
                ? found == nothing
                : k->second.explains(all, found, told_operation::never, told_operation::never);
        if (is_explained) return;
        throw violation("the key " + key + " has " + words_of(found) +
                        ", which the operations that have returned do not allow");
    }

   private:
    struct write {
        number operation;
        number value;
    };

    struct one_key {
        number first = nothing;
        std::vector<write> writes;
        std::vector<number> reads;

        [[nodiscard]] bool explains(const promised& all, number found, number begin,
                                    number end) const {
            if (found == first && !is_over(all, 0, begin, nullptr)) return true;
            for (const write& w : writes) {
                const auto o = all.operations.find(w.operation);
                if (w.value != found || o == all.operations.end() || o->second.begun >= end) {
                    continue;
                }
                if (!is_over(all, surely_done(all, w), begin, &w)) return true;
            }
            return false;
        }

        /// True if another write surely followed a value that was done at `done`, before `begin`.
        [[nodiscard]] bool is_over(const promised& all, number done, number begin,
                                   const write* but) const {
            return std::any_of(writes.begin(), writes.end(), [&](const write& n) {
                const auto o = all.operations.find(n.operation);
                return &n != but && o != all.operations.end() && done <= o->second.begun &&
                       surely_done(all, n) < begin;
            });
        }

        [[nodiscard]] number surely_done(const promised& all, const write& w) const {
            const auto o = all.operations.find(w.operation);
            number done = o == all.operations.end() ? told_operation::never : o->second.returned;
            for (const number r : reads) {
                const auto read = all.operations.find(r);
                if (read == all.operations.end() || !read->second.has_returned()) continue;
                if (read->second.result != w.value || read->second.returned >= done) continue;
                if (w.value != nothing || only_removed_by(all, w, read->second)) {
                    done = read->second.returned;
                }
            }
            return done;
        }

        /// A read found the key absent; true if no other remove and no initial state explains it.
        [[nodiscard]] bool only_removed_by(const promised& all, const write& w,
                                           const told_operation& read) const {
            if (first == nothing && !was_written_over(all, 0, read)) return false;
            return std::all_of(writes.begin(), writes.end(), [&](const write& n) {
                const auto o = all.operations.find(n.operation);
                return n.operation == w.operation || n.value != nothing ||
                       o == all.operations.end() || o->second.begun >= read.returned ||
                       was_written_over(all, o->second.returned, read);
            });
        }

        /// True if another write began after `done` and had returned when the read began.
        [[nodiscard]] bool was_written_over(const promised& all, number done,
                                            const told_operation& read) const {
            return std::any_of(writes.begin(), writes.end(), [&](const write& n) {
                const auto o = all.operations.find(n.operation);
                return o != all.operations.end() && done <= o->second.begun &&
                       o->second.returned < read.begun;
            });
        }
    };

    static std::string words_of(number value) {
        return value == nothing ? "nothing" : "value " + std::to_string(value);
    }

    std::map<std::string, one_key> of_;
};

}  // namespace hf::lab
