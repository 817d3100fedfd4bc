// The plugin of failure-atomic sections: finds the stores of a program and announces those that may
// go to a region (<holdfast/section_hooks.h>), so that a program need not be changed for it.
//
//     hf-clang -O2 -c program.c            or by hand:
//     clang-19 -fpass-plugin=hf_section_pass.so -O2 -c program.c
//
// Place in the pipeline. The pass runs at the end of the optimiser (OptimizerLast), when scalars
// are in registers, loops are vectorised and idioms are memory intrinsics: what is left is what
// will be executed. With -flto it runs at the same place of each compilation, before linking: the
// hooks that it leaves are opaque calls, across which the link-time optimiser moves no write
// (announce.hpp).
//
// Before the optimiser the sizes of HF_TRANSIENT members are noted (provenance.hpp).
//
// Steps on a module, in this order:
//   1  calls of library functions that write go to their wrappers     library_calls.hpp
//   2  scatters become stores, x86 masked stores become general ones  scatter.hpp
//   3  writes are found; those to transient memory are elided         write_sites.hpp
//                                                                     provenance.hpp
//   4  neighbouring stores are joined into runs                       runs.hpp
//   5  each run is surrounded with a check and the hooks              announce.hpp
//   6  the report is written                                          report.hpp
//
// Literature. Chakrabarti and Boehm, "Durability Semantics for Lock-based Multithreaded Programs",
// HotPar 2013, section 2.7.
#include "announce.hpp"
#include "library_calls.hpp"
#include "options.hpp"
#include "provenance.hpp"
#include "report.hpp"
#include "runs.hpp"
#include "scatter.hpp"
#include "write_sites.hpp"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

namespace hf::pass {
namespace {

class section_pass : public llvm::PassInfoMixin<section_pass> {
   public:
    llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
        const options o = read_options();
        const provenance origins(o);
        report log(o);
        bool changed = redirect_library_calls(module, origins, log);
        auto& functions =
            analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
        announcer hooks(module, o);
        for (llvm::Function& f : module) {
            if (is_instrumented(f, o)) changed |= instrument(f, o, origins, functions, hooks, log);
        }
        log.finish(module);
        return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
    }

    /// Functions that are not to be optimised have stores, too.
    static bool isRequired() { return true; }

   private:
    static bool is_instrumented(const llvm::Function& f, const options& o) {
        return !f.isDeclaration() && !f.hasFnAttribute(llvm::Attribute::Naked) &&
               !o.skipped.contains(f.getName());
    }

    static bool instrument(llvm::Function& f, const options& o, const provenance& origins,
                           llvm::FunctionAnalysisManager& functions, announcer& hooks,
                           report& log) {
        const bool generalised = generalise_masked_stores(f);
        const bool split = split_scatters(f, origins) || generalised;
        if (split) functions.invalidate(f, llvm::PreservedAnalyses::none());
        const auto sites = find_write_sites(f, origins, log);
        auto runs = make_runs(sites, functions.getResult<llvm::AAManager>(f), o.merge);
        for (const struct run& r : runs) {
            for (const write_site& site : r.members) {
                log.add(*site.at, site.kind, outcome::instrumented,
                        r.members.size() > 1 ? "joined" : "");
            }
        }
        for (const struct run& r : runs) hooks.announce(r);
        if (!runs.empty()) functions.invalidate(f, llvm::PreservedAnalyses::none());
        return split || !runs.empty();
    }
};

/// Changes no code, only an argument that the section_pass reads.
class member_pass : public llvm::PassInfoMixin<member_pass> {
   public:
    llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
        note_member_sizes(module);
        return llvm::PreservedAnalyses::all();
    }
    static bool isRequired() { return true; }
};

void register_callbacks(llvm::PassBuilder& builder) {
    builder.registerPipelineStartEPCallback(
        [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
            passes.addPass(member_pass());
        });
    builder.registerOptimizerLastEPCallback(
        [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
            passes.addPass(section_pass());
        });
    // For opt-19 -passes=hf-section.
    builder.registerPipelineParsingCallback([](llvm::StringRef name,
                                               llvm::ModulePassManager& passes,
                                               llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
        if (name != "hf-section") return false;
        passes.addPass(section_pass());
        return true;
    });
}

}  // namespace
}  // namespace hf::pass

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "hf-section", "1", hf::pass::register_callbacks};
}
