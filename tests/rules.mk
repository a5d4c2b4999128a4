# rules.mk - what `make test`, `make sanitize` and `make cover` build and run; the top-level Makefile includes it.

.PHONY: test sanitize sanitized cover run-cover
# In the order in which they start: what takes long first, and what has many short parts last.
SCRIPTS := $(addprefix tests/,check_cli.sh check_ctl.sh check_self.sh check_runner.sh check_tree.sh check_report.sh check_trace.sh \
    check_replay.sh check_damaged.sh check_discover.sh check_fuzz.sh check_xla.sh check_inductor.sh check_lift.sh check_lint.sh \
    softgpu/contract/check.sh corpus/fuzz.sh corpus/replays.sh corpus/lift.sh corpus/check.sh corpus/lint.sh lift/device.sh fuzz/check.sh)
PROGRAMS := tests/scenario/sweep.sh tests/scenario/run.sh
## test: unit tests, the checks of the finished library, and programs under it on softgpu (no GPU needed)
test: $(UNIT_BIN) $(SOFTGPU_UNIT_BIN) $(SOFTGPU_TEST_FILES) all softgpu $(SCENARIO_ALL) $(DEMO) \
    $(DEMO_KERNELS) $(CONTROL) $(PLUGINS) $(CORPUS_FILES) $(LIFT_FILES) $(FUZZ) $(FUZZ_SEEDS)/.made
	$(quiet)CUVET_BUILD=$(BUILD) CUDA_INCLUDE=$(CUDA_INCLUDE) CUPTI_INCLUDE=$(CUPTI_INCLUDE) VARIANT=$(VARIANT) TEST_SECONDS=900 \
	    $(SOFTGPU_TEST_ENV) tests/run_unit.sh $(if $(TESTS),$(UNIT_RUN),$(SCRIPTS) $(UNIT_RUN) \
	    $(SOFTGPU_UNIT_BIN) $(PROGRAMS))

## sanitize: threads and driver calls that fail, under ASan and UBSan and under TSan
sanitize:
	$(quiet)for variant in san tsan; do \
	    $(MAKE) --no-print-directory VARIANT=$$variant sanitized || exit 1; done
sanitized: all softgpu $(SCENARIO_ALL)
	$(quiet)CUVET_BUILD=$(BUILD) VARIANT=$(VARIANT) TEST_SECONDS=600 tests/run_unit.sh \
	    tests/scenario/sanitized.sh

## cover: what tests and scenarios execute: lines of shim/, device functions, PTX opcodes
cover:
	$(quiet)$(MAKE) --no-print-directory VARIANT=cover run-cover
run-cover: all softgpu $(DEMO) $(DEMO_KERNELS) $(UNIT_BIN) $(SOFTGPU_UNIT_BIN) $(SOFTGPU_TEST_FILES) $(SCENARIO_ALL)
	$(quiet)CUVET_BUILD=$(BUILD) VARIANT=$(VARIANT) TEST_SECONDS=900 $(SOFTGPU_TEST_ENV) tests/cover.sh \
	    tests/check_cli.sh $(UNIT_BIN) $(SOFTGPU_UNIT_BIN)
