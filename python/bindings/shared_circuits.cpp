// Circuits over the members of a pool.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
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
#include "hemera/circuits/linear/shared_transform.hpp"

namespace hemera::python {
namespace {

using namespace nb::literals;
using circuits::Cost;
using circuits::LinearTransform;
using circuits::SharedLinearTransform;

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

/// For a scope without the interpreter lock. `each` must outlive the result.
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

Cost cost_of(poly::Ledger::Entries entries) {
  Cost cost;
  cost.entries = std::move(entries);
  return cost;
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
        circuits::SharedWork work = SharedLinearTransform::work(plan, members);
        std::vector<Cost> products;
        for (auto& entries : work.products) products.push_back(cost_of(std::move(entries)));
        return std::make_tuple(std::move(products), cost_of(std::move(work.finish)), work.vector_bytes,
                               work.sum_bytes);
      },
      "plan"_a, "members"_a, ReleaseGil(),
      "The calls of each member and those after the sum; bytes of the vector and of a sum.");
}

}  // namespace hemera::python
