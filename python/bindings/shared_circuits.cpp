// Circuits over the members of a pool.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "hemera/circuits/bootstrap/shared_bootstrap.hpp"
#include "hemera/circuits/linear/shared_grid.hpp"
#include "hemera/circuits/linear/shared_transform.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using circuits::Bootstrap;
using circuits::Cost;
using circuits::LinearTransform;
using circuits::SharedBootstrap;
using circuits::SharedBootstrapWork;
using circuits::SharedLinearTransform;
using circuits::SharedTransformGrid;
using circuits::TransformGrid;

using MemberCall = nb::typed<nb::callable, void(std::size_t)>;
/// each(count, work): a ForMembers of Python.
using Each = nb::typed<nb::callable, void(std::size_t, MemberCall)>;

/// The calls of one ForMembers. What raises in the caller's thread does not wait for other threads' calls,
/// whose work is on the caller's stack: so the end does.
class MemberCalls {
 public:
  explicit MemberCalls(const std::function<void(std::size_t)>& work) : work_(work) {}

  void run(std::size_t member) {
    {
      const std::lock_guard lock(mutex_);
      if (is_over_) return;
      ++running_;
    }
    const Leave leave{*this};
    work_(member);
  }
  /// No call begins any more, and none runs.
  void end() {
    std::unique_lock lock(mutex_);
    is_over_ = true;
    changed_.wait(lock, [this] { return running_ == 0; });
  }

 private:
  struct Leave {
    explicit Leave(MemberCalls& given) : calls(given) {}
    ~Leave() {
      const std::lock_guard lock(calls.mutex_);
      --calls.running_;
      calls.changed_.notify_all();
    }
    Leave(const Leave&) = delete;
    Leave& operator=(const Leave&) = delete;
    MemberCalls& calls;
  };

  const std::function<void(std::size_t)>& work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t running_ = 0;
  bool is_over_ = false;
};

/// Calls `each` in a scope without the interpreter lock. `each` must outlive the result.
rlwe::ForMembers for_members(const Each& each) {
  return [&each](std::size_t count, const std::function<void(std::size_t)>& work) {
    const auto calls = std::make_shared<MemberCalls>(work);
    struct End {
      ~End() { calls.end(); }
      MemberCalls& calls;
    } const end{*calls};
    const AcquiredGil acquired;
    each(count, nb::cpp_function([calls](std::size_t member) {
           const ReleasedGil released;
           calls->run(member);
         }));
  };
}

std::vector<std::shared_ptr<const rlwe::Context>> contexts_of(
    const std::vector<const ContextHandle*>& handles) {
  std::vector<std::shared_ptr<const rlwe::Context>> contexts;
  for (const ContextHandle* handle : handles) contexts.push_back(handle->context);
  return contexts;
}

std::vector<const ckks::Evaluator*> evaluators_of(const std::vector<const EvaluatorHandle*>& handles) {
  std::vector<const ckks::Evaluator*> evaluators;
  for (const EvaluatorHandle* handle : handles) evaluators.push_back(&ckks_evaluator(*handle));
  return evaluators;
}

Cost cost_of(const poly::Ledger::Entries& entries) {
  Cost cost;
  cost.entries = entries;
  return cost;
}

std::vector<Cost> costs_of(const std::vector<poly::Ledger::Entries>& each) {
  std::vector<Cost> costs;
  for (const auto& entries : each) costs.push_back(cost_of(entries));
  return costs;
}

}  // namespace

