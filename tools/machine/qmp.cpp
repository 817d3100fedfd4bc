#include "qmp.hpp"

#include <algorithm>

namespace hf::machine {

namespace {

using nlohmann::json;

constexpr auto usual_patience = std::chrono::seconds(60);

}  // namespace

result<json> qmp::read(std::chrono::milliseconds patience) {
    const auto text = lines_.line(patience);
    if (!text) return tl::unexpected(text.error());
    json object = json::parse(*text, nullptr, false);
    if (object.is_object()) return object;
    return failure({errc::io, "understand QEMU", "its control channel", "it said: " + *text,
                    "try another version of QEMU"});
}

result<void> qmp::begin() {
    if (auto greeting = read(usual_patience); !greeting) return tl::unexpected(greeting.error());
    if (auto done = execute("qmp_capabilities"); !done) return tl::unexpected(done.error());
    return {};
}

result<json> qmp::execute(const std::string& command, json arguments) {
    const json question{{"execute", command}, {"arguments", std::move(arguments)}};
    if (auto sent = lines_.send(question.dump() + "\n"); !sent) return tl::unexpected(sent.error());
    for (;;) {
        auto answer = read(usual_patience);
        if (!answer) return answer;
        if (answer->contains("return")) return (*answer)["return"];
        if (answer->contains("error")) {
            return failure({errc::io, "have QEMU do " + command, "its control channel",
                            (*answer)["error"].value("desc", answer->dump()),
                            "try another version of QEMU"});
        }
        events_.push_back(std::move(*answer));
    }
}

result<json> qmp::await(const std::string& event, std::chrono::milliseconds patience) {
    for (;;) {
        const auto at = std::find_if(events_.begin(), events_.end(), [&](const json& one) {
            return one.value("event", std::string()) == event;
        });
        if (at != events_.end()) {
            json found = std::move(*at);
            events_.erase(events_.begin(), at + 1);
            return found;
        }
        auto next = read(patience);
        if (!next) return next;
        events_.push_back(std::move(*next));
    }
}

}  // namespace hf::machine
