// tests/rooms/plain/memories.hpp: plain memory in files of every kind, and its words.
#pragma once

#include "plain/machine.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace hf::test {

struct kind_of_memory {
    std::string name;
    std::optional<medium_kind> medium;
    plain::working_image::way tracking;
};

inline std::vector<kind_of_memory> kinds_in_place() {
    using way = plain::working_image::way;
    return {{"in_place_written", std::nullopt, way::written},
            {"in_place_all", std::nullopt, way::all}};
}
inline std::vector<kind_of_memory> kinds_on_disk() {
    using way = plain::working_image::way;
    return {{"disk_written", medium_kind::file, way::written},
            {"disk_all", medium_kind::file, way::all}};
}
/// It prints its name.
inline void PrintTo(const kind_of_memory& k, std::ostream* out) { *out << k.name; }

class plain_memories : public on_tmpfs, public ::testing::WithParamInterface<kind_of_memory> {
   protected:
    using owner = std::unique_ptr<plain::machine>;

    [[nodiscard]] static plain::machine_options options(u64 bytes = u64{1} << 20) {
        plain::machine_options o;
        o.bytes = bytes;
        o.file.max_size = u64{64} << 20;
        o.file.medium = GetParam().medium;
        o.file.flush = flush_policy::always;
        o.tracking = GetParam().tracking;
        return o;
    }
    [[nodiscard]] owner open(u64 bytes = u64{1} << 20) const {
        return must(plain::machine::open(file, options(bytes)));
    }
    static void commit(plain::machine& m) { must(m.wait_durable(must(m.commit()))); }
    /// Word i of the memory.
    [[nodiscard]] static u64& word(const plain::machine& m, u64 i) {
        return reinterpret_cast<u64*>(m.memory().data())[i];
    }
};

inline auto memories_in_place() { return ::testing::ValuesIn(kinds_in_place()); }
inline auto memories_on_disk() { return ::testing::ValuesIn(kinds_on_disk()); }
inline auto memory_name = [](const ::testing::TestParamInfo<kind_of_memory>& i) {
    return i.param.name;
};

}  // namespace hf::test