void bind_shared_circuits(nb::module_& m) {
  nb::class_<SharedLinearTransform>(m, "SharedLinearTransform")
      .def_prop_ro("members", &SharedLinearTransform::members)
      .def(
          "apply",
          [](const SharedLinearTransform& self, const std::vector<const EvaluatorHandle*>& evaluators,
             const rlwe::Ciphertext& vector,
             const Each& each) { return self(evaluators_of(evaluators), vector, for_members(each)); },
          "evaluators"_a, "vector"_a, "each"_a, ReleaseGil());
  m.def(
      "share_linear_transform",
      [](const std::vector<const ContextHandle*>& members, const LinearTransform& plan, const Each& each) {
        return std::make_unique<SharedLinearTransform>(contexts_of(members), plan, for_members(each));
      },
      "members"_a, "plan"_a, "each"_a, ReleaseGil());
  m.def(
      "shared_work",
      [](const LinearTransform& plan, std::size_t members) {
        const circuits::SharedWork work = SharedLinearTransform::work(plan, members);
        return std::make_tuple(costs_of(work.products), cost_of(work.finish), work.vector_bytes,
                               work.sum_bytes);
      },
      "plan"_a, "members"_a, ReleaseGil(),
      "The calls of each member and those after the sum; bytes of the vector and of a sum.");

  nb::class_<SharedTransformGrid>(m, "SharedTransformGrid")
      .def_prop_ro("members", &SharedTransformGrid::members)
      .def(
          "apply",
          [](const SharedTransformGrid& self, const std::vector<const EvaluatorHandle*>& evaluators,
             const std::vector<const rlwe::Ciphertext*>& vectors,
             const Each& each) { return self(evaluators_of(evaluators), vectors, for_members(each)); },
          "evaluators"_a, "vectors"_a, "each"_a, ReleaseGil());
  m.def(
      "share_transform_grid",
      [](const std::vector<const ContextHandle*>& members, const TransformGrid& plan, const Each& each) {
        return std::make_unique<SharedTransformGrid>(contexts_of(members), plan, for_members(each));
      },
      "members"_a, "plan"_a, "each"_a, ReleaseGil());
  m.def(
      "shared_grid_work",
      [](const TransformGrid& plan, std::size_t members) {
        const circuits::SharedGridWork work = SharedTransformGrid::work(plan, members);
        return std::make_tuple(costs_of(work.members), work.vectors_bytes, work.results_bytes);
      },
      "plan"_a, "members"_a, ReleaseGil(),
      "The calls of each member; bytes of the vectors and of all results.");

  nb::class_<SharedBootstrap>(m, "SharedBootstrap")
      .def_prop_ro("members", &SharedBootstrap::members)
      .def(
          "apply",
          [](const SharedBootstrap& self, const std::vector<const EvaluatorHandle*>& evaluators,
             const rlwe::Ciphertext& ciphertext,
             const Each& each) { return self(evaluators_of(evaluators), ciphertext, for_members(each)); },
          "evaluators"_a, "ciphertext"_a, "each"_a, ReleaseGil());
  m.def(
      "share_bootstrap",
      [](const std::vector<const ContextHandle*>& members, const Bootstrap& plan,
         std::optional<double> magnitude, const Each& each, const std::vector<std::size_t>& counts) {
        return std::make_unique<SharedBootstrap>(contexts_of(members), plan, magnitude, for_members(each),
                                                 counts);
      },
      "members"_a, "plan"_a, "magnitude"_a.none(), "each"_a, "counts"_a, ReleaseGil());
  nb::class_<SharedBootstrapWork>(m, "SharedBootstrapWork")
      .def_prop_ro("raised", [](const SharedBootstrapWork& self) { return cost_of(self.raise); })
      .def_ro("to_slots", &SharedBootstrapWork::to_slots)
      .def_prop_ro("both", [](const SharedBootstrapWork& self) { return cost_of(self.both); })
      .def_prop_ro("parts", [](const SharedBootstrapWork& self) { return costs_of(self.parts); })
      .def_prop_ro("joined", [](const SharedBootstrapWork& self) { return cost_of(self.joined); })
      .def_ro("part_bytes", &SharedBootstrapWork::part_bytes)
      .def_ro("slots_bytes", &SharedBootstrapWork::slots_bytes)
      .def_ro("join", &SharedBootstrapWork::join)
      .def_ro("to_coefficients", &SharedBootstrapWork::to_coefficients)
      .def_ro("is_slots_first", &SharedBootstrapWork::is_slots_first);
  m.def(
      "all_reduce",
      [](const std::vector<rlwe::Ciphertext*>& terms, const Each& each) {
        // The caller's objects again, whatever happens.
        struct Moved {
          explicit Moved(const std::vector<rlwe::Ciphertext*>& from) : owners(from) {
            for (rlwe::Ciphertext* owner : owners) terms.push_back(std::move(*owner));
          }
          ~Moved() {
            for (std::size_t i = 0; i < owners.size(); ++i) *owners[i] = std::move(terms[i]);
          }
          Moved(const Moved&) = delete;
          Moved& operator=(const Moved&) = delete;
          const std::vector<rlwe::Ciphertext*>& owners;
          std::vector<rlwe::Ciphertext> terms;
        } moved(terms);
        rlwe::all_reduce(std::span(moved.terms), for_members(each));
      },
      "terms"_a, "each"_a, ReleaseGil(), "Each ciphertext becomes the sum of all.");
  m.def(
      "broadcast",
      [](const std::vector<const ContextHandle*>& targets, const rlwe::Ciphertext& source, const Each& each) {
        return rlwe::broadcast(contexts_of(targets), source, for_members(each));
      },
      "targets"_a, "source"_a, "each"_a, ReleaseGil(), "A copy in each context.");
  m.def("shared_bootstrap_work", &SharedBootstrap::work, "plan"_a, ReleaseGil());
}

}  // namespace hemera::python
