#include "bench/run.hpp"
namespace hf::bench { result<void> run_recovery(const options&, std::ostream&, nlohmann::json&){return {};} }
