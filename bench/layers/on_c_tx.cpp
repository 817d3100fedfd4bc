#include "bench/layers/made_on.hpp"

namespace hf::bench {

template std::unique_ptr<paper_work> open_on<nv::layer::c_tx>(const work_options& o);
template std::vector<operation_time> time_operations_on<nv::layer::c_tx>(const work_options& o,
                                                                         u64 rounds, unsigned runs);

}  // namespace hf::bench
