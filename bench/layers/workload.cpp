#include "bench/layers/workload.hpp"

namespace hf::bench {

// Each layer has its own file: on_base.cpp and so on.
template <class L>
std::unique_ptr<paper_work> open_on(const work_options& o);
template <class L>
std::vector<operation_time> time_operations_on(const work_options& o, u64 rounds, unsigned runs);

const std::vector<std::string>& layer_names() {
    static const std::vector<std::string> names{"base", "safe", "tx", "c-tx", "nodur"};
    return names;
}
const std::vector<std::string>& work_names() {
    static const std::vector<std::string> names{"SPS",    "SixDegs", "BTree", "HashTable",
                                                "RBTree", "SSCA",    "cache"};
    return names;
}

std::unique_ptr<paper_work> open_workload(const work_options& o) {
    switch (o.layer) {
        case layer_kind::base:
            return open_on<nv::layer::base>(o);
        case layer_kind::safe:
            return open_on<nv::layer::safe>(o);
        case layer_kind::tx:
            return open_on<nv::layer::tx>(o);
        case layer_kind::c_tx:
            return open_on<nv::layer::c_tx>(o);
        case layer_kind::nodur:
            return open_on<nv::layer::nodur>(o);
    }
    throw std::runtime_error("there is no such layer");
}

std::vector<operation_time> time_operations(const work_options& o, u64 rounds, unsigned runs) {
    switch (o.layer) {
        case layer_kind::base:
            return time_operations_on<nv::layer::base>(o, rounds, runs);
        case layer_kind::safe:
            return time_operations_on<nv::layer::safe>(o, rounds, runs);
        case layer_kind::tx:
            return time_operations_on<nv::layer::tx>(o, rounds, runs);
        case layer_kind::c_tx:
            return time_operations_on<nv::layer::c_tx>(o, rounds, runs);
        case layer_kind::nodur:
            return time_operations_on<nv::layer::nodur>(o, rounds, runs);
    }
    throw std::runtime_error("there is no such layer");
}

}  // namespace hf::bench
