// server/session.hpp: one client's conversation, without its socket.
//
// Purpose. Bytes go in, answers come out in an answer_queue, the store changes in between. Nothing
// here knows of sockets or threads, so tests and the fuzzer drive it byte by byte.
//
// I1  consume() is a function of the stream, not of its packets: what it did not take it wants to
//     see again, with more behind it.
// I2  Once the queue holds output_bound bytes nothing more is carried out: a get of many keys stops
//     between two keys and goes on when there is room. So a client that does not read costs at most
//     the bound and one value.
// I3  One call of consume() carries out a bounded number of requests, so that no client has a
// thread for itself.
//  I4  With acks that wait, the answer to every command that may write, whatever
// its outcome, is held until the
//     epoch that the outcome was true in is durable. Answers to reads are not held for themselves.
//
// Concurrency. None: a connection's thread owns it; so does the context that a worker's sessions
// share. Bad input. framing.hpp and protocol.hpp. An error of the store is answered with
// SERVER_ERROR.
#pragma once

#include <holdfast/store.hpp>

#include "server/answer_queue.hpp"
#include "server/counters.hpp"
#include "server/framing.hpp"
#include "server/protocol.hpp"
#include "server/upcoming.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace hf::detail {

/// What the sessions of one thread share.
struct session_context {
    explicit session_context(store& r) : records(r) {}

    store& records;
    std::size_t max_item_size = std::size_t{1} << 20;  ///< bytes of data
    std::size_t output_bound = std::size_t{1} << 20;   ///< bytes
    bool ack_durable = false;
    std::string version;
    /// What `stats <argument>` answers, END included; nullopt: no such statistics.
    std::function<std::optional<std::string>(std::string_view argument)> stats;
    counters count;
    store::record scratch;
    upcoming_requests upcoming;
};

class session {
   public:
    explicit session(session_context& shared) : shared_(shared) {}

    /// Takes what it can and returns how many bytes that were. Carries out up to requests_a_turn
    /// requests; the keys of a get count one each.
    std::size_t consume(std::string_view input);

    static constexpr int requests_a_turn = 1000;

    /// No further input will be taken; the connection ends when the answers are sent.
    [[nodiscard]] bool finished() const noexcept { return finished_; }
    /// Nothing is carried out until answers were sent.
    [[nodiscard]] bool blocked() const noexcept { return answers_.size() >= shared_.output_bound; }
    /// There may be more to carry out in the input as it is: others had to have their turn.
    [[nodiscard]] bool paused() const noexcept { return turns_left_ == 0; }
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
    /// Goes on with the get of `line`; false: the queue is full, or the turn is over.
    bool continue_get(std::string_view line);
    [[nodiscard]] bool get_one(std::string_view key);

    void answer(std::string_view text);
    void answer_write(ticket written_in, std::string_view text);
    void answer_error(const error& e);
    [[nodiscard]] u64 expiry_of(std::int64_t exptime) const;

    /// The get that is being carried out, or the update whose data is arriving.
    struct {
        verb what = verb::refuse;
        std::size_t line_size =
            0;  ///< get: bytes of its line, line feed included; 0: no get is under way
        std::size_t position = 0;  ///< get: where in the line the next key may begin
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
    int turns_left_ = requests_a_turn;
    bool quiet_ = false;
    bool finished_ = false;
};

}  // namespace hf::detail
