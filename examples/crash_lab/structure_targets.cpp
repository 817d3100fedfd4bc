// This file and the structures themselves must be instrumented (hf_instrument in CMakeLists.txt):
// the lab sees only loads and stores of instrumented code.
#include "examples/crash_lab/structure_targets.hpp"

#include "examples/checkpoint/hash_map.hpp"
#include "examples/checkpoint/queue.hpp"
#include "examples/crash_lab/explored.hpp"

#include <deque>
#include <string>

namespace example {
namespace {

using std::to_string;

std::string text_of(std::uint64_t dice) {
    return std::string(dice % 90, static_cast<char>('a' + dice % 26)) + to_string(dice);
}

struct explored_queue : queue {
    using queue::queue;
    using model = std::deque<std::string>;
    static constexpr unsigned most = 6;
    static constexpr unsigned questions = 1 + most;

    void act(model& m, std::uint64_t dice) {
        if (dice % 3 == 0 || m.size() == most) {
            const auto popped = pop();
            require(popped.has_value() == !m.empty(), "a queue is empty where it must not be");
            if (!popped) return;
            require(*popped == m.front(), "another item than the first was popped");
            m.pop_front();
        } else {
            if (auto pushed = push(text_of(dice)); !pushed) throw violation("it is full");
            m.push_back(text_of(dice));
        }
    }
    void check(const model& m, unsigned question) {
        if (question == 0) {
            const auto found = size();
            if (found != m.size()) {
                throw violation(to_string(found) + " items instead of " + to_string(m.size()));
            }
            return;
        }
        if (question > m.size()) return;
        unsigned n = 0;
        bool right = false;
        for_each([&](std::string_view bytes) {
            right = ++n == question && bytes == m[n - 1];
            return n < question;
        });
        if (!right) throw violation("item " + to_string(question) + " is wrong");
    }
};

struct explored_map : hash_map {
    using hash_map::hash_map;
    using model = std::map<std::string, std::string>;
    static constexpr unsigned keys = 14;  // more than the first table's buckets: it grows
    static constexpr unsigned questions = 1 + keys;

    static std::string key(std::uint64_t n) { return "key " + to_string(n % keys); }

    void act(model& m, std::uint64_t dice) {
        const std::string k = key(dice / 4);
        if (dice % 4 == 0) {
            require(remove(k) == (m.erase(k) == 1), "a key is there or not, against the model");
        } else {
            if (auto done = put(k, text_of(dice)); !done) throw violation("it is full");
            m[k] = text_of(dice);
        }
    }
    void check(const model& m, unsigned question) {
        if (question == 0) {
            const auto found = size();
            if (found == m.size()) return;
            throw violation(to_string(found) + " records instead of " + to_string(m.size()));
        }
        const auto right = m.find(key(question - 1));
        const auto found = get(key(question - 1));
        if (found.has_value() == (right != m.end()) && (!found || *found == right->second)) return;
        throw violation(key(question - 1) + " has another value, or is there or not");
    }
};

/// An object of several lines that is logged as a whole.
class explored_object {
   public:
    static constexpr unsigned fields = 20;
    static constexpr unsigned questions = fields;
    using model = std::map<unsigned, std::uint64_t>;

    explicit explored_object(hf::checkpointed& file) : file_(file), there_(*file.root<object>()) {}

    void act(model& m, std::uint64_t dice) {
        hf::checkpointed::operation op(file_);
        if (auto ok = op.log(there_.stamp, &there_, sizeof there_); !ok) throw violation("no room");
        for (const std::uint64_t d : {dice, dice / 7}) {
            const auto field = static_cast<unsigned>(d % fields);
            there_.field[field] = dice;
            m[field] = dice;
        }
    }
    void check(const model& m, unsigned question) {
        const hf::checkpointed::operation op(file_);
        const auto right = m.find(question);
        const std::uint64_t found = there_.field[question];
        if (found == (right == m.end() ? 0 : right->second)) return;
        throw violation("field " + to_string(question) + " is " + to_string(found));
    }
    void mend() {
        if (auto ok = file_.mend([](hf::checkpointed::operation&) { return false; }); !ok) {
            throw violation(ok.error().to_string());
        }
    }

   private:
    struct object {
        std::atomic<std::uint64_t> stamp;
        std::uint64_t field[fields];
    };
    hf::checkpointed& file_;
    object& there_;
};

template <class S, bool is_new = false>
hf::lab::target_description one(const char* name, const char* what) {
    return {name,
            "structures",
            what,
            [](std::uint64_t seed) { return std::make_unique<structure_target<S, is_new>>(seed); },
            {}};
}

}  // namespace

std::vector<hf::lab::target_description> structure_cases() {
    return {one<explored_queue>("structures.queue", "pushes and pops of a queue of one's own"),
            one<explored_map>("structures.map", "puts and removes of a hash map that grows"),
            one<explored_object>("structures.object", "an object that is logged as a whole"),
            one<explored_queue, true>("structures.new", "a queue in a file that is created")};
}

}  // namespace example
