// bench/server/script.hpp: the requests of a connection and the expected answers.
//
// Purpose. Requests and answers are generated before the clock starts. A value follows from its
// key, and no two connections change the same new record, so each answer is known byte for byte: a
// client sends one text and compares another.
#pragma once

#include "bench/server/options.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hf::bench {

class script {
   public:
    /// Requests of connection `which`, in batches of `depth`.
    [[nodiscard]] static script make(const server_bench_options& o, errand e, unsigned depth,
                                     unsigned which);
    /// Stores every `of`-th record, starting with record `first`.
    [[nodiscard]] static script load(const server_bench_options& o, u64 first, u64 of);

    /// Sent as a whole.
    struct batch {
        std::string_view requests;
        std::string_view answers;
        unsigned count;
    };
    [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
    [[nodiscard]] batch at(std::size_t i) const noexcept;

   private:
    struct end {
        std::size_t requests;
        std::size_t answers;
        unsigned count;
    };
    void add_get(const server_bench_options& o, u64 record);
    void add_set(const server_bench_options& o, u64 record);
    void add_delete(u64 record);
    void end_request(unsigned depth);
    void end_batch();

    std::string requests_;
    std::string answers_;
    std::vector<end> ends_;
    unsigned open_ = 0;  ///< requests in the unfinished batch
};

}  // namespace hf::bench
