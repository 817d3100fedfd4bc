#include "report.hpp"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>

namespace hf::pass {
namespace {

constexpr std::array<const char*, 5> outcome_names{"instrumented", "elided", "redirected",
                                                   "external", "unannounced"};

const char* name_of(outcome result) { return outcome_names[static_cast<std::size_t>(result)]; }

/// The file to write: of a directory, one named after the module.
std::string output_path(const std::string& wanted, const llvm::Module& module) {
    if (!llvm::sys::fs::is_directory(wanted)) return wanted;
    std::string name = module.getModuleIdentifier();
    for (char& c : name) {
        if (c == '/') c = '_';
    }
    llvm::SmallString<256> path(wanted);
    llvm::sys::path::append(path, name + ".json");
    return path.str().str();
}

}  // namespace

void report::add(const llvm::Instruction& at, llvm::StringRef what, outcome result,
                 llvm::StringRef detail) {
    entry e{result, what.str(), detail.str(), at.getFunction()->getName().str(), "", 0};
    if (const llvm::DebugLoc& location = at.getDebugLoc()) {
        e.file = location->getFilename().str();
        e.line = location.getLine();
    }
    entries_.push_back(std::move(e));
}

void report::add(const llvm::Function& function, outcome result, llvm::StringRef detail) {
    entries_.push_back({result, function.getName().str(), detail.str(), "", "", 0});
}

void report::finish(const llvm::Module& module) const {
    for (const entry& e : entries_) {
        if (!options_.strict || e.result != outcome::unannounced) continue;
        module.getContext().emitError(e.file + ":" + std::to_string(e.line) + ": " + e.function +
                                      ": a write that cannot be announced: " + e.what + ": " +
                                      e.detail);
    }
    if (options_.report.empty()) return;
    const std::string path = output_path(options_.report, module);
    std::error_code failed;
    llvm::raw_fd_ostream out(path, failed);
    if (failed) {
        module.getContext().emitError("cannot write the report " + path + ": " + failed.message());
        return;
    }
    if (llvm::StringRef(path).ends_with(".json")) {
        write_json(out, module);
    } else {
        write_text(out, module);
    }
}

std::array<unsigned, 5> report::count() const {
    std::array<unsigned, 5> counts{};
    for (const entry& e : entries_) ++counts[static_cast<std::size_t>(e.result)];
    return counts;
}

void report::write_json(llvm::raw_ostream& out, const llvm::Module& module) const {
    llvm::json::OStream json(out, 1);
    json.object([&] {
        json.attribute("module", module.getModuleIdentifier());
        json.attributeObject("counts", [&] {
            const auto counts = count();
            for (std::size_t i = 0; i < counts.size(); ++i) {
                json.attribute(outcome_names[i], counts[i]);
            }
        });
        json.attributeArray("defined", [&] {
            for (const llvm::Function& f : module) {
                if (!f.isDeclaration() && !f.hasLocalLinkage()) json.value(f.getName());
            }
        });
        json.attributeArray("writes", [&] {
            for (const entry& e : entries_) {
                json.object([&] {
                    json.attribute("outcome", name_of(e.result));
                    json.attribute("what", e.what);
                    json.attribute("detail", e.detail);
                    json.attribute("function", e.function);
                    json.attribute("file", e.file);
                    json.attribute("line", e.line);
                });
            }
        });
    });
    out << "\n";
}

void report::write_text(llvm::raw_ostream& out, const llvm::Module& module) const {
    out << module.getModuleIdentifier() << ":";
    const auto counts = count();
    for (std::size_t i = 0; i < counts.size(); ++i) {
        out << (i == 0 ? " " : ", ") << counts[i] << " " << outcome_names[i];
    }
    out << "\n";
    for (const entry& e : entries_) {
        out << "  " << (e.file.empty() ? "?" : e.file) << ":" << e.line << ": " << e.function
            << ": " << name_of(e.result) << " " << e.what;
        if (!e.detail.empty()) out << " (" << e.detail << ")";
        out << "\n";
    }
}

}  // namespace hf::pass
