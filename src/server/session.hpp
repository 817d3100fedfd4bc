// server/session.hpp: one client's conversation, without its socket.
//
// Purpose. Consumes bytes, appends answers to an answer_queue, and changes the store. It uses
// neither sockets nor threads, so tests and the fuzzer drive it byte by byte.
//
// S1  consume() depends on the stream, not on its packets: unconsumed bytes must be passed again,
//     followed by more.
// S2  Once the queue contains output_bound bytes, nothing more is executed: a get of many keys
//     stops between two keys and continues when there is room. So a client that does not read costs
//     at most the bound and one value. While all clients together leave too much unread, the bound
//     is smaller (total_output.hpp). It is fixed at the beginning of consume(), so that blocked()
//     does not change by itself.
// S3  One call of consume() executes a bounded number of requests, so that no client monopolises a
//     thread.
// S4  With --ack durable, the answer to every command that may write, whatever its outcome, is held
//     until the epoch in which the outcome was true is durable. Answers to reads are not held for
//     themselves.
//
// Concurrency. None: owned by a connection's thread, as is the context that a worker's sessions
// share.
// Bad input. framing.hpp and protocol.hpp. An error of the store is answered with SERVER_ERROR.
#pragma once

#include <holdfast/store.hpp>

#include "server/answer_queue.hpp"
#include "server/counters.hpp"
#include "server/framing.hpp"
#include "server/protocol.hpp"
#include "server/total_output.hpp"
#include "server/upcoming.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace hf::detail {

/// The state that the sessions of one thread share.
struct session_context {
    explicit session_context(store& r) : records(r) {}

    store& records;
    std::size_t max_item_size = std::size_t{1} << 20;  ///< bytes of data
    std::size_t output_bound = std::size_t{1} << 20;   ///< bytes
    total_output* total = nullptr;                     ///< of all connections; nullptr: not bounded
    bool ack_durable = false;
    std::string version;
    /// The answer to `stats <argument>`, including END; nullopt: unknown argument.
    std::function<std::optional<std::string>(std::string_view argument)> stats;
    counters count;
    store::record scratch;
    upcoming_requests upcoming;
};

class session {
   public:
    explicit session(session_context& shared) : shared_(shared) {}

    /// Consumes input and returns how many bytes. Executes up to requests_a_turn requests; each key
    /// of a get counts as one.
    std::size_t consume(std::string_view input);

    static constexpr int requests_a_turn = 1000;

    /// No more input is consumed; the connection closes after the answers are sent.
    [[nodiscard]] bool finished() const noexcept { return finished_; }
    /// Nothing is executed until answers were sent.
    [[nodiscard]] bool blocked() const noexcept { return answers_.size() >= bound_; }
    /// consume() has reached its limit: there may be more to execute in the current input.
    [[nodiscard]] bool paused() const noexcept { return turns_left_ == 0; }
    /// Adds the unread bytes to the sum of all connections. The connection calls it after each
    /// attempt to send. `closes`: the connection ends, and its bytes leave the sum.
    void count_unread(bool closes = false) noexcept;
    [[nodiscard]] answer_queue& answers() noexcept { return answers_; }
    [[nodiscard]] const answer_queue& answers() const noexcept { return answers_; }

   private:
    void carry_out(const request& r);
    void begin_update(const request& r);
    void finish_update(bool intact);
    void remove(const request& r);
    void arithmetic(const request& r);
    void touch(const request& r);
    void flush_all(const request& r);
    void statistics_of(const request& r);
    /// Begins to answer `words`, the keys of a get that take `size` bytes of the input.
    void begin_get(std::string_view input, std::string_view words, std::size_t size);
    void begin_long_get(std::string_view input, const framer::piece& piece);
    /// Continues the get of `line`; false: the queue is full, or the limit is reached.
    bool continue_get(std::string_view line);
    [[nodiscard]] bool get_one(std::string_view key);
    /// Whether the value just read may be appended to the answers.
    [[nodiscard]] bool has_room_for_value() const noexcept;

    void answer(std::string_view text);
    void answer_write(ticket written_in, std::string_view text);
    void answer_error(const error& e);
    [[nodiscard]] u64 expiry_of(std::int64_t exptime) const;

    /// The get in progress, or the update whose data is arriving.
    struct {
        verb what = verb::refuse;
        std::size_t line_size =
            0;  ///< get: bytes of its line, line feed included; 0: no get is in progress
        std::size_t position = 0;  ///< get: where in the line the next key begins
        bool goes_on = false;      ///< get: more pieces of its line follow
        u64 expires = 0;
        u64 unique = 0;
        u32 flags = 0;
        u8 key_size = 0;
        char key[max_protocol_key] = {};
    } now_;

    session_context& shared_;
    framer framer_;
    answer_queue answers_;
    store::draft draft_;
    u64 bound_ = shared_.output_bound;  ///< of answers_
    u64 counted_ = 0;                   ///< this session's part of shared_.total
    int turns_left_ = requests_a_turn;
    bool quiet_ = false;
    bool finished_ = false;
};

}  // namespace hf::detail
