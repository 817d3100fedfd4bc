#include "bench/run.hpp"
namespace hf::bench { result<void> run_pause(const options&, std::ostream&, nlohmann::json&){return {};} }
