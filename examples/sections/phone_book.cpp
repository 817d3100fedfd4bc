// std::map and std::string in a region: two maps, by name and by number, that say the same.
#include <holdfast/section.hpp>

#include "program.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace {

template <class T>
using in_region = hf::section::allocator<T>;
using text = std::basic_string<char, std::char_traits<char>, in_region<char>>;
using by_name =
    std::map<text, unsigned, std::less<>, in_region<std::pair<const text, unsigned>>>;
using by_number =
    std::map<unsigned, text, std::less<>, in_region<std::pair<const unsigned, text>>>;

struct book {
    explicit book(const hf::section::region& r)
        : names(r.allocator_for<by_name::value_type>()),
          numbers(r.allocator_for<by_number::value_type>()) {}
    by_name names;
    by_number numbers;
    unsigned long changes = 0;
};

hf_region* handle;
std::mutex lock;

book& open_book() {
    const std::lock_guard guard(lock);
    const hf::section::region r(handle);
    return r.root<book>("book", r);
}

text name_of(unsigned number) {
    const std::string plain = "somebody with the number " + std::to_string(number);
    return {plain.data(), plain.size(), in_region<char>(handle)};
}

void change(book& b, unsigned number, bool add) {
    const std::lock_guard guard(lock);
    b.changes += 1;
    if (add) {
        b.names.insert_or_assign(name_of(number), number);
        b.numbers.insert_or_assign(number, name_of(number));
    } else {
        b.names.erase(name_of(number));
        b.numbers.erase(number);
    }
}

int check() {
    const book& b = open_book();
    std::printf("%zu entries, %lu changes\n", b.names.size(), b.changes);
    if (b.changes == 0) return example::nothing_yet;
    if (b.names.size() != b.numbers.size()) return 1;
    for (const auto& [name, number] : b.names) {
        const auto found = b.numbers.find(number);
        if (found == b.numbers.end() || found->second != name || name != name_of(number)) return 1;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return example::run(argc, argv, 3, handle,
                        [](unsigned t) {
                            book& b = open_book();
                            std::minstd_rand random(t + 11);
                            for (;;) {
                                const auto number = static_cast<unsigned>(random() % 3000);
                                change(b, number, random() % 2 == 0);
                            }
                        },
                        check);
}
