#include "server/session.hpp"

#include "store/store_number.hpp"

#include <algorithm>
#include <cstring>

namespace hf::detail {
namespace {

using outcome = store::outcome;

constexpr std::string_view line_end = "\r\n";
/// Data of at least this size is sent from the buffer it was read into, instead of being copied.
constexpr std::size_t large_data = total_output::small_bound;
/// Bytes of storage that a session keeps for the next data block.
constexpr std::size_t kept_draft = 1024;
/// Storage for a data block is reserved in advance up to this size; beyond, it grows with the bytes
/// that arrive.
constexpr std::size_t believed_size = 4096;
/// An expiry time up to 30 days is relative to now, a greater one is seconds since 1970.
constexpr std::int64_t longest_relative_exptime = 60 * 60 * 24 * 30;

}  // namespace

std::size_t session::consume(std::string_view input) {
    std::size_t taken = 0;
    turns_left_ = requests_a_turn;
    bound_ = shared_.total != nullptr && shared_.total->is_full()
                 ? std::min<u64>(shared_.output_bound, total_output::small_bound)
                 : shared_.output_bound;
    shared_.upcoming.forget();
    while (!finished_ && !blocked() && !paused()) {
        const auto rest = input.substr(taken);
        if (now_.line_size != 0) {
            if (!continue_get(rest.substr(0, now_.line_size))) {
                break;
            }
            taken += now_.line_size;
            now_.line_size = 0;
            continue;
        }
        const auto piece = framer_.next(rest);
        if (piece.what == framer::part::line) {
            const request& r = shared_.upcoming.take(input, piece.bytes, shared_.records);
            quiet_ = r.quiet;
            if (r.what <= verb::gats) {
                now_.what = r.what;
                now_.expires = expiry_of(r.exptime);
                now_.goes_on = false;
                begin_get(rest, r.words.empty() ? piece.bytes.substr(piece.bytes.size()) : r.words,
                          piece.taken);
                continue;
            }
            taken += piece.taken;
            --turns_left_;
            carry_out(r);
            continue;
        }
        if (piece.what == framer::part::get_begin || piece.what == framer::part::get_more ||
            piece.what == framer::part::get_end) {
            begin_long_get(rest, piece);
            if (now_.line_size == 0) taken += piece.taken;
            continue;
        }
        taken += piece.taken;
        if (piece.what == framer::part::data) {
            draft_.append(piece.bytes);
        } else if (piece.what == framer::part::data_end) {
            finish_update(piece.intact);
        } else if (piece.what == framer::part::overlong) {
            finished_ = true;
        } else if (piece.taken == 0) {
            break;
        }
    }
    if (paused() && taken < input.size()) shared_.count.add(tally::conn_yields);
    return taken;
}

void session::begin_get(std::string_view input, std::string_view words, std::size_t size) {
    now_.line_size = size;
    now_.position = static_cast<std::size_t>(words.data() - input.data());
}

/// A piece of a get whose line is longer than framer::max_get_line.
void session::begin_long_get(std::string_view input, const framer::piece& piece) {
    auto words = piece.bytes;
    if (piece.what == framer::part::get_begin) {
        const request r = parse_request(words);
        quiet_ = false;
        if (r.what > verb::gats) {
            framer_.skip_line();
            --turns_left_;
            return carry_out(r);
        }
        now_.what = r.what;
        words = r.words.empty() ? words.substr(words.size()) : r.words;
    } else {
        for (auto left = words; !left.empty();) {
            if (take_word(left).size() <= max_protocol_key) continue;
            if (piece.what == framer::part::get_more) framer_.skip_line();
            --turns_left_;
            return answer("CLIENT_ERROR bad command line format");
        }
    }
    now_.goes_on = piece.what != framer::part::get_end;
    begin_get(input, words, piece.taken);
}

void session::count_unread(bool closes) noexcept {
    if (shared_.total == nullptr) return;
    const u64 unread = closes ? 0 : answers_.size();
    shared_.total->change(counted_, unread);
    counted_ = unread;
}

void session::carry_out(const request& r) {
    switch (r.what) {
        case verb::set:
        case verb::add:
        case verb::replace:
        case verb::append:
        case verb::prepend:
        case verb::cas:
            return begin_update(r);
        case verb::remove:
            return remove(r);
        case verb::incr:
        case verb::decr:
            return arithmetic(r);
        case verb::touch:
            return touch(r);
        case verb::flush_all:
            return flush_all(r);
        case verb::stats:
            return statistics_of(r);
        case verb::version:
            return answer("VERSION " + shared_.version);
        case verb::verbosity:
            return answer("OK");
        case verb::no_op:
            return answer("MN");
        case verb::refuse:
            return answer(r.complaint);
        case verb::get:
        case verb::gets:
        case verb::gat:
        case verb::gats:
        case verb::quit:
        case verb::hang_up:
            break;
    }
    finished_ = true;
}

void session::begin_update(const request& r) {
    if (r.size > shared_.max_item_size) {
        shared_.count.add(tally::store_too_large);
        framer_.expect_waste(u64{r.size} + line_end.size());
        if (r.what == verb::set) {
            // As in memcached: a client whose data could not be stored must not read the old data.
            if (const auto gone = shared_.records.remove(r.key)) {
                return answer_write(gone->written_in, "SERVER_ERROR object too large for cache");
            }
        }
        return answer("SERVER_ERROR object too large for cache");
    }
    framer_.expect_block(r.size);
    now_.what = r.what;
    now_.flags = r.flags;
    now_.expires = expiry_of(r.exptime);
    now_.unique = r.number;
    now_.key_size = static_cast<u8>(r.key.size());
    std::memcpy(now_.key, r.key.data(), r.key.size());
    draft_.reserve(std::min<std::size_t>(r.size, believed_size));
}

void session::finish_update(bool intact) {
    if (!intact) {
        draft_.clear(kept_draft);
        return answer("CLIENT_ERROR bad data chunk");
    }
    auto& records = shared_.records;
    const std::string_view key(now_.key, now_.key_size);
    const store::attributes about{now_.flags, now_.expires};
    result<store::reply> done;
    switch (now_.what) {
        case verb::add:
            done = records.add(key, draft_, about);
            break;
        case verb::replace:
            done = records.replace(key, draft_, about);
            break;
        case verb::append:
            done = records.append(key, draft_.data(), shared_.max_item_size);
            break;
        case verb::prepend:
            done = records.prepend(key, draft_.data(), shared_.max_item_size);
            break;
        case verb::cas:
            done = records.cas(key, draft_, about, now_.unique);
            break;
        default:
            done = records.set(key, draft_, about);
            break;
    }
    draft_.clear(kept_draft);
    shared_.count.add(tally::cmd_set);
    if (!done) {
        return answer_error(done.error());
    }
    if (now_.what == verb::cas) {
        shared_.count.add(done->what == outcome::stored      ? tally::cas_hits
                          : done->what == outcome::not_found ? tally::cas_misses
                                                             : tally::cas_badval);
    }
    switch (done->what) {
        case outcome::stored:
            shared_.count.add(tally::total_items);
            return answer_write(done->written_in, "STORED");
        case outcome::exists:
            return answer_write(done->written_in, "EXISTS");
        case outcome::not_found:
            return answer_write(done->written_in, "NOT_FOUND");
        default:
            return answer_write(done->written_in, "NOT_STORED");
    }
}

bool session::continue_get(std::string_view line) {
    auto text = line;
    if (!now_.goes_on) {
        text.remove_suffix(1);
        if (text.ends_with('\r')) text.remove_suffix(1);
    }
    const auto nul = text.find('\0');
    text = text.substr(0, nul);
    auto words = text.substr(std::min(now_.position, text.size()));
    for (;;) {
        const auto key = take_word(words);
        if (key.empty()) {
            if (now_.goes_on && nul == std::string_view::npos) return true;
            if (now_.goes_on) framer_.skip_line();  // a line ends at its first NUL
            answers_.append("END\r\n");
            return true;
        }
        if (!get_one(key)) {
            if (now_.goes_on) framer_.skip_line();
            return true;
        }
        now_.position = static_cast<std::size_t>(key.data() + key.size() - line.data());
        --turns_left_;
        if (blocked() || paused()) {
            return false;
        }
    }
}

bool session::get_one(std::string_view key) {
    const bool touching = now_.what == verb::gat || now_.what == verb::gats;
    auto& found = shared_.scratch;
    bool hit = false;
    if (touching) {
        const auto touched = shared_.records.get_and_touch(key, now_.expires, found);
        if (!touched) {
            answer_error(touched.error());
            return false;
        }
        hit = touched->what == outcome::touched;
        shared_.count.add(tally::cmd_touch);
        shared_.count.add(hit ? tally::touch_hits : tally::touch_misses);
        if (shared_.ack_durable) {
            answers_.hold(touched->written_in);
        }
    } else {
        const auto read = shared_.records.get(key, found);
        if (!read) {
            answer_error(read.error());
            return false;
        }
        hit = *read;
        shared_.count.add(tally::cmd_get);
        shared_.count.add(hit ? tally::get_hits : tally::get_misses);
    }
    if (!hit) {
        using end = store::record::end;
        if (found.ended == end::expired) shared_.count.add(tally::get_expired);
        if (found.ended == end::flushed) shared_.count.add(tally::get_flushed);
        return true;
    }
    if (!has_room_for_value()) {
        answer("SERVER_ERROR out of memory writing get response");
        return false;
    }
    char digits[max_digits];
    answers_.append("VALUE ");
    answers_.append(key);
    answers_.append(" ");
    answers_.append(print_decimal(found.about.flags, digits));
    answers_.append(" ");
    answers_.append(print_decimal(found.data().size(), digits));
    if (now_.what == verb::gets || now_.what == verb::gats) {
        answers_.append(" ");
        answers_.append(print_decimal(found.cas, digits));
    }
    answers_.append(line_end);
    if (found.data().size() >= large_data) {
        const std::size_t begin = found.data_begin();
        answers_.append_block(found.take(), begin);
    } else {
        answers_.append(found.data());
    }
    answers_.append(line_end);
    return true;
}

bool session::has_room_for_value() const noexcept {
    const std::size_t size = shared_.scratch.data().size();
    return shared_.total == nullptr || size < large_data ||
           shared_.total->fits(answers_.size() - counted_ + size);
}

void session::remove(const request& r) {
    const auto gone = shared_.records.remove(r.key);
    if (!gone) {
        return answer_error(gone.error());
    }
    const bool hit = gone->what == outcome::removed;
    shared_.count.add(hit ? tally::delete_hits : tally::delete_misses);
    answer_write(gone->written_in, hit ? "DELETED" : "NOT_FOUND");
}

void session::arithmetic(const request& r) {
    const bool up = r.what == verb::incr;
    const auto done =
        up ? shared_.records.incr(r.key, r.number) : shared_.records.decr(r.key, r.number);
    if (!done) {
        return answer_error(done.error());
    }
    if (done->what == outcome::not_a_number) {
        return answer_write(done->written_in,
                            "CLIENT_ERROR cannot increment or decrement non-numeric value");
    }
    if (done->what != outcome::stored) {
        shared_.count.add(up ? tally::incr_misses : tally::decr_misses);
        return answer_write(done->written_in, "NOT_FOUND");
    }
    shared_.count.add(up ? tally::incr_hits : tally::decr_hits);
    char digits[max_digits];
    answer_write(done->written_in, print_decimal(done->number, digits));
}

void session::touch(const request& r) {
    const auto done = shared_.records.touch(r.key, expiry_of(r.exptime));
    if (!done) {
        return answer_error(done.error());
    }
    const bool hit = done->what == outcome::touched;
    shared_.count.add(tally::cmd_touch);
    shared_.count.add(hit ? tally::touch_hits : tally::touch_misses);
    answer_write(done->written_in, hit ? "TOUCHED" : "NOT_FOUND");
}

void session::flush_all(const request& r) {
    shared_.count.add(tally::cmd_flush);
    const auto done = shared_.records.flush_all(expiry_of(r.exptime));
    if (!done) {
        return answer_error(done.error());
    }
    answer_write(done->written_in, "OK");
}

void session::statistics_of(const request& r) {
    const auto text = shared_.stats ? shared_.stats(r.words) : std::nullopt;
    if (!text) {
        return answer("ERROR");
    }
    answers_.append(*text);
}

void session::answer(std::string_view text) {
    if (quiet_) {
        return;
    }
    answers_.append(text);
    answers_.append(line_end);
}

void session::answer_write(ticket written_in, std::string_view text) {
    if (quiet_) {
        return;
    }
    if (shared_.ack_durable) {
        answers_.hold(written_in);
    }
    answer(text);
}

void session::answer_error(const error& e) {
    switch (e.code) {
        case errc::no_space:
            shared_.count.add(tally::store_no_memory);
            // The text that memcached clients expect, then advice for the server's operator.
            return answer("SERVER_ERROR out of memory storing object: " + e.why + "; " + e.next);
        case errc::too_large:
            return answer("SERVER_ERROR object too large for cache");
        case errc::corrupt:
            return answer("SERVER_ERROR damaged record");
        case errc::denied:
            return answer("SERVER_ERROR the store is served read-only");
        default:
            return answer("SERVER_ERROR the store failed");
    }
}

u64 session::expiry_of(std::int64_t exptime) const {
    if (exptime <= 0) {
        return exptime == 0 ? 0 : 1;  // never, or long ago
    }
    const auto seconds = static_cast<u64>(exptime);
    return exptime > longest_relative_exptime ? seconds : shared_.records.now() + seconds;
}

}  // namespace hf::detail
