# make demo: set everything up and run the demo.  make test: set everything up and run the tests.  make help: the rest.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test test-emulation python check format site asan tsan fuzz fuzz-python mutants corpus gpu-pack gpu-test gpu-bench clean
.NOTPARALLEL:

# Where the compiled core lives; the Python package and the C++ tests share it.
BUILD ?= build/release
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# ON: compiler warnings are errors. .ci/run sets it.
HEMERA_WARNINGS_AS_ERRORS ?= OFF
FUZZ_SECONDS ?= 20
# HEMERA_CUDA=ON builds the CUDA backend also without an NVIDIA driver, HEMERA_GMP=ON links GMP (docs/development.md).
ifdef HEMERA_CUDA
export CMAKE_ARGS += -DHEMERA_CUDA=$(HEMERA_CUDA)
endif
ifdef HEMERA_GMP
export CMAKE_ARGS += -DHEMERA_GMP=$(HEMERA_GMP)
endif
export HEMERA_WARNINGS_AS_ERRORS
export CMAKE_BUILD_PARALLEL_LEVEL = $(JOBS)
# tools/setup brings cmake and ninja into .venv where the system has none.
with_venv := PATH="$(CURDIR)/.venv/bin:$$PATH"

help:
	@echo 'make demo     set everything up (.venv, missing system packages, build) and run "hemera demo"'
	@echo 'make test     set everything up and run all tests, C++ and Python, but those of make test-emulation'
	@echo 'make test-emulation'
	@echo '              the tests of the CUDA backend, whose kernels the CPU emulates'
	@echo 'make python   set up, build and install the Python packages into .venv'
	@echo 'make check    the format, lint, type and include checks'
	@echo 'make format   format the C++ and Python sources and the pages in place'
	@echo 'make site     the site of the pages and the Python package: build/site/index.html'
	@echo 'make asan     the C++ tests with AddressSanitizer and UBSan'
	@echo 'make tsan     the C++ tests with ThreadSanitizer'
	@echo 'make fuzz     the fuzz targets, of C++ and of Python, for FUZZ_SECONDS ($(FUZZ_SECONDS))'
	@echo 'make fuzz-python'
	@echo '              what Python parses, guided by the lines that inputs reach (Atheris), for FUZZ_SECONDS'
	@echo 'make mutants  put generated bugs into a copy of the lines that changed: do the tests find them? (MUTANTS=options, files)'
	@echo 'make corpus   write tests/corpus: what programs need, cost and give (docs/design.md)'
	@echo 'make gpu-test, gpu-bench, gpu-pack'
	@echo '              test or time the CUDA backend on the GPU of this machine, or pack the programs for another'
	@echo 'make clean    remove the build folders (.venv stays)'
	@echo 'Settings: PYTHON=python3.12  CXX=g++-13  JOBS=4  HEMERA_CUDA=ON  HEMERA_GMP=ON'

demo:
	@tools/install-demo $(BUILD)
	@cat $(BUILD)/cuda-backend.txt
	.venv/bin/hemera demo

test:
	@tools/setup test
	@$(with_venv) tools/install-package $(BUILD)
	@cat $(BUILD)/cuda-backend.txt
	@$(with_venv) tools/test $(BUILD)

test-emulation:
	@tools/setup test
	@$(with_venv) tools/install-package $(BUILD)
	@$(with_venv) tools/test $(BUILD) emulation

python:
	@tools/setup demo
	@$(with_venv) tools/install-package $(BUILD)
	@cat $(BUILD)/cuda-backend.txt

check:
	@tools/setup test
	@$(with_venv) tools/install-package $(BUILD)
	@cat $(BUILD)/cuda-backend.txt
	@$(with_venv) tools/check

format:
	@tools/setup test
	@$(with_venv) tools/check --fix

site:
	@tools/setup demo
	@tools/site

asan tsan:
	@tools/setup test
	@$(with_venv) cmake --preset $@
	@$(with_venv) cmake --build --preset $@
	@$(with_venv) ctest --preset $@

fuzz:
	@tools/setup ci
	@$(with_venv) tools/install-package $(BUILD)
	@$(with_venv) tools/fuzz $(FUZZ_SECONDS)

fuzz-python:
	@tools/setup test
	@$(with_venv) tools/install-package $(BUILD)
	@tools/setup atheris
	@tools/fuzz-python $(FUZZ_SECONDS)

mutants:
	@tools/setup test
	@$(with_venv) tools/install-package $(BUILD)
	@tools/setup mutants
	@$(with_venv) .venv/bin/python tools/mutants.py $(MUTANTS)

corpus:
	@tools/setup test
	@$(with_venv) tools/install-package $(BUILD)
	@$(with_venv) .venv/bin/python tools/corpus.py

gpu-pack:
	@tools/setup test
	@$(with_venv) tools/pack-gpu

gpu-test: gpu-pack
	@build/gpu-pack/gpu-test
	@$(with_venv) CMAKE_ARGS="$(CMAKE_ARGS) -DHEMERA_CUDA=ON" tools/install-package $(BUILD)
	@PYTHONPATH=python/tests OMP_NUM_THREADS=1 .venv/bin/python -m pytest -p gpu_contexts --numprocesses $(JOBS) --dist worksteal

gpu-bench: gpu-pack
	@build/gpu-pack/gpu-bench --output build/gpu-bench.json

clean:
	rm -rf build
