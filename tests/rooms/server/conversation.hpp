// tests/rooms/server/conversation.hpp: a session without a socket.
#pragma once

#include "server/session.hpp"
#include "support/temporary_store.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace hf::test {

/// A session on a store, with a client that may send and read slowly.
class conversation {
   public:
    explicit conversation(store& records) : context(records), session(context) {
        context.version = "test";
    }

    /// The client sends `bytes`; the session processes as much as it can.
    void send(std::string_view bytes) {
        input_.append(bytes);
        go_on();
    }
    /// Lets the session process its remaining input.
    void go_on() {
        do {
            input_.erase(0, session.consume(input_));
        } while (session.paused());
    }
    /// The client reads up to `most` bytes of the available output.
    std::string read(std::size_t most = static_cast<std::size_t>(-1)) {
        std::string got;
        while (got.size() < most && session.answers().sendable() != 0) {
            std::array<std::string_view, 3> pieces;
            const std::size_t count = session.answers().gather(pieces);
            std::size_t size = 0;
            for (std::size_t i = 0; i < count && got.size() < most; ++i) {
                const auto piece = pieces[i].substr(0, most - got.size());
                got += piece;
                size += piece.size();
            }
            session.answers().sent(size);
        }
        return got;
    }
    /// Sends, and reads all output.
    std::string talk(std::string_view bytes) {
        send(bytes);
        std::string got = read();
        for (;;) {
            go_on();
            const auto more = read();
            if (more.empty()) {
                return got;
            }
            got += more;
        }
    }
    [[nodiscard]] const std::string& untaken() const { return input_; }

    detail::session_context context;
    detail::session session;

   private:
    std::string input_;
};

}  // namespace hf::test
