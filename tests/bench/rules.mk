# rules.mk - builds the programs of the benchmarks; the top-level Makefile includes it.

INTERPRETER := $(BUILD)/tests/bench/interpreter
GATE_COST := $(BUILD)/tests/bench/gate_cost
HOOK_COST := $(addprefix $(BUILD)/tests/bench/,hook_cost hook_cupti.so)

.PHONY: bench bench-programs
bench-programs: all $(INTERPRETER) $(GATE_COST) $(HOOK_COST) $(BUILD)/tests/unit/hook/test_entry softgpu $(SOFTGPU_PTX)/refs.ptx $(HAS_GPU)

## bench: what a checked launch and a sampled step cost (needs a GPU), and how fast softgpu runs PTX
bench: bench-programs
	$(quiet)CUVET_BUILD=$(BUILD) NVCC=$(NVCC) tests/bench/run.sh

$(INTERPRETER).o: INCLUDES += -Itests/softgpu -Itools
$(INTERPRETER): $(INTERPRETER).o $(SOFTGPU_EXEC_O)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ $(SYSTEM_LIBS)
$(GATE_COST): $(GATE_COST).o $(CORE)
	$(call say,LINK,$@)
	$(quiet)$(CC) $(OPTIMISE) $(LDFLAGS) -o $@ $^ $(SYSTEM_LIBS)
# What it takes is measured as it is built for users, so all is built so, whatever the variant.
$(BUILD)/tests/bench/hook_cost: tests/bench/hook_cost.c shim/base/clock.c | $(READY)
	$(call say,CC,$@)
	$(quiet)mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE $(C_WARNINGS) -O2 -g $(INCLUDES) $(CUDA_INCLUDES) \
	    -o $@ $^ -ldl
$(BUILD)/tests/bench/hook_cupti.so: tests/bench/toggle_cupti.c | $(READY)
	$(call say,CC,$@)
	$(quiet)mkdir -p $(@D) && $(CC) -Wall -Wextra -shared -fPIC -O2 $(CUDA_INCLUDES) \
	    -DCUPTI_PATH='"libcupti.so"' -o $@ $< -ldl

-include $(INTERPRETER).d $(GATE_COST).d
